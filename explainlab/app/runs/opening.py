"""The page that shows a run's question, and its view of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from explainlab.analyses.activation.analysis import Activation
from explainlab.analyses.activation.page import view as activation_view
from explainlab.analyses.candidates.analysis import RpiCandidates
from explainlab.analyses.candidates.page import view as candidates_view
from explainlab.analyses.errors.analysis import Predictions
from explainlab.analyses.errors.page.view import ErrorsView
from explainlab.analyses.explain.page.view import Choice, View
from explainlab.analyses.integration.analysis import IntegrationError
from explainlab.analyses.integration.page import view as integration_view
from explainlab.analyses.mistake_drivers.analysis import MistakeDrivers
from explainlab.analyses.path_gradients.analysis import PathGradients
from explainlab.analyses.trust.analysis import Trust
from explainlab.app.frame import PAGES, PageEntry
from explainlab.request import Request, checked
from explainlab.service.questions import Question


@dataclass(frozen=True)
class ShownBy:
    """The page that shows a question, and what it has to show for that."""

    entry: PageEntry
    view: BaseModel


@dataclass(frozen=True)
class _StudyPage:
    """Of a study: its page's file, the record of its view, how the page opens, and what a data set has of its own."""

    file: str
    record: type[BaseModel]
    first: Callable[[], Any]
    data: tuple[str, ...]


_INTEGRATION = (integration_view.IntegrationView, integration_view.first_view, ("rows", "steps", "rules"))
_PAGES = {
    IntegrationError.id: _StudyPage("integration.py", *_INTEGRATION),
    PathGradients.id: _StudyPage("integration.py", *_INTEGRATION[:2], ("rows",)),
    RpiCandidates.id: _StudyPage(
        "candidates.py", candidates_view.CandidatesView, candidates_view.first_view, ("rows",)
    ),
    Activation.id: _StudyPage(
        "activation.py", activation_view.ActivationView, activation_view.first_view, ("rows", "reference")
    ),
}


def page_of(question: Question) -> ShownBy | None:
    """Where ``question`` is shown; None for one that no page shows."""
    if isinstance(question, Request):
        return _explain(question, question.question, question.parameters)
    if question.question == Trust.id and question.text is not None:
        return _explain(question, question.parameters["method"], question.parameters["settings"])
    if question.question in (Predictions.id, MistakeDrivers.id):
        return _errors(question)
    page = _PAGES.get(question.question)
    return page and ShownBy(_entry(page.file), _study_view(page, question))


def _explain(question: Question, method: str, parameters: dict[str, Any]) -> ShownBy:
    asked = question.model_dump(include=View.model_fields.keys() - {"methods"})
    return ShownBy(
        _entry("explain.py"), checked(View, **asked, methods=(Choice(method=method, parameters=parameters),))
    )


def _errors(question: Request) -> ShownBy:
    asked = question.model_dump(include={"model", "dtype", "columns", "classes"})
    asked |= {"source": question.data, "rows": question.parameters["rows"]}
    if question.question == MistakeDrivers.id:
        asked["drivers"] = question.parameters["method"]
    return ShownBy(_entry("errors.py"), checked(ErrorsView, **asked))


def _study_view(page: _StudyPage, question: Request) -> BaseModel:
    """The page's first view with all that the question has a say in; a data set's text is the first view's."""
    parameters = {
        name: ",".join(map(str, value)) if name == "steps" and isinstance(value, list) else value
        for name, value in question.parameters.items()
    }
    fields = page.record.model_fields
    asked = {name: value for name, value in question.model_dump().items() if name in fields and name != "data"}
    asked |= {name: value for name, value in parameters.items() if name in fields}
    if question.question == PathGradients.id:
        compared = question.parameters["steps"]
        asked |= {"steps": integration_view.FIRST, "compare": (compared[0], compared[-1])}
    if question.data is not None:
        asked["data"] = {"source": question.data, **{name: parameters[name] for name in page.data}}
        asked |= {"text": page.first().text, "text_pair": None}
    return checked(page.record, **asked)


def _entry(file: str) -> PageEntry:
    return next(entry for entry in PAGES if entry.file == file)
