"""The state of the Sanity page."""

from __future__ import annotations

from explainlab.app.page import AnalysisPage
from explainlab.app.pages.sanity import controls
from explainlab.app.pages.sanity.view import SanityView, first_view, shows
from explainlab.app.place import Place

PAGE = AnalysisPage(
    controls.PAGE,
    question=controls.question,
    record=SanityView,
    first=first_view,
    seed=controls.seed_controls,
    draft=controls.draft,
    button="Check",
    drawn=controls.DRAWN,
    shows=shows,
)
TEXT = Place("sanity.text")
"""The maps of the open text."""
ATTACK = Place("sanity.attack")
"""Attacks on the maps of the data set, once requested."""
SUBSTITUTION = Place("sanity.substitution")
"""Words replaced against the maps of the data set, once requested."""
STABILITY = Place("sanity.stability")
"""Maps of texts that are nearly the same, once requested."""
AXIOMS = Place("sanity.axioms")
"""Maps of functions made of the model, once requested."""
