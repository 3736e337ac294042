"""The Activation page: its choices."""

from __future__ import annotations

from explainlab.app.page import AnalysisPage
from explainlab.app.pages.activation import controls
from explainlab.app.pages.activation.view import ActivationView, first_view, shows

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
