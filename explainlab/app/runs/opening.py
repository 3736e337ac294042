"""The page that shows a run's request, and its view of it."""

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
from explainlab.analyses.registry import get_analysis
from explainlab.analyses.trust.analysis import Trust
from explainlab.app.frame import PAGES, PageEntry
from explainlab.request import Request, checked


@dataclass(frozen=True)
class ShownBy:
    """The page that shows a request, and what it has to show for that."""

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


def page_of(request: Request) -> ShownBy | None:
    """Where ``request`` is shown; None for one that no page shows."""
    if get_analysis(request.question).kind == "attribution":
        return _explain(request, request.question, request.parameters)
    if request.question == Trust.id and request.text is not None:
        return _explain(request, request.parameters["method"], request.parameters["settings"])
    if request.question in (Predictions.id, MistakeDrivers.id):
        return _errors(request)
    page = _PAGES.get(request.question)
    return page and ShownBy(_entry(page.file), _study_view(page, request))


def _explain(request: Request, method: str, parameters: dict[str, Any]) -> ShownBy:
    asked = request.model_dump(include=View.model_fields.keys() - {"methods"})
    return ShownBy(
        _entry("explain.py"), checked(View, **asked, methods=(Choice(method=method, parameters=parameters),))
    )


def _errors(request: Request) -> ShownBy:
    asked = request.model_dump(include={"model", "dtype", "columns", "classes"})
    asked |= {"source": request.data, "rows": request.parameters["rows"]}
    if request.question == MistakeDrivers.id:
        asked["drivers"] = request.parameters["method"]
    return ShownBy(_entry("errors.py"), checked(ErrorsView, **asked))


def _study_view(page: _StudyPage, request: Request) -> BaseModel:
    """The page's first view with all that the request has a say in; a data set's text is the first view's."""
    parameters = {
        name: ",".join(map(str, value)) if name == "steps" and isinstance(value, list) else value
        for name, value in request.parameters.items()
    }
    fields = page.record.model_fields
    asked = {name: value for name, value in request.model_dump().items() if name in fields and name != "data"}
    asked |= {name: value for name, value in parameters.items() if name in fields}
    if request.question == PathGradients.id:
        compared = request.parameters["steps"]
        asked |= {"steps": integration_view.FIRST, "compare": (compared[0], compared[-1])}
    if request.data is not None:
        asked["data"] = {"source": request.data, **{name: parameters[name] for name in page.data}}
        asked |= {"text": page.first().text, "text_pair": None}
    return checked(page.record, **asked)


def _entry(file: str) -> PageEntry:
    return next(entry for entry in PAGES if entry.file == file)
