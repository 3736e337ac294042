"""The state of the Models page: the training that was asked for, and the models of the user."""

from __future__ import annotations

from contextlib import suppress

from explainlab.analyses.training.page import ENTRY, controls
from explainlab.analyses.training.page.view import ModelsView, first_view, shows
from explainlab.app import session
from explainlab.app.frame import name_tab
from explainlab.app.page import AnalysisPage
from explainlab.app.place import Answer, Place, Requests
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.service import looks
from explainlab.service.service import Service

PAGE = AnalysisPage(
    controls.PAGE,
    question=controls.question,
    record=ModelsView,
    first=first_view,
    seed=controls.seed_controls,
    draft=controls.draft,
    button="Make the model",
    drawn=(),
    shows=shows,
)
TRAINING = Place("models.training")
"""The training that a press has asked for: opening a link makes no model."""


def ask(service: Service) -> None:
    """Make what the controls describe (a callback); the next run of the page says what is wrong with it."""
    with suppress(ExplainLabError):
        view = PAGE.draft()
        requests = tuple(view.requests())
        PAGE.ask(service, view)
        TRAINING.ask(service, Requests(requests))


def settle(service: Service) -> ModelsView:
    """The training to show: that of the controls, unless it is not there and another one was asked for.

    Raises :class:`ExplainLabError` for controls that describe none.
    """
    view: ModelsView = PAGE.draft()
    request = view.request()
    session.take_along(PAGE.name, view.carried(), first_view().carried())
    asked = _asked()
    if asked is not None and asked != request and not service.has(request, session.user()):
        view = shows(asked) or view
    PAGE.redraw(view)
    name_tab(ENTRY.title, looks.source_name(view.source, session.user()))
    return view


def answer(service: Service, view: ModelsView) -> Answer | None:
    """The models that ``view`` describes, the job that makes them, or None: neither is there."""
    return TRAINING.answer_if_requested(service, view.request())


def delete(service: Service, model_id: str) -> None:
    """Delete a model (a callback), and forget the training that is shown if it made it."""
    asked = _asked()
    result = asked and service.find(asked, session.user())
    service.delete_made(model_id, session.user())
    if result and service.find(result.request, session.user()) is None:
        TRAINING.ask(service, Requests())


def _asked() -> Request | None:
    return next(iter(TRAINING.view.requests()), None) if TRAINING.view else None
