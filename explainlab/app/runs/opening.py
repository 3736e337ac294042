"""The page that shows a run's request, and its view of it."""

from __future__ import annotations

from dataclasses import dataclass

from explainlab.app.entries import PageEntry, analysis_pages
from explainlab.app.view import AnalysisView
from explainlab.request import Request


@dataclass(frozen=True)
class ShownBy:
    """The page that shows a request, and the view that it has to show for that."""

    entry: PageEntry
    view: AnalysisView


def page_of(request: Request) -> ShownBy | None:
    """Where the answer to a complete ``request`` is shown; None for one that no page shows."""
    views = ((entry, page.shows(request)) for entry, page in analysis_pages().items())
    return next((ShownBy(entry, view) for entry, view in views if view is not None), None)
