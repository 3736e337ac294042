"""The state of the ROAR page: the grid that was asked for, and the example that is shown while there is none."""

from __future__ import annotations

from contextlib import suppress

from explainlab.analyses.roar.grid import Grid
from explainlab.analyses.roar.page import ENTRY, controls
from explainlab.analyses.roar.page.view import RoarView, first_view, shows
from explainlab.analyses.wording import counted
from explainlab.app import session
from explainlab.app.frame import name_tab
from explainlab.app.page import AnalysisPage
from explainlab.app.place import Answer, Place, Requests
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.service import looks
from explainlab.service.service import Service

PAGE = AnalysisPage(
    controls.PAGE,
    question=controls.question,
    record=RoarView,
    first=first_view,
    seed=controls.seed_controls,
    draft=controls.draft,
    button="Train the grid",
    drawn=("minutes",),
    shows=shows,
)
GRID = Place("roar.grid")
"""The grid that a press has asked for: opening a link trains no model."""


def ask(service: Service) -> None:
    """Train what the controls describe (a callback); the next run of the page says what is wrong with it."""
    with suppress(ExplainLabError):
        view = PAGE.draft()
        requests = tuple(view.requests())
        PAGE.ask(service, view)
        GRID.ask(service, Requests(requests))


def settle(service: Service) -> RoarView:
    """The grid to show: that of the controls, unless it is not there and another one was asked for.

    Raises :class:`ExplainLabError` for controls that describe none.
    """
    view: RoarView = PAGE.draft()
    request = view.request()
    session.take_along(PAGE.name, view.carried(), first_view().carried())
    asked = _asked()
    if asked is not None and asked != request and not service.has(request, session.user()):
        view = shows(asked) or view
    PAGE.redraw(view)
    name_tab(ENTRY.title, looks.source_name(view.source, session.user()))
    return view


def answer(service: Service, view: RoarView) -> Answer | None:
    """The grid that ``view`` describes, the job that trains it, or None: neither is there."""
    return GRID.answer_if_requested(service, view.request())


def is_stale(view: RoarView) -> bool:
    """Whether the controls describe another grid than ``view``, which is shown."""
    return bool(PAGE.draft().request() != view.request())


def size_words() -> str:
    """How many models the controls ask for, in Markdown; empty where they describe no grid."""
    try:
        request = PAGE.draft().request()
        parameters = controls.parameters(request)
    except ExplainLabError:  # told where the grid is asked for
        return ""
    grid, measures = Grid(parameters, request.seed), counted(len(parameters.requests), "measure")
    shared, models = len(grid.steps), counted(grid.distinct, "model")
    words = (
        f"**{models} to train**: {counted(parameters.seeds, 'seed')}, each with {shared} of random words, which all "
        f"measures share, and {grid.distinct // parameters.seeds - shared} of {measures}. What is trained stays."
    )
    same = " The test texts are the training texts: performance is not that on unseen texts."
    return words + (same if request.data == request.parameters["test"] else "")


def _asked() -> Request | None:
    return next(iter(GRID.view.requests()), None) if GRID.view else None
