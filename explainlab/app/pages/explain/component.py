"""The class probabilities, to choose a target from."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explainlab.app.components import component
from explainlab.attribution.records import Attribution

_class_bars = component("class_bars")


def class_bars(result: Attribution, on_pick: Callable[[str], None]) -> None:
    """The probability of every class, the likeliest first; ``on_pick`` gets the label of a pressed row."""
    key = "class_bars"

    def picked() -> None:
        pressed = st.session_state.get(key)
        if pressed is not None:  # else the bars have left the page since
            on_pick(pressed.picked)

    ordered = sorted(result.prediction.probabilities.items(), key=lambda item: -item[1])
    rows = [
        {"label": label, "probability": p, "shown": f"{100 * p:.1f}%", "target": label == result.target.label}
        for label, p in ordered
    ]
    _class_bars(data={"classes": rows}, key=key, on_picked_change=picked)
