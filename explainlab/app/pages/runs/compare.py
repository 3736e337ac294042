"""Two runs side by side: their heatmaps on one scale, and their agreement."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.app import session
from explainlab.app.facts import AGREEMENT, facts
from explainlab.app.frame import name_tab
from explainlab.app.heatmap import token_heatmap
from explainlab.app.pages.runs import ENTRY
from explainlab.app.pages.runs import page as runs_page
from explainlab.app.text import plain
from explainlab.attribution.records import Attribution
from explainlab.figures.compare import Comparison, compare, table_difference
from explainlab.figures.heatmap import opposable
from explainlab.result import Result
from explainlab.service.access import OpenRun
from explainlab.service.questions import request_json
from explainlab.service.service import Service


def draw_comparison(service: Service, first_id: str, second_id: str) -> None:
    """The runs under these ids; raises :class:`RequestError` where this user may not read both."""
    first, second = (service.open_run(run_id, session.user()) for run_id in (first_id, second_id))
    name_tab(ENTRY.title, "two side by side")
    runs_page.draw_back()
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
    _draw_settings(first, second)


def _draw_sides(pair: tuple[OpenRun, OpenRun], compared: Comparison | None) -> None:
    for place, (column, opened) in enumerate(zip(st.columns(2, gap="medium"), pair, strict=True)):
        with column, st.container(border=True):
            _draw_side(opened, place, compared)


def _draw_side(opened: OpenRun, place: int, compared: Comparison | None) -> None:
    st.markdown(f"**{plain(opened.run.title or runs_page.label(opened.run.question))}**")
    if compared is None:
        st.markdown(plain(opened.run.subject))
    st.caption(" · ".join(runs_page.facts(opened.run)))
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
        on_click=runs_page.open_runs,
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


def _draw_settings(first: OpenRun, second: OpenRun) -> None:
    """The settings and versions that differ."""
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
