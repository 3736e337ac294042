"""The frame around every page: navigation, title, and the guard that adds the frame to a page opened directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from explainlab.app.entries import PageEntry, entries
from explainlab.app.sign_in import gate, signed_in
from explainlab.app.text import plain
from explainlab.settings import ASSETS

_framed: ContextVar[bool] = ContextVar("framed", default=False)
_RETRIED = "navigation_retried"
_TAB = "tab_title"
PRODUCT = "ExplainLab"


def navigation() -> StreamlitPage:
    """Declare the app and its pages. The first is the home page, served at the root; its own url leads there.

    Without an icon of the app, Streamlit would fetch the page's icon from the network. The tab keeps its title until
    the page gives another.
    """
    title, home_page = st.session_state.get(_TAB, PRODUCT), entries()[0]
    st.set_page_config(page_title=title, page_icon=str(ASSETS / "icon.svg"), layout="wide")
    st.logo(ASSETS / "wordmark.svg", size="small")
    pages = [
        st.Page(
            entry.path,
            title=entry.title,
            icon=entry.icon,
            url_path="" if entry is home_page else entry.url,
            default=entry is home_page,
            help=entry.help,
        )
        for entry in entries()
    ]

    def go_home() -> None:
        st.switch_page(pages[0], query_params=st.query_params.to_dict())

    home = st.Page(go_home, url_path=home_page.url, visibility="hidden")
    return st.navigation([*pages, home], position="hidden" if signed_in() is None else "sidebar")


@contextmanager
def framed() -> Iterator[None]:
    """Run the code inside with the frame."""
    token = _framed.set(True)
    st.session_state.pop(_RETRIED, None)
    try:
        yield
    finally:
        _framed.reset(token)


def guard() -> None:
    """Admit only users who are served: the first line of every page. Without the frame, rerun the app once."""
    if _framed.get():
        gate()
        return
    if st.session_state.get(_RETRIED):
        st.error("This page runs inside the app: start it with `streamlit run app.py`.")
        st.stop()
    st.session_state[_RETRIED] = True
    navigation()
    st.rerun()


def name_tab(page: str, about: str = "") -> None:
    """Title the browser's tab by the ``page`` and the text or data set that it is ``about``."""
    title = f"{page}: {about} | {PRODUCT}" if about else f"{page} | {PRODUCT}"
    if st.session_state.get(_TAB) != title:
        st.session_state[_TAB] = title
        st.set_page_config(page_title=title)


def draw_title(entry: PageEntry, notice: str = "") -> None:
    """Draw the page's title, its purpose, and a ``notice`` of the store, if any."""
    st.html(ASSETS / "page.css")
    st.title(entry.title, anchor=False)
    st.caption(entry.help)
    if notice:
        st.warning(plain(notice), icon=":material/save:")
