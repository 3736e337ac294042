"""Scored tokens on a page: one map and the map at every step count, which tell a token picked; many small maps; and a
text that fills in.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explainlab.analyses.activation.scrubber import ActivationScrubber
from explainlab.analyses.candidates.heatmaps import SmallMaps
from explainlab.analyses.integration.step_morph import StepMorph
from explainlab.app.components import component
from explainlab.app.once import once
from explainlab.figures.heatmap import Heatmap, Record
from explainlab.figures.svg import draw_svg

_token_heatmap = component("token_heatmap", scripts=["tokens", "token_heatmap"])
_step_morph = component("step_morph", scripts=["tokens", "step_morph"], styles=["token_heatmap", "step_morph"])
_candidate_maps = component(
    "candidate_maps", scripts=["tokens", "candidate_maps"], styles=["token_heatmap", "candidate_maps"]
)
_activation_scrubber = component(
    "activation_scrubber",
    scripts=["tokens", "activation_scrubber"],
    styles=["token_heatmap", "step_morph", "activation_scrubber"],
)

OnPick = Callable[[int | None], None]


def token_heatmap(heatmap: Heatmap, key: str, on_pick: OnPick | None = None) -> int | None:
    """Draw ``heatmap``, with a picture of it to save. Returns the index of the picked feature, if any.

    A pick stays when the same features are drawn again (other method, palette or scale) and ends with another text.
    ``on_pick`` is called with it before the page runs again.
    """
    data = {**_payload(heatmap), "svg": once(heatmap, draw_svg, heatmap)}
    return _draw(_token_heatmap, data, heatmap, key, on_pick)


def step_morph(morph: StepMorph, key: str, on_pick: OnPick | None = None) -> int | None:
    """Draw all frames of ``morph`` behind a slider that asks nobody; picks are as in :func:`token_heatmap`."""
    return _draw(_step_morph, {**_payload(morph)}, morph.heatmap, key, on_pick)


def candidate_maps(maps: SmallMaps, picked: int, key: str, on_pick: Callable[[int], None]) -> None:
    """Draw ``maps`` as buttons, that of the candidate ``picked`` pressed; ``on_pick`` gets the candidate of another."""

    def pressed() -> None:
        chosen = getattr(st.session_state.get(key), "picked", None)
        if chosen is not None:
            on_pick(int(chosen))

    _candidate_maps(data={**_payload(maps), "picked": picked}, key=key, on_picked_change=pressed)


def activation_scrubber(scrubber: ActivationScrubber, key: str) -> None:
    """Draw ``scrubber``: moving, playing and switching between its methods ask nobody and tell nobody."""
    _activation_scrubber(data=_payload(scrubber), key=key)


def _payload(figure: Record) -> dict:
    return once(figure, _dumped, figure)


def _dumped(figure: Record) -> dict:
    return figure.model_dump(mode="json")


def _draw(drawing: Callable, data: dict, heatmap: Heatmap, key: str, on_pick: OnPick | None) -> int | None:
    def changed() -> None:
        if on_pick is not None:
            on_pick(_picked(heatmap, st.session_state.get(key)))

    data["picked"] = _picked(heatmap, st.session_state.get(key))
    return _picked(heatmap, drawing(data=data, key=key, on_picked_change=changed))


def _picked(heatmap: Heatmap, state) -> int | None:
    """The feature that the component's state names, if it is one of this map."""
    picked = getattr(state, "picked", None)
    if not picked or picked["key"] != heatmap.key or not 0 <= picked["index"] < len(heatmap.tokens):
        return None
    return int(picked["index"])
