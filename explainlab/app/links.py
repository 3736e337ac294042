"""Links that reopen a view: its id in the address, its body in the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from explainlab.app import session
from explainlab.app.text import plain
from explainlab.app.view import AnalysisView
from explainlab.errors import ExplainLabError, RequestError
from explainlab.request import validated
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.store.runs import Visibility
from explainlab.service.users import LOCAL

if TYPE_CHECKING:
    from explainlab.app.place import PageState

V = TypeVar("V", bound=AnalysisView)
FIRST = "first"
"""Id of a page's first view, which is never saved."""
LATE_SECONDS = 3.0
VISIBILITIES: dict[Visibility, str] = {
    "private": "Only me",
    "instance": "Everyone here",
    "link": "Whoever has the link",
}
_SHOWN = "links.shown"
_REPLACED = "links.replaced"


def follow(service: Service, page: PageState, record: type[V], first: V | None = None) -> V | None:
    """Return the view of the link in the address, the first time that ``page`` sees it; else None.

    ``first`` is the view behind :data:`FIRST`. A problem with the link is shown until the page shows another view.
    """
    st.session_state.pop(_SHOWN, None)
    link = st.query_params.get("r", "")
    if not link or link == st.session_state.get(_opened(page.name)) or _is_late(link):
        _draw_problem(page)
        return None
    st.session_state[_opened(page.name)] = link
    try:
        view = first if first is not None and link == FIRST else _read(service, link, record)
        st.session_state.pop(_problem(page.name), None)
        return view
    except ExplainLabError as error:
        st.session_state[_problem(page.name)] = (str(error), page.view)
    _draw_problem(page)
    return None


def _read(service: Service, link: str, record: type[V]) -> V:
    """Return the view of a link; raises :class:`ExplainLabError` where the user or the page may not open it."""
    body = service.view(link, session.user())
    if body is None:
        raise RequestError(
            "There is no view under this link here.", "It was made elsewhere, has been deleted, or is not shared."
        )
    view = validated(record, **body)
    view.requests()
    return view


def save(service: Service, view: AnalysisView) -> str:
    """Save ``view`` and return its id; raises :class:`ExplainLabError` if it cannot be saved."""
    return service.save_view(view.model_dump(mode="json"), session.user(), view.requests())


def open_page(service: Service, path: str, view: AnalysisView) -> None:
    """Go to the page at ``path``, with ``view``; if that cannot be saved, say so and stay."""
    try:
        view_id = save(service, view)
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.switch_page(path, query_params={"r": view_id})


def arrive(page: PageState, views: Sequence[AnalysisView], link: str) -> None:
    """Let ``page`` open with the view of ``link``, in any of these forms; it need not be saved."""
    st.session_state[_saved(page.name)] = (views, link)


def share(service: Service, page: PageState, view: AnalysisView) -> str:
    """Return the full link of ``view``, whose id goes into the address bar; empty if the view cannot be saved.

    A view is saved when it changes: the session remembers the last one.
    """
    saved, view_id = st.session_state.get(_saved(page.name), ((), ""))
    if view not in saved:
        try:
            view_id = save(service, view)
        except ExplainLabError:
            return ""
        st.session_state[_saved(page.name)] = ((view,), view_id)
    before = st.query_params.get("r", "")
    if before != view_id:
        st.session_state[_REPLACED] = (before, time.monotonic())
        st.query_params["r"] = view_id
    st.session_state[_SHOWN] = st.session_state[_opened(page.name)] = view_id
    return f"{(st.context.url or '').split('?')[0]}?r={view_id}"


def leave() -> None:
    """Forget the address: this page has no views."""
    st.session_state.pop(_SHOWN, None)


def rerun() -> None:
    """Run the whole page again from a fragment, at the address shown, not the fragment's older one."""
    shown = st.session_state.get(_SHOWN)
    if shown and st.query_params.get("r") != shown:
        st.query_params["r"] = shown
    st.rerun()


def draw(link: str) -> None:
    """Draw the ``link`` to what the page shows, unless it is empty."""
    if link:
        st.divider()
        st.markdown(f":small[[This link]({link}) reopens exactly this view, also after a restart.]")
        if session.user() != LOCAL:
            _draw_sharing(get_service(), link.rpartition("?r=")[2])


def choose_visibility(shared: Visibility, key: str, on_change: Callable[[Visibility], None]) -> None:
    """Choose who may see something, ``shared`` now; ``on_change`` gets the choice."""
    st.radio(
        "Who may see it",
        list(VISIBILITIES),
        index=list(VISIBILITIES).index(shared),
        format_func=VISIBILITIES.__getitem__,
        key=key,
        on_change=session.guarded(lambda: on_change(st.session_state[key])),
        horizontal=True,
    )


def _draw_sharing(service: Service, view_id: str) -> None:
    """Let the owner choose who may open it; another's link, and that of a first view, offer no choice."""
    user = session.user()
    try:
        shared = service.view_shared(view_id, user)
        choose_visibility(shared, f"shared_{view_id}", lambda chosen: service.share_view(view_id, chosen, user))
    except RequestError:
        return
    except ExplainLabError as error:
        if str(error) != service.notice:  # which is above
            st.error(plain(str(error)), icon=":material/error:")


def _draw_problem(page: PageState) -> None:
    """Draw the problem with the link, while the page shows the same view as when the link was opened."""
    if _problem(page.name) not in st.session_state:
        return
    problem, before = st.session_state[_problem(page.name)]
    if before not in (None, page.view):
        del st.session_state[_problem(page.name)]
        return
    st.session_state[_problem(page.name)] = (problem, page.view)
    st.warning(plain(problem), icon=":material/link_off:")


def _is_late(link: str) -> bool:
    """Return True if the browser sent this address before it learned of its replacement; later it means "back"."""
    before, replaced = st.session_state.get(_REPLACED, ("", 0.0))
    return bool(link == before and time.monotonic() - replaced < LATE_SECONDS)


def _problem(page: str) -> str:
    return f"{page}.link_problem"


def _opened(page: str) -> str:
    return f"{page}.opened_link"


def _saved(page: str) -> str:
    return f"{page}.saved_view"
