"""The arrow keys, to move through the rows."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explainlab.app.components import component

_row_keys = component("row_keys", styles=())


def row_keys(on_step: Callable[[int], None]) -> None:
    """The left and right arrow keys call ``on_step`` with -1 and 1, but not while something else has a use for them."""

    def stepped() -> None:
        pressed = st.session_state.get("row_keys")
        if pressed is not None and pressed.step:
            on_step(int(pressed.step))

    _row_keys(data={}, key="row_keys", height=0, on_step_change=stepped)
