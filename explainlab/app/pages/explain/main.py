"""The Explain page: its choices, and the answers of the methods that the model can run."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.app.page import AnalysisPage
from explainlab.app.pages.explain import beliefs, controls, trust
from explainlab.app.pages.explain.view import View, first_view, shows
from explainlab.app.place import Answer
from explainlab.attribution.registry import complete_method
from explainlab.models.loading import ModelCard
from explainlab.request import Request
from explainlab.service.service import Service

PAGE = AnalysisPage(
    controls.PAGE,
    question=controls.question,
    record=View,
    first=first_view,
    seed=controls.seed_controls,
    draft=controls.draft,
    button="Explain",
    drawn=("palette", "scale", "top", "masked"),
    shows=shows,
)


def unsupported(requests: Sequence[Request], card: ModelCard | None) -> dict[int, str]:
    """By its place, why each of ``requests`` that the model of ``card`` cannot run is refused."""
    if card is None:
        return {}
    chosen = [complete_method(request.question, request.parameters) for request in requests]
    reasons = {i: method.unsupported(card.architecture) for i, method in enumerate(chosen)}
    return {i: reason for i, reason in reasons.items() if reason}


def answer(service: Service, requests: Sequence[Request], shown: Sequence[Request]) -> list[Answer]:
    """The answers to ``requests``; sections forget what they asked about maps that are not among those ``shown``."""
    trust.give_up_others(service, shown)
    beliefs.give_up_others(service, shown)
    return [PAGE.answer(service, request) for request in requests]
