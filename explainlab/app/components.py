"""The page's small components: class probabilities to choose a target from, Enter to run, arrow keys to move."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from explainlab.attribution.records import Attribution
from explainlab.figures.export import component_file


def component(name: str, scripts: Sequence[str] = (), styles: Sequence[str] | None = None) -> Callable:
    """A component made of ``assets/components/*.js`` and ``*.css`` (both: NAME's), one after the other."""

    def read(names: Sequence[str], suffix: str) -> str:
        return "\n".join(component_file(f"{part}{suffix}") for part in names)

    style = read([name] if styles is None else styles, ".css") or None
    return st.components.v2.component(name, js=read(scripts or [name], ".js"), css=style)


_class_bars = component("class_bars")
_enter_runs = component("enter_runs", styles=())
_row_keys = component("row_keys", styles=())


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


def enter_runs(keys: list[str]) -> None:
    """Enter in the text areas with these keys commits them; Shift+Enter starts a new line."""
    _enter_runs(data={"keys": keys}, key="enter_runs", height=0)


def row_keys(on_step: Callable[[int], None]) -> None:
    """The left and right arrow keys call ``on_step`` with -1 and 1, but not while something else has a use for them."""

    def stepped() -> None:
        pressed = st.session_state.get("row_keys")
        if pressed is not None and pressed.step:
            on_step(int(pressed.step))

    _row_keys(data={}, key="row_keys", height=0, on_step_change=stepped)
