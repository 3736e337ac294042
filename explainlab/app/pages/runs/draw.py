"""The Runs page: list runs, open one, compare two, share, export."""

from __future__ import annotations

import streamlit as st

from explainlab.app import links
from explainlab.app.frame import draw_title, name_tab
from explainlab.app.pages.runs import ENTRY
from explainlab.app.pages.runs import compare as runs_compare
from explainlab.app.pages.runs import list as runs_list
from explainlab.app.pages.runs import page as runs_page
from explainlab.app.pages.runs import unfinished as runs_unfinished
from explainlab.app.pages.runs import view as runs_view
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page: the list, or what the address opens."""
    service = get_service()
    links.leave()

    draw_title(ENTRY, service.notice)
    opened = runs_page.opened()
    try:
        if len(opened) == 2:
            runs_compare.draw_comparison(service, *opened)
        elif opened:
            runs_view.draw_run(service, *opened)
        else:
            name_tab(ENTRY.title)
            runs_unfinished.draw_unfinished(service)
            runs_list.draw_list(service)
    except ExplainLabError as error:
        if str(error) != service.notice:  # which is above
            st.error(plain(str(error)), icon=":material/error:")
        if opened:
            runs_page.draw_back()
