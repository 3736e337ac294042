"""The Candidates page: its choices."""

from __future__ import annotations

from explainlab.app.components import bring_into_view
from explainlab.app.page import AnalysisPage
from explainlab.app.pages.candidates import controls
from explainlab.app.pages.candidates.view import CandidatesView, first_view, shows
from explainlab.service.service import Service

OPENED = "candidates_opened"
"""The container of the open map."""

PAGE = AnalysisPage(
    controls.PAGE,
    question=controls.question,
    record=CandidatesView,
    first=first_view,
    seed=controls.seed_controls,
    draft=controls.draft,
    button="Draw candidates",
    drawn=controls.DRAWN,
    shows=shows,
)


def ask_text(service: Service) -> None:
    """Ask about the text, with no candidate picked yet (a callback)."""
    pick(None)
    PAGE.ask_text(service)


def open_text(service: Service, text: str, pair: str | None) -> None:
    """Put a text of the data set into the section above and ask about it (a callback)."""
    pick(None)
    PAGE.open_text(service, text, pair)


def pick(candidate: int | None) -> None:
    """Open the map of a candidate and go to it (a callback); None: of the best."""
    controls.question.set("picked", candidate)
    if candidate is not None:
        bring_into_view(OPENED)
