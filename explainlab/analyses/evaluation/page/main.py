"""The state of the Benchmark page: its answer, what it will cost, and what its file lacks."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.page import controls
from explainlab.analyses.evaluation.page.view import BenchmarkView, first_view, shows
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.parameters import metric_requests
from explainlab.analyses.registry import complete, get_analysis
from explainlab.analyses.wording import counted, duration
from explainlab.app import session
from explainlab.app.data.reading import is_there
from explainlab.app.page import AnalysisPage, cells_words
from explainlab.app.place import Answer
from explainlab.app.text import plain
from explainlab.data import without_marks
from explainlab.data.files import column_names
from explainlab.errors import DataError, ExplainLabError, RequestError
from explainlab.metrics.registry import get_metric
from explainlab.service import looks
from explainlab.service.service import Service

PAGE = AnalysisPage(
    controls.PAGE,
    question=controls.question,
    record=BenchmarkView,
    first=first_view,
    seed=controls.seed_controls,
    draft=controls.draft,
    button="Compare",
    drawn=controls.DRAWN,
    shows=shows,
)
_TYPICAL = 20
"""The features of a text for which the cost is told."""
_ELSE = "Or name the column under File, columns and labels."


def find(service: Service, view: BenchmarkView) -> list[Answer]:
    """The answers that ``view`` shows: of every cell."""
    if not view.source:
        problem = RequestError("No data set is chosen.", "Choose the embedded examples, or type the path of a file.")
        return [Answer(problem=str(problem))]
    if len(view.cells) > 1:
        return PAGE.answer_set(service, view.text_requests())
    return [PAGE.answer(service, view.request())]


def cost_words(view: BenchmarkView, result: AnalysisResult[EvaluationData] | None) -> str:
    """What the controls ask for, and how long it takes where ``result``, the answer to ``view``, tells; in Markdown."""
    try:
        draft = PAGE.draft()
        parameters = complete(draft.request()).parameters
        metrics = metric_requests(parameters["metrics"])
    except ExplainLabError:  # told above
        return ""
    maps = 2 * (len(parameters["methods"]) + len(parameters["attributions"])) - 1
    inputs = sum(get_metric(metric.metric).inputs(metric.parameters, _TYPICAL) for metric in metrics)
    rows = "all texts" if draft.sample == "all" else counted(draft.rows, "text")
    words = (
        f"**{counted(maps, 'map')} of each of {rows}**, controls included, by {counted(len(metrics), 'metric')}: "
        f"at most {counted(maps * inputs, 'perturbed text')} for a text of {_TYPICAL} tokens. Equal ones run once, and "
        "what was computed before is not computed again."
    )
    words += cells_words(draft)
    same = draft.model_copy(update={"rows": view.rows, "sample": view.sample}).request() == view.request()
    if result is not None and same and draft.sample != "all" and draft.rows > view.rows:
        more = draft.rows - result.body.n
        seconds = result.cost.seconds / result.body.n * more
        words += f" At the pace of the answer below: about {duration(seconds)} for the {more:,} more."
    return words


def draw_missing_marks(view: BenchmarkView) -> None:
    """Say what the controls' file lacks for their metrics, where ``view`` is not refused for it anyway."""
    with suppress(ExplainLabError):  # told where the data set is asked for
        draft = PAGE.draft()
        if draft.source != view.source or draft.metrics != view.metrics or draft.columns != view.columns:
            for error in _missing_marks(draft):
                st.warning(plain(f"{error} {_ELSE}"), icon=":material/rule:")


def _missing_marks(view: BenchmarkView) -> list[DataError]:
    """What the file of ``view`` does not give to the metrics; nothing while the file is read."""
    request = complete(view.request())
    analysis = get_analysis(request.question)
    roles = analysis.marks(analysis.parameters(request))
    if not roles or request.data is None:
        return []
    look, names = looks.preview(view.source, session.user()), column_names(view.columns)
    if not is_there(look):
        return []
    name, columns = looks.source_name(view.source, session.user()), look.answer().columns
    return [without_marks(name, role, view.columns) for role in roles if names[role] not in columns]
