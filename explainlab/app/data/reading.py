"""File tasks on a page: the answer of one that has ended, or the progress of one that runs."""

from __future__ import annotations

from typing import Any, TypeVar

import streamlit as st

from explainlab.app import links
from explainlab.app.text import plain
from explainlab.errors import Cancelled
from explainlab.service import file_tasks
from explainlab.service.file_tasks import FileTask

T = TypeVar("T")
_SOON, _POLL_SECONDS = 0.2, 0.4


def is_there(task: FileTask[Any]) -> bool:
    """Tell whether ``task`` has ended; wait a moment, in which short files are read."""
    return task.wait(_SOON)


def draw_reading(task: FileTask[Any]) -> None:
    """Draw the progress of ``task``, with a button that cancels it; the page runs again when it ends."""
    st.fragment(_draw_share, run_every=None if task.ended else _POLL_SECONDS)(task)


def draw_answer(task: FileTask[T]) -> list[T]:
    """Return the answer of ``task`` in a list; until it is there, draw the progress, or the cancellation.

    Raises the :class:`explainlab.errors.ExplainLabError` that ended it.
    """
    if is_there(task):
        try:
            return [task.answer()]
        except Cancelled:
            _draw_cancelled(task)
    else:
        draw_reading(task)
    return []


def _draw_share(task: FileTask[Any]) -> None:
    if task.ended:
        links.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        name = plain(file_tasks.source_name(task.source, task.user))
        st.progress(task.share, text=f"**{name}**: {task.share:.0%} of the file read")
        key = f"cancel_task_{id(task)}"
        st.button("Cancel", key=key, icon=":material/stop:", on_click=task.cancel, disabled=task.stopped)


def _draw_cancelled(task: FileTask[Any]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.info("The file was not read: it was cancelled.", icon=":material/cancel:")
        st.button("Read again", key=f"again_task_{id(task)}", on_click=file_tasks.file_reader.forget, args=(task,))
