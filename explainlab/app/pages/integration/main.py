"""The Integration page: its choices."""

from __future__ import annotations

from explainlab.app.page import AnalysisPage
from explainlab.app.pages.integration import controls
from explainlab.app.pages.integration.view import IntegrationView, first_view, shows

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
