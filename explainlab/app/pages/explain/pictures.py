"""Below the heatmaps: one attribution's scores as bars, how far several agree, and which of them to trust."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.trust.figures import ranking
from explainlab.analyses.trust.result import TrustText
from explainlab.app.chart import draw_chart, theme
from explainlab.app.facts import AGREEMENT
from explainlab.app.glossary import explained
from explainlab.app.once import once
from explainlab.app.pages.explain.controls import question
from explainlab.app.pages.explain.trust import judge_all, keys_of
from explainlab.app.text import plain
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import complete_method
from explainlab.figures.bars import has_waterfall
from explainlab.figures.chart import Chart
from explainlab.figures.heatmap import agreement, comparable, method_label, opposable
from explainlab.figures.scores import agreement_matrix, score_bars, waterfall
from explainlab.service.service import Service

_FORMS = {"waterfall": "From baseline to output", "bars": "Sorted"}


def draw_scores(results: Sequence[Attribution], palette: str, first: int) -> None:
    """The scores of one attribution as bars; at first those of the one at the place ``first``."""
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
    draw_chart(once(result, draw, result, palette, theme()), "explain_scores")


def draw_agreement(results: Sequence[Attribution]) -> None:
    """How far attributions of the same features agree: as a matrix if there are more than two, and pair by pair."""
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
    draw_chart(once(results[0], agreement_matrix, tuple(results)), "explain_agreement")
    pairs = st.expander("Every pair, with sign conflicts", icon=":material/table_rows:", key="pairs", on_change="rerun")
    if pairs.open:
        with pairs:
            _draw_pairs(results)


def draw_ranking(
    service: Service, results: Sequence[Attribution], judged: Mapping[int, AnalysisResult[TrustText]]
) -> None:
    """Several attributions by how many random ones they beat; a button compares those that are not compared yet."""
    if len(results) < 2:
        return
    st.header("Which map to trust", anchor="trust", help="Each map against 100 random maps of the same text.")
    trusts = tuple(judged.values())
    if any(metric.counted for trust in trusts for metric in trust.body.metrics):
        draw_chart(once(trusts[0], _ranking, trusts), "explain_ranking")
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
    for pair in once(results[0], agreement, tuple(results)):
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
