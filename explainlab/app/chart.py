"""A chart on a page: the figure, its notes, and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import streamlit as st

from explainlab.app.components import component
from explainlab.app.text import plain
from explainlab.figures.chart import Chart
from explainlab.figures.matrix import CELL
from explainlab.request import digest

File = tuple[str, Callable[[], str], str, str]
"""The label of a button, what writes the file when it is pressed, the file's name, and its media type."""
_pictures = component("chart_pictures")


class Saved(Protocol):
    """A figure that can be downloaded as files under its name."""

    @property
    def name(self) -> str:
        """The files' name, without a suffix."""

    def to_csv(self) -> str:
        """Return its numbers as a table."""

    def to_json(self) -> str:
        """Return its numbers as a record."""

    def to_html(self) -> str:
        """Return a standalone page."""


def theme() -> str:
    """Return ``light`` or ``dark``, as the reader's page is."""
    return "dark" if st.context.theme.type == "dark" else "light"


def draw_chart(
    chart: Chart,
    key: str,
    on_pick: Callable[[list[Any]], None] | None = None,
    help: str | None = None,
    files: Iterable[File] = (),
) -> None:
    """Draw ``chart`` under its title; ``on_pick`` is called with the custom data of a clicked point.

    Beside its own files there are more ``files``.
    """
    _draw_title(chart, key, help, files)
    if on_pick is None:
        st.plotly_chart(chart.figure, key=key, config=chart.config, alt=chart.alt)
    else:
        picked = partial(_picked, key, on_pick)
        st.plotly_chart(
            chart.figure, key=key, config=chart.config, alt=chart.alt, on_select=picked, selection_mode="points"
        )
    for note in chart.notes:
        st.caption(plain(note))


def draw_cells(
    chart: Chart,
    cells: dict[str, Any],
    key: str,
    picked: Sequence[str],
    on_pick: Callable[[dict[str, Any]], None],
    help: str | None = None,
    files: Iterable[File] = (),
) -> None:
    """Draw a matrix as ``cells`` that can be pressed, a Vega-Lite specification, with the files of its ``chart``.

    Beside these there are more ``files``.
    ``on_pick`` is called with what a press selects; ``picked`` is what is selected now. As a drawing hears nothing of a
    second press on a cell, every choice has a drawing of its own.
    """
    drawn = f"{key}_{digest(list(picked))[:8]}"

    def pressed() -> None:
        for cell in st.session_state[drawn].selection[CELL]:
            on_pick(cell)

    _draw_title(chart, key, help, files)
    with st.container(key=key):
        st.vega_lite_chart(cells, key=drawn, on_select=pressed, alt=chart.alt)
    for note in chart.notes:
        st.caption(plain(note))


def files_of(source: Saved) -> list[File]:
    """Return the files CSV, JSON and a standalone HTML page."""
    return [
        ("CSV", source.to_csv, f"{source.name}.csv", "text/csv"),
        ("JSON", source.to_json, f"{source.name}.json", "application/json"),
        ("HTML", source.to_html, f"{source.name}.html", "text/html"),
    ]


def draw_files(files: Iterable[File], key: str) -> None:
    """Draw buttons that download ``files``, each of another kind."""
    for label, write, name, mime in files:
        suffix = name.rpartition(".")[2]
        st.download_button(label, write, name, mime, key=f"{key}_{suffix}", on_click="ignore", width="stretch")


def _draw_title(chart: Chart, key: str, help: str | None, files: Iterable[File] = ()) -> None:
    """Draw the title of ``chart``, which stands in the container or under the ``key``, and its files."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**{plain(chart.title)}**", help=help, width="stretch")
        with st.popover("Export", icon=":material/download:", key=f"{key}_export"):
            _pictures(data={"chart": key, "name": chart.name}, key=f"{key}_pictures")
            draw_files([*files_of(chart), *files], key)


def _picked(key: str, on_pick: Callable[[list[Any]], None]) -> None:
    points = st.session_state[key].selection.points
    if points and "customdata" in points[0]:
        data = points[0]["customdata"]
        on_pick(data if isinstance(data, list) else [data])
