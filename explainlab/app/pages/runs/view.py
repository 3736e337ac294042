"""One run: its result, its settings and versions, and the actions on it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.app import links, session
from explainlab.app.chart import draw_chart
from explainlab.app.facts import facts
from explainlab.app.frame import name_tab
from explainlab.app.heatmap import token_heatmap
from explainlab.app.once import once
from explainlab.app.opening import ShownBy, page_of
from explainlab.app.page import draw_headline, draw_open_in
from explainlab.app.pages.runs import ENTRY
from explainlab.app.pages.runs import page as runs_page
from explainlab.app.pages.runs.bundle import map_bundle, study_bundle
from explainlab.app.place import Place
from explainlab.app.text import plain
from explainlab.app.view import beginning, carried_by
from explainlab.attribution.records import Attribution
from explainlab.figures.compare import map_difference, table_difference
from explainlab.figures.export import to_json
from explainlab.figures.heatmap import heatmap
from explainlab.models.loading import model_name
from explainlab.request import Request
from explainlab.result import Result, written
from explainlab.service.access import OpenRun
from explainlab.service.questions import request_json
from explainlab.service.service import Service
from explainlab.service.store.parts import Parts
from explainlab.service.store.runs import SUBJECT, Filters

_AGAIN = Place("runs.again")
_ROUNDING = 1e-5
_SHOWN_CHARACTERS = 200_000
_CANDIDATES = 50


def draw_run(service: Service, run_id: str) -> None:
    """The run under ``run_id``; raises :class:`RequestError` where this user may read none."""
    opened = service.open_run(run_id, session.user())
    name_tab(ENTRY.title, beginning(opened.run.title or opened.run.subject))
    runs_page.draw_back()
    st.header(plain(opened.run.title or runs_page.label(opened.run.question)), anchor=False)
    if not isinstance(opened.result, Attribution):
        st.markdown(plain(opened.run.subject))
    st.caption(" · ".join(runs_page.facts(opened.run)))
    page = page_of(opened.request)
    if opened.result is None:
        remedy = "" if opened.gone else " Press **Compute again** to compute it anew."
        st.warning(f"{plain(opened.missing)}{remedy}", icon=":material/warning:")
    else:
        _draw_result(opened.result)
        if page is None and isinstance(opened.result, AnalysisResult):
            _draw_charts(opened.result)
    if opened.gone:
        st.warning(f"The model is gone. {plain(opened.gone)}", icon=":material/warning:")
    with st.container(horizontal=True, vertical_alignment="center"):
        shown_by = _draw_open_page(service, page)
        _draw_files(opened, service.store.parts)
        st.button(
            "Compute again",
            icon=":material/refresh:",
            on_click=_press_again,
            args=(service, opened),
            disabled=bool(opened.gone),
        )
        if opened.own:
            runs_page.draw_delete(service, [opened.run], "run")
    if opened.request.text is not None:
        draw_open_in(service, carried_by(opened.request), shown_by)
    _draw_again(service, opened)
    _draw_settings(opened)
    _draw_compare_with(service, opened)
    if opened.own:
        _draw_own(service, opened)


def draw_map(result: Attribution, key: str) -> None:
    """The heatmap of an attribution, with its warnings and its cost."""
    drawn = heatmap(result)
    token_heatmap(drawn, key=key)
    for warning in result.warnings:
        st.warning(plain(warning), icon=":material/warning:")
    st.caption(" · ".join(facts(result)))


def _draw_result(result: Result) -> None:
    draw_headline(result)
    if isinstance(result, Attribution):
        draw_map(result, "run_map")
        return
    assert isinstance(result, AnalysisResult)
    for warning in result.warnings:
        st.warning(plain(warning), icon=":material/warning:")
    record = st.expander("The result as JSON", icon=":material/data_object:", key="run_json", on_change="rerun")
    if record.open:
        body = _beginning(written(result.body_in_parts(), ensure_ascii=False, indent=1))
        if len(body) > _SHOWN_CHARACTERS:
            record.caption(f"The first {_SHOWN_CHARACTERS:,} characters; the JSON file has all.")
        record.code(body[:_SHOWN_CHARACTERS], language=None, height=400)


def _beginning(pieces: Iterable[str]) -> str:
    """The first of ``pieces``, until they are too many to show; or all."""
    text = ""
    for piece in pieces:
        text += piece
        if len(text) > _SHOWN_CHARACTERS:
            break
    return text


def _draw_charts(result: AnalysisResult[Any]) -> None:
    """The charts of a study that no page shows."""
    figures = once(result, figures_of, result)
    if figures.none:
        st.info(plain(figures.none), icon=":material/info:")
    for name, chart in figures.charts.items():
        draw_chart(chart, f"run_{name}")


def _draw_open_page(service: Service, page: ShownBy | None) -> str:
    """The button that opens the ``page`` that shows the run; the name of that page, else of this one."""
    if page is None:
        return runs_page.PAGE
    if st.button(f"Open in {page.entry.title}", icon=page.entry.icon, type="primary"):
        links.open_page(service, page.entry.path, page.view)
    return page.entry.url


def _draw_files(opened: OpenRun, parts: Parts) -> None:
    result = opened.result
    if result is None:
        return
    if isinstance(result, Attribution):
        files = (lambda: map_bundle(result), lambda: to_json([result]))
    else:
        assert isinstance(result, AnalysisResult)
        data = opened.run.subject if result.request.data is not None else None
        files = (
            lambda: study_bundle(result, data, parts.read),
            lambda: "".join(written(result.in_parts(), ensure_ascii=False)),
        )
    icon = ":material/folder_zip:"
    help_text = "A zip file with an HTML report, all settings and versions, figures, tables and JSON."
    st.download_button("Bundle", files[0], "run.zip", "application/zip", icon=icon, on_click="ignore", help=help_text)
    icon = ":material/data_object:"
    st.download_button("JSON", files[1], "run.json", "application/json", icon=icon, on_click="ignore")


def _draw_settings(opened: OpenRun) -> None:
    """The request and all versions."""
    st.subheader("Settings and versions", anchor=False)
    fields = request_json(opened.request)
    del fields["parameters"]
    if fields.get("data") not in (None, opened.run.subject):  # an upload is shown by its file's name
        fields["data"] = f"{opened.run.subject} ({fields['data']})"
    settings = {**fields, **opened.request.parameters}
    versions = opened.result.versions if opened.result is not None else {}
    left, right = st.columns(2, gap="large")
    for column, title, values in ((left, "Request", settings), (right, "Versions", versions)):
        rows = [{title: name, "Value": _text(value)} for name, value in values.items() if value is not None]
        if rows:
            column.dataframe(pd.DataFrame(rows), hide_index=True, height="content", alt=f"{title}: {len(rows)} entries")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class _Again:
    """The run that is computed again: ``anew`` beside its stored result, else because that is missing."""

    run_id: str
    anew: bool

    def requests(self) -> Sequence[Request]:
        """None, so that its job is never cancelled."""
        return ()


def _press_again(service: Service, opened: OpenRun) -> None:
    """Compute the run again (a callback)."""
    _AGAIN.ask(service, _Again(opened.run.id, opened.result is not None))


def _draw_again(service: Service, opened: OpenRun) -> None:
    """The job that computes the run again, once requested, and its outcome."""
    again: _Again | None = _AGAIN.view
    if again is None or again.run_id != opened.run.id:
        return
    answer = (_AGAIN.computed_again if again.anew else _AGAIN.answer)(service, opened.request)
    if answer.result is None:
        _AGAIN.draw_state(service, [answer])
    elif again.anew and opened.result is not None:
        _draw_difference(opened.result, answer.result)
    elif opened.result is None:
        st.info("It has been computed, and is listed as a run of its own.")


def _draw_difference(stored: Result, again: Result) -> None:
    if isinstance(stored, Attribution) and isinstance(again, Attribution):
        difference, size = map_difference(stored, again), "the largest score"
    else:
        assert isinstance(stored, AnalysisResult)
        assert isinstance(again, AnalysisResult)
        difference, size = table_difference(stored.body_in_parts(), again.body_in_parts()), "the largest of its column"
    if difference is None:
        st.warning(
            "Computed again: the result has a different shape from the stored one.", icon=":material/difference:"
        )
    elif difference.relative <= _ROUNDING:
        exact = "exactly the same" if not difference.relative else f"the same up to {difference.relative:.1e} of {size}"
        st.success(f"Computed again: {exact}.", icon=":material/check_circle:")
    else:
        where = "" if difference.name == "scores" else f", in {plain(difference.name)}"
        size_text = f"the largest difference is {100 * difference.relative:.3g}% of {size}{where}"
        st.warning(f"Computed again: {size_text}.", icon=":material/difference:")
    names = {**stored.versions, **again.versions}
    changed = [name for name in names if stored.versions.get(name) != again.versions.get(name)]
    if changed:
        rows = [{"Version of": n, "Then": stored.versions.get(n), "Now": again.versions.get(n)} for n in changed]
        st.dataframe(pd.DataFrame(rows), hide_index=True, alt=f"Versions that have changed: {', '.join(changed)}")


def _draw_compare_with(service: Service, opened: OpenRun) -> None:
    """Choose a second attribution to compare."""
    if not isinstance(opened.result, Attribution):
        return
    others = service.runs(session.user(), Filters(kind="attribution"), 0, _CANDIDATES).runs
    names = {run.id: f"{runs_page.name(run)} ({model_name(run.model)})" for run in others if run.id != opened.run.id}

    def take() -> None:
        runs_page.open_runs(opened.run.id, st.session_state["run_compare"])

    st.selectbox(
        "Compare with",
        list(names),
        index=None,
        key="run_compare",
        format_func=names.__getitem__,
        on_change=take,
        disabled=not names,
        placeholder="Another map" if names else "There is no other map here yet",
    )


def _draw_own(service: Service, opened: OpenRun) -> None:
    """The owner's controls: title and sharing."""
    run, user = opened.run, session.user()

    def entitle() -> None:
        service.entitle_run(run.id, st.session_state[f"title_{run.id}"], user)

    st.text_input("Title", run.title, key=f"title_{run.id}", on_change=session.guarded(entitle), max_chars=SUBJECT)
    if runs_page.signed_in():
        shared = f"shared_{run.id}"
        links.choose_visibility(run.visibility, shared, lambda chosen: service.share_run(run.id, chosen, user))
