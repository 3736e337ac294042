"""Runs: everything computed here; open one, compare two, share them, take them away."""

import streamlit as st

from explainlab.app import links
from explainlab.app.frame import guard
from explainlab.app.runs import compare as runs_compare
from explainlab.app.runs import list as runs_list
from explainlab.app.runs import page as runs_page
from explainlab.app.runs import unfinished as runs_unfinished
from explainlab.app.runs import view as runs_view
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.service.service import service as get_service

guard()

service = get_service()
links.leave()

st.title("Runs", anchor=False)
st.caption("Everything computed here that you may see: find it, open it, compare two, take it away.")
if service.notice:
    st.warning(plain(service.notice), icon=":material/save:")
opened = runs_page.opened()
try:
    if len(opened) == 2:
        runs_compare.draw_comparison(service, *opened)
    elif opened:
        runs_view.draw_run(service, *opened)
    else:
        runs_unfinished.draw_unfinished(service)
        runs_list.draw_list(service)
except ExplainLabError as error:
    st.error(plain(str(error)), icon=":material/error:")
    if opened:
        runs_page.draw_back()
