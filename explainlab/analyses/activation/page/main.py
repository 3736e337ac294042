"""The Activation page: its choices, and what a data set will cost."""

from __future__ import annotations

from explainlab.analyses.activation.page import controls
from explainlab.analyses.activation.page.view import SAMPLES, ActivationView, first_view, shows
from explainlab.app.page import AnalysisPage
from explainlab.app.place import Answer
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError

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
    try:
        draft = PAGE.draft()
    except ExplainLabError as error:
        return plain(str(error))
    if answer.result is None or not draft.same_setting(view):
        return f"Press **{PAGE.button}** to see what these settings cost for one text."
    cost, features = answer.result.cost, answer.result.body.features_revealed
    passes = cost.forward + cost.backward
    each = passes + (SAMPLES * features if draft.data.reference else 0)
    return PAGE.cost_words("passes", ", if they are as long as the text above", cost.seconds / passes, each)
