"""Answers that only a press of the page's button computes: who opens a link trains nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from explainlab.app import session
from explainlab.app.page import AnalysisPage
from explainlab.app.place import Place
from explainlab.app.view import AnalysisView
from explainlab.errors import ExplainLabError
from explainlab.service.resolved import resolve
from explainlab.service.service import Service


@dataclass(frozen=True)
class Pressed(Place):
    """Where the answers of a ``page`` are asked. Its view is the one that was asked last."""

    page_of: AnalysisPage

    def press(self, service: Service) -> None:
        """Ask what the controls describe (a callback); the next run of the page says what is wrong with it."""
        with suppress(ExplainLabError):
            view = self.page_of.draft()
            view.requests()  # raises for what cannot be asked
            self.page_of.fold_where_narrow()
            self.page_of.ask(service, view)
            self.ask(service, view)

    def settle(self, service: Service) -> Any:
        """The view to show: that of the controls, unless its answers are not there and another one was asked for.

        Raises :class:`ExplainLabError` for controls that describe none.
        """
        page, user = self.page_of, session.user()
        view = draft = page.draft()
        requests = draft.requests()
        session.take_along(page.name, draft.carried(), page.first().carried())
        asked = self.view.requests() if self.view else []
        if (
            asked
            and list(asked) != list(requests)
            and not all(service.has(resolve(request, user)) for request in requests)
        ):
            shown = self.view if isinstance(self.view, AnalysisView) else page.shows(asked[0])
            if shown is not None:
                view = shown.model_copy(update={name: getattr(draft, name) for name in page.drawn})
        page.redraw(view)
        page.entitle(view)
        return view
