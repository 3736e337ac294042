"""Runs that the address opens: one with its answer, or two side by side; how a run is named, shared and deleted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import studies
from explainlab.app import links, session
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart
from explainlab.app.entries import ShownBy, page_of
from explainlab.app.frame import name_tab
from explainlab.app.heatmap import AGREEMENT, facts, token_heatmap
from explainlab.app.page import draw_headline, draw_open_in
from explainlab.app.pages.runs import ENTRY
from explainlab.app.pages.runs.bundle import map_bundle, study_bundle
from explainlab.app.place import PageState
from explainlab.app.text import plain
from explainlab.app.view import beginning, carried_by
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods
from explainlab.figures.compare import Comparison, compare, map_difference, table_difference
from explainlab.figures.export import to_json
from explainlab.figures.heatmap import heatmap, opposable
from explainlab.models.loading import model_name
from explainlab.request import Request
from explainlab.result import Result, written
from explainlab.service.access import OpenRun
from explainlab.service.resolved import request_json
from explainlab.service.service import Service
from explainlab.service.store.parts import Parts
from explainlab.service.store.runs import SUBJECT, Filters, Run
from explainlab.service.users import LOCAL

PAGE = "runs"
_ALL = "results, links, notes and uploaded file"
_FIRST, _SECOND = "run", "with"


def opened_runs() -> tuple[str, ...]:
    """Return the ids of the runs that the address opens, at most two."""
    ids = [st.query_params.get(place, "") for place in (_FIRST, _SECOND)]
    return tuple(run_id for run_id in ids if run_id)


def open_runs(*run_ids: str) -> None:
    """Open a run, or two to compare; without ids the list (a callback)."""
    for place in (_FIRST, _SECOND):
        st.query_params.pop(place, None)
    for place, run_id in zip((_FIRST, _SECOND), run_ids, strict=False):
        st.query_params[place] = run_id


def draw_back() -> None:
    """Draw a button to the list."""
    st.button("All runs", icon=":material/arrow_back:", type="tertiary", on_click=open_runs)


def label(question: str) -> str:
    """Return the name of a method or a study by its id; an unknown id itself."""
    known = methods().get(question) or studies().get(question)
    return known.label if known else question


def run_name(run: Run) -> str:
    """Return a run's title, else its question and text."""
    return run.title or f"{label(run.question)}: {run.subject}"


def signed_in() -> bool:
    """Return True if there are other users to share with."""
    return session.user() != LOCAL


def shared_as(run: Run) -> str:
    """Return the visibility of a run, in words."""
    return links.VISIBILITIES[run.visibility] if run.owner == session.user().id else f"Shared by {run.owner_name}"


def _run_facts(run: Run) -> list[str]:
    """Return time, model, owner and cost of a run, in Markdown."""
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


_AGAIN = PageState("runs.again")
_ROUNDING = 1e-5
_SHOWN_CHARACTERS = 200_000
_CANDIDATES = 50


def draw_run(service: Service, run_id: str) -> None:
    """Draw the run under ``run_id``; raises :class:`RequestError` where this user may read none."""
    opened = service.open_run(run_id, session.user())
    name_tab(ENTRY.title, beginning(opened.run.title or opened.run.subject))
    draw_back()
    st.header(plain(opened.run.title or label(opened.run.question)), anchor=False)
    if not isinstance(opened.result, Attribution):
        st.markdown(plain(opened.run.subject))
    st.caption(" · ".join(_run_facts(opened.run)))
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
            draw_delete(service, [opened.run], "run")
    if opened.request.text is not None:
        draw_open_in(service, carried_by(opened.request), shown_by)
    _draw_again(service, opened)
    _draw_settings(opened)
    _draw_compare_with(service, opened)
    if opened.own:
        _draw_own(service, opened)


def _draw_map(result: Attribution, key: str) -> None:
    """Draw the heatmap of an attribution, with its warnings and its cost."""
    drawn = heatmap(result)
    token_heatmap(drawn, key=key)
    for warning in result.warnings:
        st.warning(plain(warning), icon=":material/warning:")
    st.caption(" · ".join(facts(result)))


def _draw_result(result: Result) -> None:
    draw_headline(result)
    if isinstance(result, Attribution):
        _draw_map(result, "run_map")
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
    """Return the first of ``pieces``, up to the most that are shown."""
    text = ""
    for piece in pieces:
        text += piece
        if len(text) > _SHOWN_CHARACTERS:
            break
    return text


def _draw_charts(result: AnalysisResult[Any]) -> None:
    """Draw the charts of a study that no page shows."""
    figures = cached_for(result, figures_of, result)
    if figures.none:
        st.info(plain(figures.none), icon=":material/info:")
    for name, chart in figures.charts.items():
        draw_chart(chart, f"run_{name}")


def _draw_open_page(service: Service, page: ShownBy | None) -> str:
    """Draw the button that opens the ``page`` of the run; return the name of that page, else of this one."""
    if page is None:
        return PAGE
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
    """Draw the request and all versions."""
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
        """Return no request, so that its job is never cancelled."""
        return ()


def _press_again(service: Service, opened: OpenRun) -> None:
    """Compute the run again (a callback)."""
    _AGAIN.ask(service, _Again(opened.run.id, opened.result is not None))


