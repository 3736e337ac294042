"""Links that reopen a view: its id in the address, its body in the store."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st
from pydantic import BaseModel

from explainlab.compute.service import Service
from explainlab.errors import ExplainLabError, RequestError, ResourceError
from explainlab.request import checked
from explainlab.ui.text import plain

V = TypeVar("V", bound=BaseModel)


def follow(service: Service, page: str, record: type[V]) -> V | None:
    """The view of the link in the address, the first time that the page sees it; what is wrong with it is told."""
    link = st.query_params.get("r", "")
    if not link or link == st.session_state.get(_opened(page)):
        return None
    st.session_state[_opened(page)] = link
    try:
        body = service.store.view(link)
        if body is None:
            raise RequestError("There is no view under this link here.", "It was made elsewhere or has been deleted.")
        view = checked(record, **body)
        view.requests()
        return view
    except ExplainLabError as error:
        st.warning(plain(str(error)), icon=":material/link_off:")
    return None


def share(service: Service, page: str, view: BaseModel) -> str:
    """Save ``view``, put its id into the address bar, and return the whole link; empty if it cannot be saved."""
    try:
        view_id = service.store.save_view(view.model_dump(mode="json"))
    except ResourceError:
        return ""
    if st.query_params.get("r") != view_id:
        st.query_params["r"] = view_id
    st.session_state[_opened(page)] = view_id
    return f"{(st.context.url or '').split('?')[0]}?r={view_id}"


def draw(link: str) -> None:
    """The link that reopens what the page shows, if there is one."""
    if link:
        st.divider()
        st.markdown(f":small[[This link]({link}) reopens exactly this view, also after a restart.]")


def _opened(page: str) -> str:
    return f"{page}.opened_link"
