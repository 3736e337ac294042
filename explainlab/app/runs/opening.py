"""The page that shows a run's request, and its view."""

from __future__ import annotations

from dataclasses import dataclass

from explainlab.analyses.registry import complete
from explainlab.app.entries import PageEntry, analysis_pages
from explainlab.app.view import AnalysisView
from explainlab.errors import RequestError
from explainlab.request import Request


@dataclass(frozen=True)
class ShownBy:
    """A page, and the view with which it shows a request."""

    entry: PageEntry
    view: AnalysisView


def page_of(request: Request) -> ShownBy | None:
    """The page and view for the answer to ``request``; None if no page shows it, or it is not accepted any more."""
    try:
        whole = complete(request)
    except RequestError:
        return None
    views = ((entry, page.shows(whole)) for entry, page in analysis_pages().items())
    return next((ShownBy(entry, view) for entry, view in views if view is not None), None)
