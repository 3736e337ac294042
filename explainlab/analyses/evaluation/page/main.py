"""The state of the Benchmark page: its answer, and what its file lacks."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from explainlab.analyses.evaluation.page import controls
from explainlab.analyses.evaluation.page.view import BenchmarkView, first_view, shows
from explainlab.analyses.registry import complete, get_analysis
from explainlab.app import session
from explainlab.app.data.reading import is_there
from explainlab.app.page import AnalysisPage
from explainlab.app.place import Answer
from explainlab.app.text import plain
from explainlab.data import without_marks
from explainlab.data.files import column_names
from explainlab.errors import DataError, ExplainLabError, RequestError
from explainlab.service import file_tasks
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
_ELSE = "Or name the column under File, columns and labels."


def find(service: Service, view: BenchmarkView) -> list[Answer]:
    """The answers that ``view`` shows: of every cell."""
    if not view.source:
        problem = RequestError("No data set is chosen.", "Choose the embedded examples, or type the path of a file.")
        return [Answer(problem=str(problem))]
    if len(view.cells) > 1:
        return PAGE.answer_set(service, view.text_requests())
    return [PAGE.answer(service, view.request())]


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
    task, names = file_tasks.preview(view.source, session.user(), view.columns), column_names(view.columns)
    if not is_there(task):
        return []
    name, columns = file_tasks.source_name(view.source, session.user()), task.answer().columns
    return [without_marks(name, role, view.columns) for role in roles if names[role] not in columns]
