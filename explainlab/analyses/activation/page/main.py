"""The Activation page: its choices."""

from __future__ import annotations

from explainlab.analyses.activation.page import controls
from explainlab.analyses.activation.page.view import ActivationView, first_view, shows
from explainlab.app.page import AnalysisPage

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
