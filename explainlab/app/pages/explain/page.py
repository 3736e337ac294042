"""Explain: one text, one model, any number of methods side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.explain.verdict import most_trusted, verdict
from explainlab.analyses.registry import get_analysis, get_study
from explainlab.analyses.trust.analysis import Trust
from explainlab.analyses.trust.figures import ranking
from explainlab.analyses.trust.result import TrustText
from explainlab.app import links
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart, theme
from explainlab.app.components import component
from explainlab.app.frame import draw_title
from explainlab.app.glossary import described, explained
from explainlab.app.heatmap import AGREEMENT, facts, token_heatmap
from explainlab.app.page import draw_open_in, draw_predicted, draw_words
from explainlab.app.pages.explain import ENTRY, form, sections
from explainlab.app.pages.explain.form import PAGE, View, question
from explainlab.app.pages.explain.sections import draw_beliefs, draw_trust, judge_all, keys_of, trust_words
from explainlab.app.place import Answer
from explainlab.app.text import plain
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import complete_method, get_method
from explainlab.figures.bars import has_waterfall
from explainlab.figures.chart import Chart
from explainlab.figures.export import (
    command_line,
    label_share_words,
    python_code,
    report_maps,
    shared_warnings,
    to_csv,
    to_html,
    to_json,
    token_words,
)
from explainlab.figures.heatmap import Heatmap, agreement, comparable, heatmaps, method_label, opposable
from explainlab.figures.scores import agreement_matrix, score_bars, waterfall
from explainlab.models.loading import ModelCard
from explainlab.models.reading_warnings import cut_words
from explainlab.request import Request
from explainlab.service.service import Service
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    ask = partial(PAGE.ask_text, service)

    def explain_class(label: str) -> None:
        form.question.set("target", label)
        ask()

    draw_title(ENTRY, service.notice)
    with PAGE.place_of_controls():
        card = form.question.draw(ask)
        form.draw_options(card, ask)
    view = PAGE.settle(service)
    requests = view.requests()
    refused = unsupported(requests, card)
    answers = answers_to(service, [r for i, r in enumerate(requests) if i not in refused], requests)
    link = "" if any(answer.problem for answer in answers) else PAGE.link(service, view)

    st.divider()
    for reason in refused.values():
        st.warning(plain(reason), icon=":material/block:")
    PAGE.draw_early(answers)
    PAGE.draw_state(service, [answer for answer in answers if answer.result is None])
    attributions = [answer.result for answer in answers if answer.result is not None]
    if attributions:
        comparisons = sections.comparisons(service, attributions, ask=not PAGE.waiting)
        judged = {i: answer.result for i, answer in enumerate(comparisons) if answer and answer.result is not None}
        first, words = _draw_verdict(attributions, judged)
        _draw_prediction(attributions, explain_class)
        _draw_maps(service, view, attributions, comparisons)
        _draw_scores(attributions, view.palette, first)
        draw_beliefs(service, attributions[0].request, view.palette)
        draw_agreement(attributions)
        _draw_ranking(service, attributions, judged)
        _draw_exports(view, attributions, comparisons, words, link)
    elif not view.methods:
        st.info("Choose a method above to see which words speak for the prediction and which against it.")
    elif any(answer.running for answer in answers):
        st.skeleton(height=160)
    draw_open_in(service, view.shared_inputs(), PAGE.name)


def unsupported(requests: Sequence[Request], card: ModelCard | None) -> dict[int, str]:
    """Return, by its place, why each of ``requests`` that the model of ``card`` cannot run is refused."""
    if card is None:
        return {}
    chosen = [complete_method(request.question, request.parameters) for request in requests]
    reasons = {i: method.unsupported(card.architecture) for i, method in enumerate(chosen)}
    return {i: reason for i, reason in reasons.items() if reason}


def answers_to(service: Service, requests: Sequence[Request], shown: Sequence[Request]) -> list[Answer]:
    """Return the answers to ``requests``; sections forget their questions about maps that are not ``shown``."""
    sections.forget_trust(service, shown)
    sections.forget_beliefs(service, shown)
    return [PAGE.answer(service, request) for request in requests]


_SIDE_BY_SIDE = 60  # content features up to which two heatmaps share a row


def _draw_verdict(results: Sequence[Attribution], judged: Mapping[int, AnalysisResult[TrustText]]) -> tuple[int, str]:
    """Draw the answer in words, by the most trustworthy attribution; return its place and the words."""
    first = most_trusted(results, {i: trust.body for i, trust in judged.items()})
    result, trust = results[first], judged.get(first)
    words = verdict(result, None if trust is None else trust.body)

    def lines() -> list[str]:
        judged_by = [] if trust is None else [*get_study(Trust.id).report(trust).lines, ""]
        return [*judged_by, *get_analysis(result.request.question).report(result).lines]

    draw_words(words, result, lines)
    return first, words


def _draw_prediction(results: Sequence[Attribution], on_pick: Callable[[str], None]) -> None:
    """Draw the prediction and the part of the text that was read; pressing a class explains it instead."""
    result = results[0]
    prediction, target = result.prediction, result.target
    left, right = st.columns([2, 3], gap="large", vertical_alignment="center")
    with left:
        draw_predicted(prediction)
        share = label_share_words(result)
        read = [f"Label words: **{plain(share)}**"] if share else []
        read.append(token_words(result))
        if result.truncated:
            read.append(f"**{cut_words(result.cut)}**")
        if target.label != prediction.label:
            read.append(f"explained: **{plain(target.label)}**")
        st.caption(" · ".join(read))
    with right:
        class_bars(result, on_pick)
    for warning in shared_warnings(results):
        st.warning(plain(warning), icon=":material/warning:")


def _draw_maps(
    service: Service, view: View, results: Sequence[Attribution], comparisons: Sequence[Answer | None]
) -> None:
    """Draw one card a method, two to a row for a short text; under each heatmap its comparison with random ones."""
    cards = cached_for(results[0], heatmaps, tuple(results), view.palette, view.scale == "shared", view.top)
    shared, keys = shared_warnings(results), keys_of(results)
    per_row = 2 if len(cards) > 1 and cards[0].ranked <= _SIDE_BY_SIDE else 1
    for start in range(0, len(cards), per_row):
        columns = st.columns(per_row, gap="medium")
        shown = zip(columns, keys[start:], cards[start:], results[start:], comparisons[start:], strict=False)
        for column, key, drawn, result, comparison in shown:
            with column, st.container(border=True):
                _draw_card(service, key, drawn, result, comparison, shared)


def _draw_exports(
    view: View, results: Sequence[Attribution], comparisons: Sequence[Answer | None], words: str, link: str
) -> None:
    """Draw files to take away, the code that gives the same numbers, and the link that reopens this view."""
    st.header("Download")
    trust = [trust_words(comparison) for comparison in comparisons]
    code = "\n".join(python_code(result) for result in results)
    commands = "\n".join(command_line(result) for result in results)

    def report() -> str:
        maps = report_maps(results, view.palette, view.scale == "shared", trust, view.top)
        return to_html(maps, view.palette, verdict=words, snippets=[code, commands])

    files = (
        ("HTML report", report, "explanation.html", "text/html", "description"),
        ("CSV", lambda: to_csv(*results, top_k=view.top), "explanation.csv", "text/csv", "table"),
        ("JSON", lambda: to_json(results, words, view.top), "explanation.json", "application/json", "data_object"),
    )
    with st.container(horizontal=True):
        for label, write, name, mime, icon in files:
            st.download_button(label, write, name, mime, icon=f":material/{icon}:", on_click="ignore")
    reproduce = st.expander("Reproduce this", icon=":material/code:", key="reproduce", on_change="rerun")
    if reproduce.open:
        reproduce.caption("The same numbers in Python, and on the command line.")
        reproduce.code(code, language=None, wrap_lines=True)
        reproduce.code(commands, language=None, wrap_lines=True)
    links.draw(link)


def _draw_card(
    service: Service, key: str, drawn: Heatmap, result: Attribution, comparison: Answer | None, shown: Sequence[str]
) -> None:
    """Draw a map and all that belongs to it under ``key``, except the warnings ``shown`` elsewhere already."""
    method = get_method(result.request.question)
    st.markdown(f"**{plain(drawn.method)}**", help=described(method))
    token_heatmap(drawn, key=f"map_{key}")
    for warning in result.warnings:
        if warning not in shown:
            st.warning(plain(warning), icon=":material/warning:")
    st.caption(" · ".join(facts(result)))
    draw_trust(service, key, result, comparison)
    icon = ":material/format_list_numbered:"
    scores = st.expander("Scores", icon=icon, key=f"scores_{key}", on_change="rerun")
    if scores.open:
        frame = result.to_frame()
        frame["pieces"] = [" ".join(f.pieces) for f in result.features]
        scores.dataframe(frame.dropna(axis="columns", how="all"), hide_index=True)


_FORMS = {"waterfall": "From baseline to output", "bars": "Sorted"}


def _draw_scores(results: Sequence[Attribution], palette: str, first: int) -> None:
    """Draw the scores of one attribution as bars; at first of the one at the place ``first``."""
    st.header("Scores", anchor="scores", help="One bar for each feature, the largest first; the rest share a bar.")
    names = dict(zip(keys_of(results), map(method_label, results), strict=True))
    place = first
    left, right = st.columns([3, 4], vertical_alignment="bottom")
    if len(results) > 1:
        with left:
            maps, key = list(names), question.key("pictured")
            if st.session_state.get(key) not in maps:
                st.session_state[key] = maps[first]
            place = maps.index(st.selectbox("Map", maps, key=key, format_func=names.__getitem__))
    result, draw = results[place], score_bars
    if has_waterfall(result):
        with right:
            form = st.segmented_control(
                "Bars", list(_FORMS), default="waterfall", key=question.key("form"), format_func=_FORMS.__getitem__
            )
        draw = score_bars if form == "bars" else waterfall
    draw_chart(cached_for(result, draw, result, palette, theme()), "explain_scores")


def draw_agreement(results: Sequence[Attribution]) -> None:
    """Draw the agreement of attributions of the same features: a matrix for more than two, and pair by pair."""
    if len(results) < 2:
        return
    help_text = "How far the maps tell the same story. Special tokens are not counted."
    st.header("Agreement", help=explained(help_text, "rank-correlation", "sign-conflict"))
    if not comparable(results):
        st.info("These maps score different features and cannot be compared.")
        return
    if len(results) == 2:
        _draw_pairs(results)
        return
    draw_chart(cached_for(results[0], agreement_matrix, tuple(results)), "explain_agreement")
    pairs = st.expander("Every pair, with sign conflicts", icon=":material/table_rows:", key="pairs", on_change="rerun")
    if pairs.open:
        with pairs:
            _draw_pairs(results)


def _draw_ranking(
    service: Service, results: Sequence[Attribution], judged: Mapping[int, AnalysisResult[TrustText]]
) -> None:
    """Draw several attributions by how many random ones they beat; a button compares the others."""
    if len(results) < 2:
        return
    st.header("Which map to trust", anchor="trust", help="Each map against 100 random maps of the same text.")
    trusts = tuple(judged.values())
    if any(metric.counted for trust in trusts for metric in trust.body.metrics):
        draw_chart(cached_for(trusts[0], _ranking, trusts), "explain_ranking")
    elif trusts:
        st.info("This text is too short to tell.", icon=":material/short_text:")
    keyed = zip(keys_of(results), results, strict=True)
    missing = {key: result for i, (key, result) in enumerate(keyed) if i not in judged}
    if missing:
        compare: Callable[[], None] = partial(judge_all, service, missing)
        names = plain(", ".join(map(method_label, missing.values())))
        words, button = st.columns([4, 2], vertical_alignment="center")
        words.caption(f"Not compared yet: {names}.")
        button.button("Compare with random maps", icon=":material/help_center:", on_click=compare, width="stretch")


def _ranking(trusts: Sequence[AnalysisResult[TrustText]]) -> Chart:
    settings = [trust.request.parameters for trust in trusts]
    labels = [complete_method(chosen["method"], chosen["settings"]).label for chosen in settings]
    return ranking([trust.body for trust in trusts], labels)


def _draw_pairs(results: Sequence[Attribution]) -> None:
    """Rank correlation and sign conflicts of every pair."""
    rows = []
    for pair in cached_for(results[0], agreement, tuple(results)):
        first, second = results[pair.first], results[pair.second]
        words = ", ".join(first.features[i].text for i in pair.conflicts)
        rows.append(
            {
                "Map": method_label(first),
                "and": method_label(second),
                "Rank correlation": "" if pair.rank_correlation is None else f"{pair.rank_correlation:.2f}",
                "Sign conflicts": str(len(pair.conflicts)) if opposable(first, second) else "",
                "on": plain(words),
            }
        )
    st.table(pd.DataFrame(rows), hide_index=True)
    st.caption(AGREEMENT)


_class_bars = component("class_bars")


def class_bars(result: Attribution, on_pick: Callable[[str], None]) -> None:
    """Draw the probability of every class, the likeliest first; ``on_pick`` gets the label of a pressed row."""
    key = "class_bars"

    def picked() -> None:
        pressed = st.session_state.get(key)
        if pressed is not None:  # else the bars have left the page since
            on_pick(pressed.picked)

    ordered = sorted(result.prediction.probabilities.items(), key=lambda item: -item[1])
    rows = [
        {"label": label, "probability": p, "shown": f"{100 * p:.1f}%", "target": label == result.target.label}
        for label, p in ordered
    ]
    _class_bars(data={"classes": rows}, key=key, on_picked_change=picked)
