"""A cell of a set as a view of its own: opened by its link, and the way back to all cells."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from explainlab.app import links
from explainlab.app.components import bring_into_view
from explainlab.app.place import Place
from explainlab.app.sets.results import Charts, SetSection, no_charts
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.service.service import Service

if TYPE_CHECKING:
    from explainlab.app.page import AnalysisPage


def section_of(
    page: AnalysisPage, service: Service, place: Place | None = None, charts: Charts = no_charts
) -> SetSection:
    """Where the answer of several cells of ``page`` stands, which may be asked in another ``place``.

    ``charts`` are drawn above the numbers.
    """
    return SetSection(place or page, page.question, partial(_open, page, service), charts)


def draw_way_back(page: AnalysisPage, view: Any) -> None:
    """A button to all cells, where ``view`` is one of them that was opened here."""
    requests, link, several = st.session_state.get(_remembered(page), ((), "", 0))
    if requests and view.requests() == requests:
        with st.container(key=_alone(page)):
            back = partial(_go, link)
            label = f"All {several} cells"
            st.button(label, icon=":material/arrow_back:", on_click=back, key=f"{page.name}_all_cells")


def _open(page: AnalysisPage, service: Service, model: str, source: str) -> None:
    alone = page.view.of_cell(model, source)
    try:
        before, link = (links.save(service, view) for view in (page.view, alone))
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.session_state[_remembered(page)] = (alone.requests(), before, len(page.view.cells))
    _go(link)
    bring_into_view(_alone(page))


def _go(link: str) -> None:
    st.query_params["r"] = link


def _alone(page: AnalysisPage) -> str:
    return page.question.key("alone")


def _remembered(page: AnalysisPage) -> str:
    return f"{page.name}.all_cells"
