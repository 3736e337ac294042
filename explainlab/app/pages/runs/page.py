"""What the parts of the Runs page share: which runs the address opens, and how a run is named."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explainlab.analyses.registry import studies
from explainlab.app import links, session
from explainlab.app.text import plain
from explainlab.attribution.registry import methods
from explainlab.models.loading import model_name
from explainlab.service.service import Service
from explainlab.service.store.runs import Run
from explainlab.service.users import LOCAL

PAGE = "runs"
_ALL = "results, links, notes and uploaded file"
_FIRST, _SECOND = "run", "with"


def opened() -> tuple[str, ...]:
    """The ids of the runs that the address opens, at most two."""
    ids = [st.query_params.get(name, "") for name in (_FIRST, _SECOND)]
    return tuple(run_id for run_id in ids if run_id)


def open_runs(*run_ids: str) -> None:
    """Open a run, or two to compare; without ids the list (a callback)."""
    for name in (_FIRST, _SECOND):
        st.query_params.pop(name, None)
    for name, run_id in zip((_FIRST, _SECOND), run_ids, strict=False):
        st.query_params[name] = run_id


def draw_back() -> None:
    """Button: to the list."""
    st.button("All runs", icon=":material/arrow_back:", type="tertiary", on_click=open_runs)


def label(question: str) -> str:
    """The name of a method or a study by its id; an unknown id itself."""
    known = methods().get(question) or studies().get(question)
    return known.label if known else question


def name(run: Run) -> str:
    """A run's title, else its question and text."""
    return run.title or f"{label(run.question)}: {run.subject}"


def signed_in() -> bool:
    """Whether there are other users to share with."""
    return session.user() != LOCAL


def shared_as(run: Run) -> str:
    """Who may see a run, in words."""
    return links.VISIBILITIES[run.visibility] if run.owner == session.user().id else f"Shared by {run.owner_name}"


def facts(run: Run) -> list[str]:
    """Time, model, owner and cost of a run, in Markdown."""
    passes = [f"{run.forward:,} forward, {run.backward:,} backward passes"] if run.forward else []
    model = [model_name(run.model)] if run.model else []
    details = [*model, *([run.owner_name] if signed_in() else []), *passes, f"{run.seconds:.2f} s"]
    time = run.asked.astimezone(session.timezone())
    texts = [plain(f"{time:%d %B %Y, %H:%M}"), *map(plain, details)]
    return [*texts, *([":material/upload_file: **imported from a file**"] if run.imported else [])]


def draw_delete(service: Service, runs: Sequence[Run], place: str) -> None:
    """Delete these runs once confirmed, then show the list. ``place`` makes the button's key unique."""
    what = "this run" if len(runs) == 1 else f"these {len(runs)} runs"

    def delete() -> None:
        for run in runs:
            service.delete_run(run.id, session.user())
        open_runs()

    with st.popover("Delete", icon=":material/delete:"):
        st.markdown(f"Delete {what} for good? With the last run about a text or a data set go its {_ALL}.")
        st.button(f"Yes, delete {what}", key=f"{place}_delete", type="primary", on_click=session.guarded(delete))
