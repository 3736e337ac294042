"""The token heatmap on a page: the text, coloured by its scores, with a card for the token pointed at."""

from __future__ import annotations

import streamlit as st

from explainlab.figures.heatmap import Heatmap
from explainlab.ui.components import component

_token_heatmap = component("token_heatmap")


def token_heatmap(heatmap: Heatmap, svg: str, key: str) -> int | None:
    """Draw ``heatmap``; ``svg`` is what its download buttons save. Returns the index of the picked feature, if any.

    A pick stays when the same features are drawn again (other method, palette or scale) and ends with another text.
    """
    picked = _picked(heatmap, st.session_state.get(key))
    data = {**heatmap.model_dump(mode="json"), "svg": svg, "picked": picked}
    return _picked(heatmap, _token_heatmap(data=data, key=key, on_picked_change=lambda: None))


def _picked(heatmap: Heatmap, state) -> int | None:
    """The feature that the component's state names, if it is one of this map."""
    picked = getattr(state, "picked", None)
    if not picked or picked["key"] != heatmap.key or not 0 <= picked["index"] < len(heatmap.tokens):
        return None
    return int(picked["index"])
