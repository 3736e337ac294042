"""Many small maps, to be opened by a press."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explainlab.analyses.candidates.heatmaps import SmallMaps
from explainlab.app.components import component
from explainlab.app.heatmap import payload

_candidate_maps = component("candidate_maps", ["tokens", "candidate_maps"], ["token_heatmap", "candidate_maps"])


def candidate_maps(maps: SmallMaps, picked: int, key: str, on_pick: Callable[[int], None]) -> None:
    """Draw ``maps`` as buttons, that of the candidate ``picked`` pressed; ``on_pick`` gets the candidate of another."""

    def pressed() -> None:
        chosen = getattr(st.session_state.get(key), "picked", None)
        if chosen is not None:
            on_pick(int(chosen))

    _candidate_maps(data={**payload(maps), "picked": picked}, key=key, on_picked_change=pressed)
