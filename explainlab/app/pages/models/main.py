"""The state of the Models page: the training that was asked for, and the models of the user."""

from __future__ import annotations

from explainlab.app import session
from explainlab.app.making.pressed import Pressed
from explainlab.app.page import AnalysisPage
from explainlab.app.pages.models import controls
from explainlab.app.pages.models.view import ModelsView, first_view, shows
from explainlab.app.place import Answer, Requests
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
TRAINING = Pressed("models.training", PAGE)
"""The training that a press has asked for: opening a link makes no model."""


def answer(service: Service, view: ModelsView) -> Answer | None:
    """The models that ``view`` describes, the job that makes them, or None: neither is there."""
    return TRAINING.answer_if_requested(service, view.request())


def delete(service: Service, model_id: str) -> None:
    """Delete a model (a callback), and forget the training that is shown if it made it."""
    asked = next(iter(TRAINING.view.requests()), None) if TRAINING.view else None
    result = asked and service.find(asked, session.user())
    service.delete_made(model_id, session.user())
    if result and service.find(result.request, session.user()) is None:
        TRAINING.ask(service, Requests())
