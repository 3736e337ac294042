"""The answer on the page: in words, prediction, heatmaps side by side, and files to take away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.explain.page.component import class_bars
from explainlab.analyses.explain.page.trust import draw_trust, keys_of, trust_words
from explainlab.analyses.explain.page.view import View
from explainlab.analyses.explain.verdict import most_trusted, verdict
from explainlab.analyses.registry import get_analysis, get_study
from explainlab.analyses.trust.analysis import Trust
from explainlab.analyses.trust.result import TrustText
from explainlab.app import links
from explainlab.app.facts import facts
from explainlab.app.heatmap import token_heatmap
from explainlab.app.once import once
from explainlab.app.page import draw_predicted, draw_words
from explainlab.app.place import Answer
from explainlab.app.text import plain
from explainlab.app.words.terms import described
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import get_method
from explainlab.figures.export import (
    label_share_words,
    report_maps,
    shared_warnings,
    to_csv,
    to_html,
    to_json,
    token_words,
)
from explainlab.figures.heatmap import Heatmap, heatmaps
from explainlab.figures.reproduce import command_line, python_code
from explainlab.models.caveats import cut_words
from explainlab.service.service import Service

_SIDE_BY_SIDE = 60  # content features up to which two heatmaps share a row


def draw_verdict(results: Sequence[Attribution], judged: Mapping[int, AnalysisResult[TrustText]]) -> tuple[int, str]:
    """The answer in words, by the attribution that can be trusted most; its place, and the words."""
    first = most_trusted(results, {i: trust.body for i, trust in judged.items()})
    result, trust = results[first], judged.get(first)
    words = verdict(result, None if trust is None else trust.body)

    def lines() -> list[str]:
        judged_by = [] if trust is None else [*get_study(Trust.id).report(trust).lines, ""]
        return [*judged_by, *get_analysis(result.request.question).report(result).lines]

    draw_words(words, result, lines)
    return first, words


def draw_prediction(results: Sequence[Attribution], on_pick: Callable[[str], None]) -> None:
    """What the model says and how far it read the text, every class pressable to be explained instead."""
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


def draw_maps(
    service: Service, view: View, results: Sequence[Attribution], comparisons: Sequence[Answer | None]
) -> None:
    """One card a method, two to a row for a short text; under each heatmap its comparison with random ones."""
    cards = once(results[0], heatmaps, tuple(results), view.palette, view.scale == "shared", view.top)
    shared, keys = shared_warnings(results), keys_of(results)
    per_row = 2 if len(cards) > 1 and cards[0].ranked <= _SIDE_BY_SIDE else 1
    for start in range(0, len(cards), per_row):
        columns = st.columns(per_row, gap="medium")
        shown = zip(columns, keys[start:], cards[start:], results[start:], comparisons[start:], strict=False)
        for column, key, drawn, result, comparison in shown:
            with column, st.container(border=True):
                _draw_card(service, key, drawn, result, comparison, shared)


def draw_exports(
    view: View, results: Sequence[Attribution], comparisons: Sequence[Answer | None], words: str, link: str
) -> None:
    """Files to take away, the code that gives the same numbers, and the link that reopens this view."""
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
    """A map and all that belongs to it, drawn under ``key``; the warnings ``shown`` stand elsewhere already."""
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
