"""The page that shows a run's request, and its view."""

from __future__ import annotations

from dataclasses import dataclass

from explainlab.app.entries import PageEntry, analysis_pages
from explainlab.app.view import AnalysisView
from explainlab.request import Request


@dataclass(frozen=True)
class ShownBy:
    """A page, and the view with which it shows a request."""

    entry: PageEntry
    view: AnalysisView


def page_of(request: Request) -> ShownBy | None:
    """The page and view for the answer to a complete ``request``; None if no page shows it."""
    views = ((entry, page.shows(request)) for entry, page in analysis_pages().items())
    return next((ShownBy(entry, view) for entry, view in views if view is not None), None)
