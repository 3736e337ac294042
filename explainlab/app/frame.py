"""The frame around every page: the table of pages, and the guard that brings the frame back on a cold deep link."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from explainlab.app.sign_in import gate, signed_in
from explainlab.settings import ASSETS, ROOT


@dataclass(frozen=True)
class PageEntry:
    """One page: its file under ``pages/``, the word in the navigation and in the URL, and what it is for."""

    file: str
    title: str
    url: str
    icon: str
    help: str


PAGES = (
    PageEntry(
        file="explain.py",
        title="Explain",
        url="explain",
        icon=":material/highlight:",
        help="One text, one model: which words speak for the prediction, and which against it?",
    ),
    PageEntry(
        file="integration.py",
        title="Integration",
        url="integration",
        icon=":material/ssid_chart:",
        help="How many steps does integrated gradients need for a text, and what do too few do to its map?",
    ),
    PageEntry(
        file="candidates.py",
        title="Candidates",
        url="candidates",
        icon=":material/grid_view:",
        help="Which maps does randomized path-integration draw for a text, and what is choosing the best one worth?",
    ),
    PageEntry(
        file="activation.py",
        title="Activation",
        url="activation",
        icon=":material/visibility:",
        help="What does a model say as features are revealed one by one, and whose order tells it soonest?",
    ),
    PageEntry(
        file="errors.py",
        title="Errors",
        url="errors",
        icon=":material/rule:",
        help="Which texts of a data set does a model get wrong, and which words speak for the wrong class?",
    ),
    PageEntry(
        file="runs.py",
        title="Runs",
        url="runs",
        icon=":material/history:",
        help="What has been computed here: find it, open it, compare two, share them, take them away.",
    ),
    PageEntry(
        file="status.py",
        title="Status",
        url="status",
        icon=":material/monitor_heart:",
        help="What runs and what waits, which models are loaded, and how much may be asked of this instance?",
    ),
)

_framed: ContextVar[bool] = ContextVar("framed", default=False)
_RETRIED = "navigation_retried"


def navigation() -> StreamlitPage:
    """Declare the app and its pages. The first one is the home page: served at the root, its own url leads there.

    Without an icon of the app's own, Streamlit would fetch the page's from the network.
    """
    st.set_page_config(page_title="ExplainLab", page_icon=str(ASSETS / "icon.svg"), layout="wide")
    pages = [
        st.Page(
            ROOT / "pages" / entry.file,
            title=entry.title,
            icon=entry.icon,
            url_path="" if entry is PAGES[0] else entry.url,
            default=entry is PAGES[0],
            help=entry.help,
        )
        for entry in PAGES
    ]

    def go_home() -> None:
        st.switch_page(pages[0], query_params=st.query_params.to_dict())

    home = st.Page(go_home, url_path=PAGES[0].url, visibility="hidden")
    return st.navigation([*pages, home], position="hidden" if signed_in() is None else "sidebar")


@contextmanager
def framed() -> Iterator[None]:
    """What runs inside has the frame around it."""
    token = _framed.set(True)
    st.session_state.pop(_RETRIED, None)
    try:
        yield
    finally:
        _framed.reset(token)


def guard() -> None:
    """First line of every page: for nobody but those signed in; without the frame, run the app again, once."""
    if _framed.get():
        gate()
        return
    if st.session_state.get(_RETRIED):
        st.error("This page runs inside the app: start it with `streamlit run app.py`.")
        st.stop()
    st.session_state[_RETRIED] = True
    navigation()
    st.rerun()