def _draw_again(service: Service, opened: OpenRun) -> None:
    """Draw the job that computes the run again, once requested, and its outcome."""
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
    names = {run.id: f"{run_name(run)} ({model_name(run.model)})" for run in others if run.id != opened.run.id}

    def take() -> None:
        open_runs(opened.run.id, st.session_state["run_compare"])

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
    """Draw the owner's controls: title and sharing."""
    run, user = opened.run, session.user()

    def entitle() -> None:
        service.entitle_run(run.id, st.session_state[f"title_{run.id}"], user)

    st.text_input("Title", run.title, key=f"title_{run.id}", on_change=session.guarded(entitle), max_chars=SUBJECT)
    if signed_in():
        shared = f"shared_{run.id}"
        links.choose_visibility(run.visibility, shared, lambda chosen: service.share_run(run.id, chosen, user))


def draw_comparison(service: Service, first_id: str, second_id: str) -> None:
    """Draw the runs under these ids; raises :class:`RequestError` where this user may not read both."""
    first, second = (service.open_run(run_id, session.user()) for run_id in (first_id, second_id))
    name_tab(ENTRY.title, "two side by side")
    draw_back()
    st.header("Two runs side by side", anchor=False)
    left, right = first.result, second.result
    if isinstance(left, Attribution) and isinstance(right, Attribution):
        compared = compare(left, right)
        _draw_sides((first, second), compared)
        _draw_agreement(compared, left, right)
    else:
        _draw_sides((first, second), None)
        if left is not None and right is not None:
            _draw_tables(left, right)
    _draw_compared_settings(first, second)


def _draw_sides(pair: tuple[OpenRun, OpenRun], compared: Comparison | None) -> None:
    for place, (column, opened) in enumerate(zip(st.columns(2, gap="medium"), pair, strict=True)):
        with column, st.container(border=True):
            _draw_side(opened, place, compared)


def _draw_side(opened: OpenRun, place: int, compared: Comparison | None) -> None:
    st.markdown(f"**{plain(opened.run.title or label(opened.run.question))}**")
    if compared is None:
        st.markdown(plain(opened.run.subject))
    st.caption(" · ".join(_run_facts(opened.run)))
    if opened.result is None:
        st.warning(plain(opened.missing), icon=":material/warning:")
    elif compared is not None and isinstance(opened.result, Attribution):
        drawn = compared.maps[place]
        token_heatmap(drawn, key=f"compared_{place}")
        prediction = opened.result.prediction
        share = f"{100 * prediction.probabilities[prediction.label]:.1f}%"
        st.caption(" · ".join([plain(f"predicted {prediction.label}, {share}"), *facts(opened.result)]))
    st.button(
        "Open",
        key=f"compared_open_{place}",
        icon=":material/open_in_full:",
        on_click=open_runs,
        args=(opened.run.id,),
    )


def _draw_agreement(compared: Comparison, first: Attribution, second: Attribution) -> None:
    st.header("Agreement", anchor=False, help=AGREEMENT)
    if not compared.one_scale:
        st.info("One map has signs and the other has none, or they explain different outputs: each has its own scale.")
    unit = first.request.unit if first.request.unit == second.request.unit else "feature"
    left, right = compared.sizes
    st.caption(f"Compared over the {compared.shared} {unit}s that both have in the same order, of {left} and {right}.")
    if compared.shared < 2:
        st.info("The two have too little text in common to be compared.")
        return
    correlation = (
        "not defined: one map is constant" if compared.rank_correlation is None else f"{compared.rank_correlation:.2f}"
    )
    signs = "other classes" if first.signed and second.signed else "no signs"
    conflicts = str(len(compared.conflicts)) if opposable(first, second) else signs
    rows = {"Rank correlation": correlation, "Sign conflicts": conflicts}
    if compared.conflicts:
        rows["on"] = plain(", ".join(compared.conflicts))
    st.table(pd.DataFrame([rows]), hide_index=True)


def _draw_tables(first: Result, second: Result) -> None:
    if (
        not isinstance(first, AnalysisResult)
        or not isinstance(second, AnalysisResult)
        or first.request.question != second.request.question
    ):
        st.info(
            "Two maps, or two results of one study, can be compared in numbers; these can only be read side by side."
        )
        return
    difference = table_difference(first.body_in_parts(), second.body_in_parts())
    if difference is None:
        st.info("The two results have different shapes, so their numbers are not compared one by one.")
    else:
        size = f"{100 * difference.relative:.3g}% of the column's largest value"
        st.info(
            f"The numbers differ most in {plain(difference.name)}: by {size}."
            if difference.relative
            else "All numbers are equal."
        )


def _draw_compared_settings(first: OpenRun, second: OpenRun) -> None:
    """Draw the settings and versions that differ."""
    sides = [_flat(opened) for opened in (first, second)]
    names = dict.fromkeys([*sides[0], *sides[1]])
    rows = [
        {"Setting": name.replace("_", " "), "First": sides[0].get(name, ""), "Second": sides[1].get(name, "")}
        for name in names
        if sides[0].get(name) != sides[1].get(name)
    ]
    st.subheader("Different settings and versions", anchor=False)
    if rows:
        st.dataframe(
            pd.DataFrame(rows), hide_index=True, height="content", alt=f"{len(rows)} settings or versions that differ"
        )
    else:
        st.caption("None: both runs have the same settings and versions.")


def _flat(opened: OpenRun) -> dict[str, str]:
    fields = request_json(opened.request)
    parameters = fields.pop("parameters")
    versions = {
        f"version of {name}": value for name, value in (opened.result.versions if opened.result else {}).items()
    }
    return {name: str(value) for name, value in {**fields, **parameters, **versions}.items()}
