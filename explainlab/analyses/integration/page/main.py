"""The Integration page: its choices."""

from __future__ import annotations

from explainlab.analyses.integration.page import controls
from explainlab.analyses.integration.page.view import IntegrationView, first_view, shows
from explainlab.app.page import AnalysisPage

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
