"""The Runs page: list runs, open one, compare two, share, export."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explainlab.analyses.base import Pauses
from explainlab.analyses.registry import get_analysis
from explainlab.analyses.wording import duration
from explainlab.app import links, session
from explainlab.app.entries import entries
from explainlab.app.frame import draw_title, name_tab
from explainlab.app.pages.runs import ENTRY, detail
from explainlab.app.progress import GO_ON
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.models.loading import model_name
from explainlab.request import digest
from explainlab.service import file_tasks
from explainlab.service.access import Unanswered
from explainlab.service.imports import MOST_MB
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.store.runs import Choices, Filters, Run, RunPage, line
from explainlab.settings import settings


def draw() -> None:
    """Draw the page: the list, or what the address opens."""
    service = get_service()
    links.leave()

    draw_title(ENTRY, service.notice)
    opened = detail.opened_runs()
    try:
        if len(opened) == 2:
            detail.draw_comparison(service, *opened)
        elif opened:
            detail.draw_run(service, *opened)
        else:
            name_tab(ENTRY.title)
            _draw_unfinished(service)
            draw_list(service)
    except ExplainLabError as error:
        if str(error) != service.notice:  # which is above
            st.error(plain(str(error)), icon=":material/error:")
        if opened:
            detail.draw_back()


Choice = TypeVar("Choice", str, int)

ROWS = 25
_START = "runs.start"
_KINDS = {"": "All", "attribution": "Maps", "study": "Studies"}
_DAYS = {0: "Any time", 1: "Last 24 hours", 7: "Last 7 days", 30: "Last 30 days"}


def draw_list(service: Service) -> None:
    """Draw the filters, the runs that pass them, the actions on the ticked ones, and the import."""
    user = session.user()
    choices = service.run_choices(user)
    if choices.questions:
        filters = _draw_filters(choices)
        page = service.runs(user, filters, st.session_state.get(_START, 0), ROWS)
        if not page.runs and page.total:  # some were deleted since
            _go(0)
            page = service.runs(user, filters, 0, ROWS)
        _draw_page(service, page, choices)
    else:
        st.info("Nothing has been computed yet. Whatever you compute on the other pages is kept here.")
        home = entries()[0]
        st.page_link(home.path, label=home.title, icon=home.icon)
    st.divider()
    _draw_import(service)


def _draw_filters(choices: Choices) -> Filters:
    columns = iter(st.columns([4, 2, 3, 3, *([3] if len(choices.owners) > 1 else []), 2], gap="small"))
    words = next(columns).text_input(
        "Search",
        key="runs_words",
        placeholder="Words in the text, title or model",
        persist_state="session",
        on_change=_go,
        args=(0,),
    )
    kind = _choose(next(columns), "Kind", "runs_kind", _KINDS)
    questions = {name: detail.label(name) for name in sorted(choices.questions, key=detail.label)}
    question = _choose(next(columns), "Method or study", "runs_question", {"": "All", **questions})
    models = {model: model_name(model) for model in choices.models}
    model = _choose(next(columns), "Model", "runs_model", {"": "All", **models})
    owner = ""
    if len(choices.owners) > 1:
        owner = _choose(next(columns), "Who", "runs_owner", {"": "Everyone", **choices.owners})
    days = _choose(next(columns), "Since", "runs_days", _DAYS)
    since = datetime.now(session.timezone()) - timedelta(days=days) if days else None
    return Filters(words or "", kind, question, model, owner, since)


def _choose(column: DeltaGenerator, label: str, key: str, options: dict[Choice, str]) -> Choice:
    """Return the filter chosen among ``options`` (value: label), the first of which passes everything."""
    return column.selectbox(
        label,
        list(options),
        format_func=options.__getitem__,
        key=key,
        persist_state="session",
        on_change=_go,
        args=(0,),
    )


def _go(start: int) -> None:
    """Show the runs from the ``start``-th."""
    st.session_state[_START] = start


def _draw_page(service: Service, page: RunPage, choices: Choices) -> None:
    if not page.total:
        st.info("No run matches these filters.")
        return
    bar = st.container(horizontal=True, vertical_alignment="center")
    ticked = _draw_table(page.runs, len(choices.owners) > 1)
    _draw_paging(bar, page)
    with bar:
        _draw_actions(service, ticked)


def _draw_paging(bar: DeltaGenerator, page: RunPage) -> None:
    start = st.session_state.get(_START, 0)
    end = start + len(page.runs)
    told = f"{start + 1:,}–{end:,} of {page.total:,} runs" if page.total > ROWS else f"{page.total:,} runs"
    bar.markdown("1 run" if page.total == 1 else told, width="content")
    if page.total > ROWS:
        bar.button(
            "Newer",
            key="runs_newer",
            icon=":material/chevron_left:",
            on_click=_go,
            args=(max(0, start - ROWS),),
            disabled=not start,
        )
        bar.button(
            "Older",
            key="runs_older",
            icon=":material/chevron_right:",
            on_click=_go,
            args=(start + ROWS,),
            disabled=end >= page.total,
        )


def _draw_table(runs: Sequence[Run], several: bool) -> list[Run]:
    """Draw the runs as a table; return those whose rows are ticked."""
    signed_in, here = detail.signed_in(), session.timezone()
    rows = [
        {
            "When": pd.Timestamp(run.asked).tz_convert(here),
            **({"Who": run.owner_name} if several else {}),
            "What": detail.label(run.question) + (" (imported)" if run.imported else ""),
            "Text or data": f"{run.title}: {run.subject}" if run.title else run.subject,
            "Model": model_name(run.model),
            "Seconds": run.seconds,
            "Passes": run.forward + run.backward,
            **({"Visible to": detail.shared_as(run)} if signed_in else {}),
        }
        for run in runs
    ]
    table = st.dataframe(
        pd.DataFrame(rows),
        key=f"runs_table_{digest([run.id for run in runs])[:16]}",
        hide_index=True,
        height="content",
        on_select="rerun",
        selection_mode="multi-row",
        column_config={
            "When": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm", width=150),
            "Text or data": st.column_config.TextColumn(width="large"),
            "Seconds": st.column_config.NumberColumn(format="%.2f", width=80),
            "Passes": st.column_config.NumberColumn(format="localized", width=80),
        },
        alt=f"{len(rows)} runs, newest first. Tick one to open it, two to compare them.",
    )
    return [runs[row] for row in table.selection.rows if row < len(runs)]


def _draw_actions(service: Service, ticked: Sequence[Run]) -> None:
    if not ticked:
        st.markdown(":small[Tick one run to open it, or two to compare them.]", width="content")
        return
    if len(ticked) < 3:
        word, icon = [("Open", ":material/open_in_full:"), ("Compare", ":material/compare_arrows:")][len(ticked) - 1]
        st.button(
            word,
            key="runs_open",
            icon=icon,
            type="primary",
            on_click=detail.open_runs,
            args=tuple(run.id for run in ticked),
        )
    if all(run.owner == session.user().id for run in ticked):
        detail.draw_delete(service, ticked, "runs_ticked")


def _draw_import(service: Service) -> None:
    form = st.expander("Import results", icon=":material/upload_file:", key="runs_import", on_change="rerun")
    if not form.open:
        return
    with form.form("runs_import_form", border=False, clear_on_submit=True):
        file = st.file_uploader(
            "A JSON file that was exported here or by the command line",
            type="json",
            max_upload_size=MOST_MB,
            help="Imported results are marked as such, and are never mixed with those computed here.",
        )
        pressed = st.form_submit_button("Import")
    if not pressed:
        return
    if file is None:
        st.warning("Choose a file first.")
    else:
        try:
            made = service.import_runs(file.getvalue(), session.user())
        finally:
            session.delete_upload(file)
        _go(0)
        st.success(f"Imported: {', '.join(plain(detail.run_name(run)) for run in made)}.")
        st.button("Show", on_click=detail.open_runs, args=(made[0].id,) if len(made) == 1 else ())


def _draw_unfinished(service: Service) -> None:
    """Draw a table of the unanswered requests, if any, and actions on the ticked rows, or on all."""
    rows = service.cut_short(session.user())
    if not rows:
        return
    jobs = "1 job had" if len(rows) == 1 else f"{len(rows)} jobs had"
    with st.container(border=True):
        st.warning(
            f"{jobs} not finished when the server stopped, or when paused. A data set goes on where it stopped.",
            icon=":material/power_off:",
        )
        table = st.dataframe(
            pd.DataFrame([_row(unanswered) for unanswered in rows]),
            key=f"unfinished_{digest([unanswered.key for unanswered in rows])[:16]}",
            hide_index=True,
            on_select="rerun",
            selection_mode="multi-row",
            column_config={"Requested": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm")},
            alt=f"{len(rows)} unfinished jobs, the oldest first. Tick those to run again or to forget.",
        )
        ticked = [rows[index] for index in table.selection.rows if index < len(rows)]
        _draw_unfinished_actions(
            service, ticked or rows, "all" if len(ticked) in (0, len(rows)) else f"{len(ticked)} of them"
        )


def _draw_unfinished_actions(service: Service, chosen: Sequence[Unanswered], which: str) -> None:
    user, pauses = session.user(), all(isinstance(get_analysis(own.request.question), Pauses) for own in chosen)

    def again() -> None:
        for unanswered in chosen:
            service.submit(resolve(unanswered.request, user))
        unwatched = duration(settings().max_unwatched_seconds)
        st.info(
            "They are in the queue; their results will be listed here. "
            f"Follow single texts on Status: they stop when no page has shown them for {unwatched}.",
            icon=":material/hourglass_top:",
        )

    def forget() -> None:
        service.forget([unanswered.key for unanswered in chosen], user)

    with st.container(horizontal=True):
        st.button(
            f"{GO_ON} with {which}" if pauses else f"Run {which} again",
            key="unfinished_again",
            icon=":material/replay:",
            on_click=session.guarded(again),
        )
        st.button(
            f"Forget {which}", key="unfinished_forget", icon=":material/delete:", on_click=session.guarded(forget)
        )


def _row(unanswered: Unanswered) -> dict[str, object]:
    request = unanswered.request
    return {
        "Requested": pd.Timestamp(unanswered.asked).tz_convert(session.timezone()),
        "What": detail.label(request.question),
        "Text or data": line(file_tasks.about(request, session.user())),
        "Model": model_name(request.model),
    }
