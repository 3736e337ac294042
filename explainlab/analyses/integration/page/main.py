"""The Integration page: its choices, and the pace of its answers."""

from __future__ import annotations

from explainlab.analyses.integration.page import controls
from explainlab.analyses.integration.page.view import IntegrationView, first_view, shows
from explainlab.app.page import AnalysisPage
from explainlab.app.place import Answer

PAGE = AnalysisPage(
    controls.PAGE,
    question=controls.question,
    record=IntegrationView,
    first=first_view,
    seed=controls.seed_controls,
    draft=controls.draft,
    button="Integrate",
    drawn=("palette",),
    shows=shows,
)


def pace(*answers: Answer) -> float | None:
    """The fastest seconds per gradient in these answers (the first may have had to wait); None if unknown."""
    costs = [answer.result.cost for answer in answers if answer.result is not None]
    return min((cost.seconds / cost.backward for cost in costs if cost.backward), default=None)
