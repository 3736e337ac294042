"""The answer of several cells: in words, as figures over the models, as a table, and cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from explainlab.analyses.evaluation.page.controls import keep_known, open_alone, question
from explainlab.analyses.evaluation.page.further import drawn, set_of
from explainlab.analyses.evaluation.page.main import PAGE
from explainlab.analyses.evaluation.page.published import draw_published
from explainlab.analyses.evaluation.page.view import BenchmarkView
from explainlab.analyses.evaluation.published.figure import beside_published
from explainlab.analyses.evaluation.published.matching import beside_best
from explainlab.analyses.evaluation.sets.export import set_csv, set_html, set_json, set_latex
from explainlab.analyses.evaluation.sets.figures import by_model, weights_words
from explainlab.analyses.evaluation.sets.records import EvaluatedSet
from explainlab.analyses.evaluation.sets.table import models_by_methods, row_name, set_cells, set_means
from explainlab.analyses.evaluation.sets.verdict import set_overview, set_paragraphs
from explainlab.analyses.evaluation.table import best_row
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.app.chart import File, draw_cells, draw_chart, draw_files, theme
from explainlab.app.components import is_narrow
from explainlab.app.place import Answer
from explainlab.app.progress import draw_jobs
from explainlab.app.text import plain
from explainlab.app.words.terms import explained
from explainlab.service.service import Service

_FIGURE_HELP = (
    "A line or a colour a method. The bands are 95% intervals: over texts, or over models that share a recipe."
)
_TABLE_HELP = "Press a cell to open the benchmark of that model alone; so does a row of the list of cells below."
_STATES = {"done": "done", "failed": "no result", "waiting": "waiting"}
_TABLE, _LIST = "benchmark_set_table", "benchmark_set_cells"


def draw_set(service: Service, view: BenchmarkView, answers: Sequence[Answer]) -> None:
    """All that there is of the cells so far, and how the others are getting on."""
    evaluated = set_of(view, answers)
    if evaluated.done or all(answer.problem for answer in answers):
        _draw_words(evaluated)
    _draw_state(service, answers)
    if evaluated.done:
        _draw_figures(evaluated)
        _draw_table(evaluated)
    elif any(answer.running for answer in answers):
        st.skeleton(height=320)
    _draw_cells(evaluated)
    if evaluated.done:
        draw_published(evaluated)


def _draw_words(evaluated: EvaluatedSet) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**{plain(set_overview(evaluated))}**", width="stretch")
        if evaluated.done:
            with st.popover("Export all cells", icon=":material/download:", key="benchmark_set_export"):
                draw_files(_files(evaluated), "benchmark_set")
    if evaluated.done:
        st.markdown("\n".join(f"* {plain(words)}" for words in set_paragraphs(evaluated)))


def _files(evaluated: EvaluatedSet) -> list[File]:
    def page() -> str:
        return set_html(evaluated, [beside_published(beside_best(evaluated.cells))])

    return [
        ("CSV", partial(set_csv, evaluated), "benchmark.csv", "text/csv"),
        ("JSON", partial(set_json, evaluated), "benchmark.json", "application/json"),
        ("HTML", page, "benchmark.html", "text/html"),
        ("LaTeX", partial(set_latex, evaluated), "benchmark.tex", "application/x-tex"),
    ]


def _draw_state(service: Service, answers: Sequence[Answer]) -> None:
    """The job of the set while it runs or where it was stopped; else a button, where cells have failed in it."""
    job = next((answer.job for answer in answers if answer.job is not None), None)
    if job is None:
        return
    if job.progress.status != "done":
        draw_jobs(service, [job], PAGE)
    elif any(answer.job is job and answer.problem for answer in answers):
        failed = sum(isinstance(outcome, str) for outcome in job.outcomes)
        label = f"Run {'the cell that' if failed == 1 else f'the {failed} cells that'} failed again"
        st.button(label, icon=":material/replay:", on_click=PAGE.submit_again, args=(job,), key="benchmark_set_again")


def _draw_figures(evaluated: EvaluatedSet) -> None:
    """One figure a metric, on one of the data sets."""
    sources = evaluated.data
    keep_known("on", list(sources), next(iter(sources)))
    single = len(evaluated.groups) == 1
    st.header("By data set" if single else "By model", anchor=False)
    if len(sources) > 1 and not single:
        question.select("Data set", "on", sources)
    for metric in evaluated.metrics:
        chart = drawn(evaluated, by_model, metric, question.now("on"))
        if chart.rows:
            draw_chart(chart, f"benchmark_by_model_{metric}", help=explained(_FIGURE_HELP, "interval"))


def _draw_table(evaluated: EvaluatedSet) -> None:
    """Models by methods for the metric that is chosen."""
    st.header("Models by methods", anchor=False)
    keep_known("by", list(evaluated.metrics), next(iter(evaluated.metrics)))
    question.select("Metric", "by", {name: fact.directed_label for name, fact in evaluated.metrics.items()})
    metric = question.now("by")
    if not set_means(evaluated, metric):
        st.info("No method has a value by this metric.", icon=":material/info:")
        return
    if is_narrow():
        _draw_means(evaluated, metric)
        return
    draw_cells(
        drawn(evaluated, models_by_methods, metric),
        drawn(evaluated, set_cells, metric, theme() == "dark"),
        _TABLE,
        (metric,),
        lambda cell: open_alone(cell["model"], cell["data"]),
        explained(_TABLE_HELP, "interval", "random-map"),
    )
    sorting = st.expander(
        "Models by methods, to sort", icon=":material/table:", key=f"{_TABLE}_sorted", on_change="rerun"
    )
    if sorting.open:
        with sorting:
            _draw_means(evaluated, metric)


def _draw_means(evaluated: EvaluatedSet, metric: str) -> None:
    """The means alone."""
    rows = [
        {"Model": row_name(evaluated, row), **{shown_name(mean.method): mean.value.mean for mean in means}}
        for row, means in set_means(evaluated, metric)
    ]
    numbers = {shown_name(name): st.column_config.NumberColumn(format="%.3f") for name in evaluated.methods}
    st.dataframe(pd.DataFrame(rows), hide_index=True, height="content", column_config=numbers)


def _draw_cells(evaluated: EvaluatedSet) -> None:
    """Every cell with its state; one that is picked opens as a benchmark of its own."""

    def picked() -> None:
        for row in st.session_state[_LIST].selection.rows:
            cell = evaluated.cells[row]
            open_alone(cell.model.id, cell.data)

    st.header("Cells", anchor=False, help="Pick one to open its own benchmark, with its texts and tests.")
    rows = [
        {
            "Model": cell.model.name,
            "Architecture": cell.model.family,
            "Parameters": weights_words(cell.model.weights) if cell.model.weights else "",
            "Data set": cell.data_name,
            "State": _STATES[cell.status],
            "Texts": f"{cell.result.body.n:,}" if cell.result else "",
            "Best": _best(evaluated, cell.model.id, cell.data),
            "Reason": cell.reason,
        }
        for cell in evaluated.cells
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height="content",
        key=_LIST,
        on_select=picked,
        selection_mode="single-row",
        column_config={"Reason": st.column_config.TextColumn(width="large")},
        alt=f"{len(rows)} cells, a model on a data set each; pick one to open its own benchmark.",
    )


def _best(evaluated: EvaluatedSet, model: str, data: str) -> str:
    """The best method of a cell by the metric that is chosen."""
    body, metric = evaluated.bodies.get((model, data)), question.now("by")
    best = best_row(body, metric) if body else None
    return "" if best is None else shown_name(best.method)
