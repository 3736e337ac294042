"""Candidates: all attributions of randomized path-integration, and what choosing among them is worth."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from explainlab.analyses.ablation.figures import ablation
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.candidates import figures as candidates
from explainlab.analyses.candidates.heatmaps import (
    SmallMaps,
    candidate_attribution,
    open_map,
    scores_csv,
    small_maps,
    winner_maps,
)
from explainlab.analyses.candidates.result import TOP, CandidatesData, CandidatesText
from explainlab.analyses.candidates.verdict import data_verdict, text_verdict
from explainlab.analyses.judged_map.result import JudgedText
from explainlab.analyses.records import MetricFacts, metric_of
from explainlab.analyses.registry import get_study
from explainlab.analyses.wording import counted
from explainlab.app import links
from explainlab.app.cached import cached_for
from explainlab.app.chart import File, draw_chart, draw_files
from explainlab.app.components import component
from explainlab.app.data_set import OpenText, draw_opener, draw_texts, row_opener
from explainlab.app.frame import draw_title
from explainlab.app.glossary import explained
from explainlab.app.heatmap import payload, token_heatmap
from explainlab.app.page import draw_facts, draw_open_in, draw_words
from explainlab.app.pages.candidates import ENTRY, form
from explainlab.app.pages.candidates.form import OPENED, PAGE, CandidatesView, pick, question
from explainlab.app.place import PageState
from explainlab.app.question import card_of
from explainlab.app.sections import draw_masked_line
from explainlab.app.text import plain
from explainlab.figures.export import ReportMap, report_maps, to_html
from explainlab.figures.heatmap import number, spelled
from explainlab.metrics.registry import get_metric
from explainlab.models.model import Architecture
from explainlab.request import Request
from explainlab.result import with_verdict
from explainlab.service.service import Service
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    draw_title(ENTRY, service.notice)
    with PAGE.place_of_controls():
        card = form.draw_text_controls(partial(form.ask_text, service), PAGE.button)
    view = PAGE.settle(service)
    shown = card_of(view.model)
    architecture = shown.architecture if shown else None
    answer = PAGE.answer(service, view.text_request())
    link = PAGE.link(service, view)

    st.divider()
    PAGE.draw_early([answer])
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [answer])
    if answer.result is not None:
        with above:
            draw_answer(view, answer.result)
        draw_text(service, view, answer.result, architecture)
    else:
        _give_up_text(service)
        if answer.running:
            st.skeleton(height=160)
    draw_open_in(service, view.shared_inputs(), PAGE.name)

    open_text = partial(form.open_text, service)
    PAGE.draw_data(
        service,
        view,
        "The same candidates for many texts: what is the choice worth on average? On several models or data sets: "
        "which method is ahead where all have as many maps?",
        card,
        lambda result: draw_data(service, view, result, architecture, open_text),
    )
    links.draw(link)


T = TypeVar("T")
_PREFIX = "candidates_one"

DOZEN = 12
BEHIND = PageState("candidates.behind")
"""The texts behind the numbers of the open map, once they are unfolded."""


def draw_text(
    service: Service, view: CandidatesView, result: AnalysisResult[CandidatesText], architecture: Architecture | None
) -> None:
    """Draw everything about one text before a model of ``architecture`` (None: not known yet)."""
    body = result.body
    _draw_facts(result)
    sort = _draw_order(body)
    picked = body.winners[sort] if view.picked is None or view.picked >= len(body.candidates) else view.picked
    _draw_table(body, sort, picked)
    draw_masked_line(service, result.request, list(body.prediction.probabilities), "candidates")
    _draw_open(service, view, result, picked)
    _draw_small(view, result, sort, picked)
    _draw_winners(view, result)
    _draw_scatter(result, picked)
    _draw_agreement(body)
    st.header("What the choice is worth", anchor=False)
    draw_choice(result, sort, _PREFIX)
    _draw_ablation(service, view.ablation(architecture, of_data=False), sort, _PREFIX)
    _draw_exports(view, result, picked)


def _give_up_text(service: Service) -> None:
    """Give up what was unfolded about a text whose candidates are not shown any more."""
    for place in (BEHIND, _ablation_place(_PREFIX)):
        place.keep(service, [])


def _parts(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _draw_facts(result: AnalysisResult[CandidatesText]) -> None:
    body = result.body
    draw_facts(result, counted(len(body.candidates), "candidate"))
    names = plain(", ".join(candidates.label_of(body, key) for key in body.undecided))
    if names:
        short = " This text is so short that they select no whole token." if not any(body.counted.values()) else ""
        st.info(f"Nothing is chosen by {names}: all maps have the same value.{short}", icon=":material/short_text:")


def _draw_order(body: CandidatesText) -> str:
    """Draw the choice of the metric to report and sort by; return it."""
    keys = list(body.winners)
    order, scale, definitions = st.columns([4, 4, 2], vertical_alignment="bottom")
    with order:
        sort = _draw_metric("Metric reported and sorted by", "sort", keys, body)
    with scale:
        question.select(
            "Scale of small maps", "scale", {"shared": "One for all", "each": "One for each map"}, radio=True
        )
    with definitions:
        draw_definitions(body.metrics)
    return sort


def _draw_metric(label: str, name: str, keys: list[str], body: CandidatesText) -> str:
    if question.now(name) not in keys:
        question.set(name, keys[0])
    question.select(label, name, {key: candidates.directed(body, key) for key in keys})
    return str(question.now(name))


def _draw_table(body: CandidatesText, sort: str, candidate: int) -> None:
    st.markdown(
        "**All candidates**", help="Press a heading to sort; tick the box at the left of a row to open its map."
    )
    order = candidates.ordered(body, sort)
    rows = candidates.candidate_rows(body)
    key = question.key(f"table_{sort}")

    def picked() -> None:
        chosen = st.session_state[key].selection.rows
        pick(order[chosen[0]] if chosen and chosen[0] < len(order) else None)

    columns = {
        name: st.column_config.NumberColumn(
            candidates.directed(body, name), help=metric_of(body.metrics, name).definition, format="%.4f"
        )
        for name in body.winners
    }
    st.session_state[key] = {"selection": {"rows": [order.index(candidate)], "columns": [], "cells": []}}
    st.dataframe(
        pd.DataFrame([rows[i] for i in order]),
        hide_index=True,
        key=key,
        column_config={"candidate": "Map", "layer": "Layer", "timestep": "Timestep", "draw": "Draw", **columns},
        on_select=picked,
        selection_mode="single-row-required",
    )


def _draw_open(service: Service, view: CandidatesView, result: AnalysisResult[CandidatesText], candidate: int) -> None:
    """Draw the open heatmap, its values, and the texts behind them."""
    body = result.body
    drawn = cached_for(result, open_map, candidates.family_request(result.request), body, candidate, view.palette)
    with st.container(key=OPENED):
        st.markdown(f"**Map {candidate}: {plain(body.candidates[candidate].name)}**")
        with st.container(border=True):
            token_heatmap(drawn, "candidates_open")
    values = body.candidates[candidate].metrics
    st.caption(" · ".join(f"{plain(candidates.directed(body, key))} {number(value)}" for key, value in values.items()))
    request = view.metric_result(body, candidate)
    BEHIND.keep(service, [request])
    behind = st.expander(
        "Texts behind these numbers", icon=":material/manage_search:", key="candidates_texts", on_change="rerun"
    )
    if behind.open:
        with behind:
            (evaluated,) = PAGE.answers_in(BEHIND, service, [request])
            BEHIND.draw_state(service, [evaluated])
            if evaluated.result is not None:
                _draw_behind(evaluated.result.body)


def _draw_behind(body: JudgedText) -> None:
    features = sum(not feature.special for feature in body.features)
    target = body.target.label
    before = body.prediction.probabilities[target]
    rows = [
        {
            "Metric": metric.label,
            "Value": number(metric.value),
            "k": f"{step.level}%",
            "Removed": " · ".join(spelled(text) for text in step.removed) or "nothing",
            "What is left": step.text,
            f"Probability of {target}": step.probability,
        }
        for metric in body.metrics
        for step in metric.steps
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)
    st.caption(
        f"{features} tokens can be removed; the whole text has {plain(target)} at {before:.4f}. Each text as the model "
        "reads it, special tokens included."
    )


def _draw_small(view: CandidatesView, result: AnalysisResult[CandidatesText], sort: str, picked: int) -> None:
    body = result.body
    order = _parts(candidates.ordered(body, sort), DOZEN)
    st.header(
        "Side by side",
        anchor=False,
        help="The best map by the chosen metric comes first. Press a map to open it above.",
    )
    shown = 0
    if len(order) > 1:
        key = question.key("dozen")
        if st.session_state.get(key, 0) not in range(len(order)):
            st.session_state[key] = 0
        ends = [(DOZEN * i + 1, DOZEN * i + len(part)) for i, part in enumerate(order)]
        shown = st.selectbox(
            "Maps shown", range(len(order)), key=key, format_func=lambda i: f"{ends[i][0]} to {ends[i][1]}", width=240
        )
    shared = view.scale == "shared"
    request = candidates.family_request(result.request)
    small = cached_for(result, small_maps, request, body, tuple(order[shown]), sort, view.palette, shared)
    candidate_maps(small, picked, "candidates_small", pick)


def _draw_winners(view: CandidatesView, result: AnalysisResult[CandidatesText]) -> None:
    body = result.body
    winners = cached_for(result, winner_maps, candidates.family_request(result.request), body, view.palette)
    st.header("The winner by each metric", anchor=False)
    if not winners:
        st.caption("No metric can tell these maps apart.")
    elif len(winners) == 1:
        st.caption("All metrics that choose a map choose this one." if body.undecided else "All choose the same map.")
    else:
        st.caption(f"≠ marks tokens that only this winner ranks in its top {TOP}. One scale for all.")
    for row in _parts(winners, 2):
        for column, winner in zip(st.columns(2, gap="medium"), row, strict=False):
            with column, st.container(border=True):
                labels = ", ".join(candidates.label_of(body, key) for key in winner.keys)
                name = body.candidates[winner.candidate].name
                st.markdown(f"**{plain(labels)}**: {plain(name)}")
                token_heatmap(winner.drawn, f"candidates_winner_{winner.keys[0]}")
                st.button("Open", key=f"candidates_open_{winner.keys[0]}", on_click=pick, args=(winner.candidate,))


def _draw_scatter(result: AnalysisResult[CandidatesText], picked: int) -> None:
    body = result.body
    keys = list(body.winners)
    st.header("One metric against another", anchor=False)
    across, up = st.columns(2)
    with across:
        x = _draw_metric("Across", "across", keys, body)
    with up:
        y = _draw_metric("Up", "up", keys, body)
    chart = cached_for(result, candidates.scatter, body, x, y, picked)
    draw_chart(chart, "candidates_scatter", lambda data: pick(int(data[0])), "Press a point to open its map.")


def _draw_agreement(body: CandidatesText) -> None:
    if not body.agreement:
        return
    st.header("How far the winners agree", anchor=False)
    names = [spelled(feature.text) for feature in body.features]
    rows = [
        {
            "Best by": candidates.label_of(body, pair.first),
            "and by": candidates.label_of(body, pair.second),
            "Rank correlation": pair.rank_correlation,
            f"Top {TOP} of the first only": " · ".join(names[i] for i in pair.only_first),
            f"Top {TOP} of the second only": " · ".join(names[i] for i in pair.only_second),
        }
        for pair in body.agreement
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)
    st.caption("Rank correlation: Spearman's ρ of the scores, without special tokens; empty where a map is constant.")


def _report_maps(request: Request, body: CandidatesText, candidates: Sequence[int], palette: str) -> list[ReportMap]:
    """Return the maps of ``candidates`` on one scale, titled by their names."""
    maps = report_maps([candidate_attribution(request, body, i) for i in candidates], palette, shared=True)
    return [replace(entry, title=body.candidates[i].name) for i, entry in zip(candidates, maps, strict=True)]


def _draw_exports(view: CandidatesView, result: AnalysisResult[CandidatesText], picked: int) -> None:
    request, body = candidates.family_request(result.request), result.body
    shown = list(dict.fromkeys([*body.chosen.values(), picked]))
    words = text_verdict(body, _sorted_by(list(body.winners), view.sort))
    files: tuple[File, ...] = (
        (
            "HTML report",
            lambda: to_html(_report_maps(request, body, shown, view.palette), view.palette, verdict=words),
            "candidates.html",
            "text/html",
        ),
        ("CSV of scores", lambda: scores_csv(request, body), "candidates.csv", "text/csv"),
        (
            "JSON",
            lambda: json.dumps(with_verdict(result.to_json(), words), ensure_ascii=False, allow_nan=False, indent=2),
            "candidates.json",
            "application/json",
        ),
    )
    st.header("Download", anchor=False)
    for column, file in zip(st.columns(3), files, strict=True):
        with column:
            draw_files([file], "candidates")


ORACLE = (
    "**The best map by the reported metric is an oracle.** It was chosen by the very number that is "
    "reported, so the best of many looks better than a single map even if all maps are noise. Compare "
    "it with the maps chosen by another metric or another k, and with the mean."
)


def draw_answer(view: CandidatesView, result: AnalysisResult[CandidatesText] | AnalysisResult[CandidatesData]) -> None:
    """Draw the worth of choosing by the reported metric, in words."""
    body = result.body
    sort = _sorted_by(list(body.selection), view.sort)
    words = text_verdict(body, sort) if isinstance(body, CandidatesText) else data_verdict(body, sort)
    draw_words(words, result, lambda: get_study(result.request.question).report(result).lines)


def draw_choice(
    result: AnalysisResult[CandidatesText] | AnalysisResult[CandidatesData], sort: str, prefix: str
) -> None:
    """Draw the selection by every rule, and the metric against draws and layers, of a text or a data set."""
    body = result.body
    st.warning(ORACLE, icon=":material/visibility:")
    metric = metric_of(body.metrics, sort)
    definition = explained(plain(metric.definition), metric.metric)
    draw_chart(cached_for(result, candidates.selection, body, sort), f"{prefix}_selection", help=definition)
    every = st.expander("Every metric", icon=":material/table_rows:", key=f"{prefix}_every", on_change="rerun")
    if every.open:
        every.dataframe(_selection_table(body), hide_index=True)
    left, right = st.columns(2, gap="large")
    with left:
        draw_chart(cached_for(result, candidates.by_draws, body, sort), f"{prefix}_draws", help=definition)
    with right:
        if body.by_layer:
            draw_chart(cached_for(result, candidates.by_layer, body, sort), f"{prefix}_layers", help=definition)
        else:
            st.info("All maps come from one layer. To compare layers, choose several (all, or 3,4).")


def _draw_ablation(service: Service, request: Request, sort: str, prefix: str) -> None:
    """Draw other methods with as many attributions, on request."""
    place = _ablation_place(prefix)
    place.keep(service, [request])
    others = st.expander(
        "Other methods with as many maps", icon=":material/balance:", key=f"{prefix}_ablation", on_change="rerun"
    )
    if others.open:
        with others:
            (answer,) = PAGE.answers_in(place, service, [request])
            place.draw_state(service, [answer])
            if answer.result is not None:
                chart = cached_for(answer.result, ablation, answer.result.body, sort)
                draw_chart(chart, f"{prefix}_ablation_chart")


def _ablation_place(prefix: str) -> PageState:
    """Return the state of the comparison with other methods, on the text or on the data set."""
    return PageState(f"{prefix}.ablation")


def draw_definitions(metrics: Sequence[MetricFacts]) -> None:
    """Draw the definition of every metric, in a popover."""
    with st.popover("Definitions", icon=":material/functions:", width="stretch"):
        for metric in metrics:
            better = "Higher" if metric.higher_is_better else "Lower"
            words = f"{get_metric(metric.metric).plain} {metric.definition}"
            st.markdown(f"**{plain(metric.label)}** ({better} is better): {plain(words)}")


def _selection_table(body: candidates.Body) -> pd.DataFrame:
    """Return the table: a row a choice, a column a reported metric."""
    columns = {
        candidates.directed(body, key): {name: value.mean for name, value in candidates.choices(selection, body)}
        for key, selection in body.selection.items()
    }
    frame = pd.DataFrame(columns)
    frame = frame.reindex([*[name for name in frame.index if name != candidates.BEST], candidates.BEST])
    return frame.rename_axis("Choice").reset_index()


def _sorted_by(keys: list[str], wanted: str) -> str:
    """Return the metric ``wanted`` where it is among the ``keys``, else the first."""
    return wanted if wanted in keys else keys[0]


def draw_data(
    service: Service,
    view: CandidatesView,
    result: AnalysisResult[CandidatesData],
    architecture: Architecture | None,
    open_text: OpenText,
) -> None:
    """Draw every chart of the data set; ``open_text`` is called with a text to be shown above."""
    body = result.body
    draw_answer(view, result)
    sort = _sorted_by(list(body.selection), view.sort)
    words, definitions = st.columns([8, 2], vertical_alignment="center")
    words.caption(
        f"Means of {counted(body.summary.n, 'text')} with 95% bootstrap intervals; the metric reported is chosen above."
    )
    with definitions:
        draw_definitions(body.metrics)
    draw_choice(result, sort, "candidates_data")
    draw_masked_line(service, result.request, (), "candidates_data")
    _draw_ablation(service, view.ablation(architecture, of_data=True), sort, "candidates_data")
    if len(body.selection) > 1:
        draw_chart(cached_for(result, candidates.same_winners, body), "candidates_same")
    draw_opener(question, body.texts, row_opener(body.texts, open_text))
    draw_texts("candidates_texts_all", lambda: _text_rows(body), result.skipped)


def _text_rows(body: CandidatesData) -> list[dict[str, Any]]:
    rows = []
    for text in body.texts:
        row = {"Row": text.row, "Text": text.text, "Label": text.label}
        for key, winner in text.winners.items():
            label = candidates.directed(body, key)
            place = f"layer {winner.layer}, draw {winner.draw}" if text.selection[key].decided else "no choice"
            row |= {label: winner.value, f"{label} at": place}
        rows.append(row)
    return rows


_candidate_maps = component("candidate_maps", ["tokens", "candidate_maps"], ["token_heatmap", "candidate_maps"])


def candidate_maps(maps: SmallMaps, picked: int, key: str, on_pick: Callable[[int], None]) -> None:
    """Draw ``maps`` as buttons, that of the candidate ``picked`` pressed; ``on_pick`` gets the candidate of another."""

    def pressed() -> None:
        chosen = getattr(st.session_state.get(key), "picked", None)
        if chosen is not None:
            on_pick(int(chosen))

    _candidate_maps(data={**payload(maps), "picked": picked}, key=key, on_picked_change=pressed)
