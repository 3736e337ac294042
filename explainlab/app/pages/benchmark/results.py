"""The answer of the Benchmark page: in words, and as tables of methods by metrics whose cells list their texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.figures import (
    agreement_cells,
    agreement_matrix,
    heat_cells,
    heat_table,
    quality_against_cost,
    share_charts,
    slice_means,
    sweep_charts,
)
from explainlab.analyses.evaluation.latex import latex
from explainlab.analyses.evaluation.published import (
    Beside,
    beside_best,
    beside_published,
    paper_tables,
    published_latex,
    published_rows,
)
from explainlab.analyses.evaluation.result import REVERSED, TITLES, EvaluationData, Kind, meaning, shown, withheld
from explainlab.analyses.evaluation.sets import (
    EvaluatedSet,
    set_overview,
    set_paragraphs,
    set_rows,
    set_shares,
    share_tables,
)
from explainlab.analyses.evaluation.table import MetricTable, kinds_of, table_of
from explainlab.analyses.evaluation.told_apart import critical_diagram, differences
from explainlab.analyses.evaluation.verdict import overview, paragraphs, shown_name
from explainlab.analyses.registry import get_analysis
from explainlab.analyses.sets.records import SetCell
from explainlab.analyses.sets.table import set_csv, set_html, set_json, set_latex
from explainlab.app.cached import cached_for
from explainlab.app.chart import File, draw_cells, draw_chart, theme
from explainlab.app.components import is_narrow
from explainlab.app.data_set import draw_texts
from explainlab.app.glossary import explained
from explainlab.app.page import draw_words
from explainlab.app.pages.benchmark.form import (
    NAME,
    PAGE,
    BenchmarkView,
    keep_known,
    open_alone,
    open_cell,
    open_pair,
    question,
)
from explainlab.app.pages.benchmark.texts import (
    draw_cell,
    draw_pair,
    metric_facts,
    names_of,
    pairs_records,
    text_records,
)
from explainlab.app.place import Answer
from explainlab.app.sections import draw_masked_line
from explainlab.app.sets import SetSection, drawn, set_of
from explainlab.app.text import plain
from explainlab.attribution.registry import get_method, parse_spec
from explainlab.errors import RequestError
from explainlab.figures.chart import Chart
from explainlab.figures.matrix import shade
from explainlab.metrics.registry import get_metric
from explainlab.service.service import Service

_TABLE_HELP = (
    "Press a cell to see the texts behind it; the boxes below do the same. An arrow says which way is better. Random "
    "maps and every method's scores with the opposite sign are there to compare with."
)


def draw_answer(result: AnalysisResult[EvaluationData]) -> None:
    """Draw the answer: the methods that each metric tells apart, the best one beside random, and the cost of each."""
    report = get_analysis(result.request.question).report(result)
    draw_words(overview(result.body), result, lambda: report.lines, paragraphs(result.body))


def draw_results(service: Service, view: BenchmarkView, result: AnalysisResult[EvaluationData]) -> None:
    """Draw everything below the answer in words."""
    if words := withheld(result.body):
        st.warning(plain(words), icon=":material/rule:")
    if not result.body.rows:
        return
    for kind in kinds_of(result.body):
        _draw_table(view, result, kind)
    draw_masked_line(service, result.request, (), "benchmark")
    draw_cell(service, view, result.body)
    st.divider()
    _draw_by_metric(result)
    st.divider()
    draw_agreement(service, view, result)
    _draw_all(result)


def _draw_table(view: BenchmarkView, result: AnalysisResult[EvaluationData], kind: Kind) -> None:
    """Draw the table of one kind, with the notes that its readers need."""
    if kind != "faithfulness":
        st.header(TITLES[kind], anchor=False, help=explained("", "rationale"))
        st.caption(f"{plain(meaning(result.body, kind))}{_without_rationale(result.body)}")
    picked = view.cell_method, view.cell_metric
    draw_cells(
        cached_for(result, heat_table, result.body, kind),
        cached_for(result, heat_cells, result.body, kind, *picked, theme() == "dark"),
        f"benchmark_{kind}",
        picked,
        lambda cell: open_cell(cell["method"], cell["metric"]),
        explained(_TABLE_HELP, "interval", "random-map"),
        [("LaTeX", lambda: latex(result), "table.tex", "application/x-tex")],
    )
    label = f"{TITLES[kind]}, to sort and for the keyboard"
    sorting = st.expander(label, icon=":material/table:", key=f"benchmark_{kind}_sorted", on_change="rerun")
    if sorting.open:
        with sorting:
            _draw_sorted(table_of(result.body, kind), picked)


def _draw_sorted(table: MetricTable, picked: tuple[str, str]) -> None:
    """Draw the means as a table for the arrow keys; a cell that they reach lists its texts."""
    names, labels = [*table.methods, *table.controls], [fact.directed_label for fact in table.metrics.values()]
    asked, key = list(table.metrics), f"benchmark_{table.kind}_table"

    def reached() -> None:
        for row, column in st.session_state[key].selection.cells:
            if column in labels:
                open_cell(names[row], asked[labels.index(column)])

    means = [[table.cells[name, metric].mean for metric in asked] for name in names]
    shades = [[_shade(table.share(name, metric)) for metric in asked] for name in names]
    frame = pd.DataFrame(means, index=pd.Index(map(shown_name, names), name="Method"), columns=labels, dtype=float)
    cells = [(names.index(picked[0]), labels[asked.index(picked[1])])] if picked in table.cells else []
    st.session_state[key] = {"selection": {"rows": [], "columns": [], "cells": cells}}
    st.dataframe(
        frame.style.apply(lambda _: pd.DataFrame(shades, frame.index, frame.columns), axis=None),
        height="content",
        key=key,
        on_select=reached,
        selection_mode="single-cell",
        column_config=_columns(labels),
        alt=f"{TITLES[table.kind]}: a method a row, a metric a column.",
    )


def _columns(labels: Sequence[str]) -> dict[str, Any]:
    """Return the formats of the columns; on a phone they are narrow, so that a method stands beside its values."""
    names, numbers = (130, 90) if is_narrow() else (None, None)
    columns: dict[str, Any] = {label: st.column_config.NumberColumn(format="%.3f", width=numbers) for label in labels}
    return {"Method": st.column_config.Column(width=names), **columns}


def _shade(share: float | None) -> str:
    """Return the colour of a cell, as in the drawing of the table."""
    return f"background-color: {shade(share or 0.0)}"


def _without_rationale(body: EvaluationData) -> str:
    """Count the texts that were left out because they allow no comparison; empty for none."""
    left_out = str(body.rationales or "")
    return f" Left out: {left_out}." if left_out else ""


_HELP = {
    "differences": "The difference of each method to the best, text by text: positive where the best is better. p of "
    "Wilcoxon's signed-rank test, corrected by Holm for all pairs of methods and all metrics, as the best is chosen on "
    "the same texts; below 0.05 they are told apart.",
    "ranks": "Each text ranks the methods, 1 the best. A bar joins methods none of whose pairs is told apart.",
    "swept": "The means of the settings of one method that differ in one number; the dashed line is random.",
    "costs": "The Pareto front holds the methods that no other method beats at the same cost or less.",
    "slices": "The means for the texts of each class, those predicted right and wrong, and thirds by length.",
    "agreement": "Whether methods rank the features of a text alike. Press a cell to see the texts on which two "
    "methods disagree most; the boxes below do the same.",
}
_PAIRS = "benchmark_pairs"


def _draw_by_metric(result: AnalysisResult[EvaluationData]) -> None:
    """Draw the differences by one metric, the cost of quality, and the means for parts of the texts."""
    facts = metric_facts(result.body)
    keep_known("by", list(facts), next(iter(facts)))
    st.header("By one metric", anchor=False)
    question.select("Metric", "by", {name: fact.directed_label for name, fact in facts.items()})
    st.subheader("What is told apart", anchor=False)
    _draw(result, differences, "differences")
    _draw(result, critical_diagram, "ranks")
    charts = cached_for(result, sweep_charts, result.body, question.now("by"))
    if charts:
        st.subheader("Against a parameter", anchor=False)
    for chart in charts:
        draw_chart(chart, f"benchmark_{chart.name}", help=explained(_HELP["swept"], "interval"))
    st.subheader("Quality against cost", anchor=False)
    _draw(result, quality_against_cost, "costs")
    st.subheader("Slices", anchor=False)
    _draw(result, slice_means, "slices")


def draw_agreement(service: Service, view: BenchmarkView, result: AnalysisResult[EvaluationData]) -> None:
    """Draw the agreement of the methods, and the texts on which two of them disagree most."""
    body = result.body
    if not body.agreement:
        return
    st.header("Agreement", anchor=False)
    picked = view.first, view.second
    draw_cells(
        cached_for(result, agreement_matrix, body),
        cached_for(result, agreement_cells, body, *picked, theme() == "dark"),
        "benchmark_agreement",
        picked,
        lambda cell: open_pair(cell["first"], cell["second"]),
        explained(_HELP["agreement"], "rank-correlation", "sign-conflict"),
    )
    label = "All pairs, to sort and for the keyboard"
    pairs = st.expander(label, icon=":material/table:", key="benchmark_pairs_sorted", on_change="rerun")
    if pairs.open:
        with pairs:
            _draw_pairs(body)
    draw_pair(service, view, body)


def _draw_all(result: AnalysisResult[EvaluationData]) -> None:
    """Draw all texts with their values, and the computation."""
    draw_texts("benchmark_texts_all", lambda: text_records(result.body), result.skipped, result.body.n)
    definitions = st.expander("Definitions", icon=":material/functions:", key="benchmark_defined", on_change="rerun")
    if definitions.open:
        with definitions:
            _draw_definitions(result.body)


def _draw(result: AnalysisResult[EvaluationData], make: Callable[[EvaluationData, str], Chart], name: str) -> None:
    """Draw a chart of the metric that is chosen, or say why there is nothing to draw."""
    chart = cached_for(result, make, result.body, question.now("by"))
    if chart.rows:
        draw_chart(chart, f"benchmark_{name}", help=explained(_HELP[name], "interval"))
    else:
        st.info(plain(f"{chart.title}. {' '.join(chart.notes)}"), icon=":material/info:")


def _draw_pairs(body: EvaluationData) -> None:
    """Draw all pairs of methods; a picked pair lists its texts."""

    def picked() -> None:
        for row in st.session_state[_PAIRS].selection.rows:
            open_pair(body.agreement[row].first, body.agreement[row].second)

    formats = {"Kendall's τ": "%.3f", "Sign conflicts": "percent"}
    st.dataframe(
        pd.DataFrame(pairs_records(body)),
        hide_index=True,
        key=_PAIRS,
        on_select=picked,
        selection_mode="single-row",
        column_config={name: st.column_config.NumberColumn(format=written) for name, written in formats.items()},
    )


def _draw_definitions(body: EvaluationData) -> None:
    for fact in metric_facts(body).values():
        words = f"{get_metric(fact.metric).plain} {fact.definition}"
        st.markdown(f"**{plain(fact.directed_label)}**: {plain(words)}")
    for name in names_of(body):
        if name.startswith(REVERSED):
            continue
        try:
            method = get_method(parse_spec(name).method)
        except RequestError:  # the name of a file
            st.markdown(f"**{plain(name)}**: scores that were made elsewhere.")
        else:
            words = f"{method.plain} {method.definition} ({method.source})"
            st.markdown(f"**{plain(shown_name(name))}**: {plain(words)}")
    st.markdown("**Reversed**: the scores of a method with the opposite sign, a control that should do badly.")


_SECTION = SetSection(PAGE, question, open_alone)


def result_of(answer: Answer) -> AnalysisResult[EvaluationData] | None:
    """Return the result for readers: see :func:`explainlab.analyses.evaluation.result.shown`."""
    return None if answer.result is None else cached_for(answer.result, shown, answer.result)


def evaluated_set(view: BenchmarkView, answers: Sequence[Answer]) -> EvaluatedSet:
    """Return the cells of ``view`` with their ``answers``."""
    return set_of(EvaluatedSet, view.cells, answers, result_of)


def draw_set(service: Service, view: BenchmarkView, answers: Sequence[Answer]) -> None:
    """Draw all finished cells, and the progress of the others."""
    evaluated = evaluated_set(view, answers)
    if evaluated.done or all(answer.problem for answer in answers):
        _SECTION.draw_words(set_overview(evaluated), _files(evaluated) if evaluated.done else ())
        st.markdown("\n".join(f"* {plain(words)}" for words in set_paragraphs(evaluated)))
    _SECTION.draw_state(service, answers)
    if evaluated.done:
        _draw_figures(evaluated)
        st.header("Models by methods", anchor=False)
        _SECTION.keep_known("by", list(evaluated.measures))
        question.select("Metric", "by", {name: fact.directed_label for name, fact in evaluated.measures.items()})
        _SECTION.draw_table(evaluated, question.now("by"))
    elif any(answer.running for answer in answers):
        st.skeleton(height=320)
    _SECTION.draw_list(evaluated, {"Best": partial(_best, evaluated)})
    if evaluated.done:
        draw_published(evaluated)


def _files(evaluated: EvaluatedSet) -> list[File]:
    def sentences() -> list[str]:
        return [set_overview(evaluated), *set_paragraphs(evaluated)]

    def page() -> str:
        more = [*share_charts(evaluated), beside_published(beside_best(evaluated.cells))]
        return set_html("Benchmark", sentences(), evaluated, more)

    def record() -> str:
        shares = [row.model_dump(mode="json") for row in set_shares(evaluated)]
        return set_json(evaluated, sentences(), **({"shares": shares} if shares else {}))

    return [
        ("CSV", lambda: set_csv(set_rows(evaluated)), "benchmark.csv", "text/csv"),
        ("JSON", record, "benchmark.json", "application/json"),
        ("HTML", page, "benchmark.html", "text/html"),
        ("LaTeX", lambda: set_latex(evaluated, share_tables(evaluated)), "benchmark.tex", "application/x-tex"),
    ]


def _draw_figures(evaluated: EvaluatedSet) -> None:
    """Draw one figure a metric, on one of the data sets."""
    sources = evaluated.data
    _SECTION.keep_known("on", list(sources))
    single = len(evaluated.groups) == 1
    st.header("By data set" if single else "By model", anchor=False)
    if len(sources) > 1 and not single:
        question.select("Data set", "on", sources)
    for metric in evaluated.measures:
        _SECTION.draw_figure(evaluated, metric)
    for chart in drawn(evaluated, _share_charts):
        draw_chart(chart, f"benchmark_{chart.name}", help=explained("", "rationale"))


def _share_charts(evaluated: EvaluatedSet) -> list[Chart]:
    return [*share_charts(evaluated)]


def _best(evaluated: EvaluatedSet, cell: SetCell) -> str:
    """Return the method of a cell that beats all others by the chosen metric; empty for none."""
    best = evaluated.winner(cell, question.now("by"))
    return shown_name(best) if best else ""


_PUBLISHED_HELP = (
    "Tables of papers in their own layout. The models and the texts are not the same: what differs is said below."
)


def draw_published(evaluated: EvaluatedSet) -> None:
    """Draw a table of a paper beside our numbers, from all finished cells."""
    key = f"{NAME}_published_open"
    section = st.expander("Beside the published", icon=":material/menu_book:", key=key, on_change="rerun")
    if not section.open:
        return
    with section:
        tables = paper_tables()
        keep_known("published", list(tables), drawn(evaluated, _best_published))
        names = {name: f"{table.source}, {table.title}" for name, table in tables.items()}
        question.select("Published table", "published", names, _PUBLISHED_HELP)
        name = question.now("published")
        beside = _beside(evaluated, name)
        if is_narrow():
            for note in beside.differences:
                st.caption(plain(note))
        else:
            chart = drawn(evaluated, _chart, name)
            files = [("LaTeX", partial(published_latex, beside), f"{chart.name}.tex", "application/x-tex")]
            draw_chart(chart, f"{NAME}_beside", help=explained(_PUBLISHED_HELP, "interval"), files=files)
        _draw_published_table(drawn(evaluated, _rows, name))


def _best_published(evaluated: EvaluatedSet) -> str:
    return beside_best(evaluated.cells).table.id


def _beside(evaluated: EvaluatedSet, name: str) -> Beside:
    return Beside(paper_tables()[name], evaluated.cells)


def _chart(evaluated: EvaluatedSet, name: str) -> Chart:
    return beside_published(_beside(evaluated, name))


def _rows(evaluated: EvaluatedSet, name: str) -> list[dict[str, Any]]:
    return sorted(published_rows(_beside(evaluated, name)), key=lambda row: row["mean"] is None)


def _draw_published_table(rows: Sequence[dict[str, Any]]) -> None:
    """Draw the same with a line a number, to sort and for the keyboard; lines with a number of ours first."""
    shown = [
        {
            "Method": row["method"],
            "Metric": row["metric"],
            "Published": row["published"],
            "Ours": row["mean"],
            "Low": row["low"],
            "High": row["high"],
            "Model": row["model"],
            "Data": row["data"],
            "To run": row["to_run"] or "",
        }
        for row in rows
    ]
    numbers = {name: st.column_config.NumberColumn(format="%.3f") for name in ("Published", "Ours", "Low", "High")}
    frame = pd.DataFrame(shown).astype(dict.fromkeys(numbers, float))
    st.dataframe(frame, hide_index=True, column_config={**numbers, "To run": st.column_config.Column(width="large")})
