"""What is read of a data set for a page: the answer where it is there, else how far the reading is."""

from __future__ import annotations

from typing import Any, TypeVar

import streamlit as st

from explainlab.app import links
from explainlab.app.text import plain
from explainlab.errors import Cancelled
from explainlab.service import looks
from explainlab.service.looks import Look

T = TypeVar("T")
_SOON, _POLL_SECONDS = 0.2, 0.4


def is_there(look: Look[Any]) -> bool:
    """Whether ``look`` has ended, after a moment in which short files are read."""
    return look.wait(_SOON)


def draw_reading(look: Look[Any]) -> None:
    """How far ``look`` is, with a button that cancels it; the page runs again when it ends."""
    st.fragment(_draw_share, run_every=None if look.ended else _POLL_SECONDS)(look)


def draw_answer(look: Look[T]) -> list[T]:
    """The answer of ``look``; none, and how far it is, until it has ended, or that it was cancelled.

    Raises the :class:`explainlab.errors.ExplainLabError` that ended it.
    """
    if is_there(look):
        try:
            return [look.answer()]
        except Cancelled:
            _draw_cancelled(look)
    else:
        draw_reading(look)
    return []


def _draw_share(look: Look[Any]) -> None:
    if look.ended:
        links.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        name = plain(looks.source_name(look.source, look.user))
        st.progress(look.share, text=f"**{name}**: {look.share:.0%} of the file read")
        key = f"cancel_look_{id(look)}"
        st.button("Cancel", key=key, icon=":material/stop:", on_click=look.cancel, disabled=look.stopped)


def _draw_cancelled(look: Look[Any]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.info("The file was not read: it was cancelled.", icon=":material/cancel:")
        st.button("Read again", key=f"again_look_{id(look)}", on_click=looks.desk.forget, args=(look,))
