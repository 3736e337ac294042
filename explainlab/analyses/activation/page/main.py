"""The Activation page: its choices, and what a data set will cost."""

from __future__ import annotations

from explainlab.analyses.activation.page import controls
from explainlab.analyses.activation.page.view import SAMPLES, ActivationView, first_view, shows
from explainlab.app.page import AnalysisPage
from explainlab.app.place import Answer

PAGE = AnalysisPage(
    controls.PAGE,
    question=controls.question,
    record=ActivationView,
    first=first_view,
    seed=controls.seed_controls,
    draft=controls.draft,
    button="Reveal",
    drawn=("palette",),
    shows=shows,
)


def cost_words(view: ActivationView, answer: Answer) -> str:
    """What the data set's study will cost, in Markdown, by what the text's has cost in the answer ``answer``."""
    compares = answer.result is not None and controls.question.now("reference")
    return PAGE.cost_by_text(view, answer, SAMPLES * answer.result.body.features_revealed if compares else 0)
