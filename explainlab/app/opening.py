"""The page that shows a run's request, and its view."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

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
    """The page and view for the answer to ``request``; None if no page shows it, or it is not accepted any more.

    A page whose view cannot say all of the request would show the answer to another one.
    """
    for entry, page in analysis_pages().items():
        with suppress(RequestError):
            view = page.shows(complete(request))
            if view is not None and _decided(request) in map(_decided, view.shown_requests()):
                return ShownBy(entry, view)
    return None


def _decided(request: Request) -> dict[str, Any]:
    """What decides the result of ``request``: which rows, and how many, does not decide that of a single text."""
    fields = complete(request).model_dump()
    if request.text is not None:
        fields["parameters"] = {k: v for k, v in fields["parameters"].items() if k not in ("rows", "sample")}
    return fields
