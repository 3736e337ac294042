"""The state of the ROAR page: the grid that was asked for, and the example that is shown while there is none."""

from __future__ import annotations

from explainlab.analyses.roar.grid import Grid
from explainlab.analyses.wording import counted
from explainlab.app import session
from explainlab.app.making.pressed import Pressed
from explainlab.app.page import AnalysisPage, cells_words
from explainlab.app.pages.roar import controls
from explainlab.app.pages.roar.view import RoarView, first_view, shows
from explainlab.app.place import Answer
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.service.service import Service

PAGE = AnalysisPage(
    controls.PAGE,
    question=controls.question,
    record=RoarView,
    first=first_view,
    seed=controls.seed_controls,
    draft=controls.draft,
    button="Train the grid",
    drawn=("minutes", "example", "by", "on"),
    shows=shows,
)
GRID = Pressed("roar.grid", PAGE)
"""The grid that a press has asked for: opening a link trains no model."""


def answer(service: Service, view: RoarView) -> Answer | None:
    """The grid that ``view`` describes, the job that trains it, or None: neither is there."""
    return GRID.answer_if_requested(service, view.request())


def answer_set(service: Service, view: RoarView) -> list[Answer]:
    """The grids of all cells of ``view``; what is not there is trained only where a press has asked for these cells."""
    requests = view.requests()
    try:
        job = service.engine.job(service.set_key(requests, session.user()))
    except ExplainLabError as error:
        return [Answer(problem=str(error))] * len(requests)
    asked = GRID.view is not None and GRID.view.requests() == requests
    if not asked and job is not None and session.user() in job.users and not job.progress.finished:
        GRID.ask(service, view, record=False)  # the page may have been loaded anew
        asked = True
    return GRID.answer_set(service, requests) if asked else [_stored(service, request) for request in requests]


def is_stale(view: RoarView) -> bool:
    """Whether the controls describe other grids than ``view``, which is shown."""
    return bool(PAGE.draft().requests() != view.requests())


def size_words() -> str:
    """How many models the controls ask for, in Markdown; empty where they describe no grid."""
    try:
        view = PAGE.draft()
        request = view.request()
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
    return words + cells_words(view) + (same if request.data == request.parameters["test"] else "")


def _stored(service: Service, request: Request) -> Answer:
    try:
        return Answer(service.find(request, session.user()))
    except ExplainLabError as error:
        return Answer(problem=str(error))
