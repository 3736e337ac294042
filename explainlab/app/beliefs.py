"""What a decoder believed on the way through a text: the section that the pages of texts have in common."""

from __future__ import annotations

from explainlab.analyses.intermediate_predictions.analysis import IntermediatePredictions
from explainlab.analyses.registry import complete
from explainlab.app.text import plain
from explainlab.models.loading import ModelCard
from explainlab.request import Request

_IGNORED = {"question", "parameters", "output", "seed"}


def beliefs_request(request: Request, masked: bool = False) -> Request:
    """The complete request for the predictions on the way through the text of ``request``.

    ``masked``: also for the text with the rest masked. It leaves out output and seed: the predictions depend on
    neither.
    """
    shared = request.model_dump(exclude=_IGNORED)
    return complete(Request(question=IntermediatePredictions.id, **shared, parameters={"masked": masked}))


def no_beliefs(card: ModelCard) -> str:
    """In Markdown, why the model of ``card`` has no predictions on the way; empty for a causal decoder."""
    reason = card.architecture.capabilities["causal decoder"]
    family = plain(card.architecture.family)
    return f"this {family} model cannot tell, as {reason} and reads the text as a whole." if reason else ""
