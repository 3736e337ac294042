"""The form of the Errors page: a data set, the filters of its rows, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Literal

import streamlit as st
from pydantic import Field

from explainlab.analyses.errors.analysis import Predictions
from explainlab.analyses.mistake_drivers.analysis import MistakeDrivers
from explainlab.app.components import bring_into_view
from explainlab.app.controls import OUTPUT, PALETTE, REDRAW, UNIT, Control, Drawing, Form, RowCount
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question, chip, supported_methods
from explainlab.app.view import DataView
from explainlab.attribution.registry import complete, methods, parse_spec
from explainlab.figures.palette import DEFAULT, PaletteName
from explainlab.models.loading import ModelCard
from explainlab.request import Dtype, Output, Request, Unit, digest, validated

Show = Literal["mistakes", "all"]
Sort = Literal["loss", "confident", "unsure", "long", "short", "row"]


NAME = "errors"
ROWS, PICKED = "errors_shown_rows", "errors_picked"
"""The containers of the rows that the filters show, and of those of the picked driver."""
question = Question(NAME)
OF_ROW = ("row", "edit", "edit_pair", "method", "output", "unit", "palette")
_SHOW = Control(row="filters", width=2.2, options={"mistakes": "Mistakes", "all": "All rows"}, radio=True, redraw=True)
_SORTS = {
    "loss": "Largest loss first",
    "confident": "Most confident first",
    "unsure": "Least confident first",
    "long": "Longest first",
    "short": "Shortest first",
    "row": "As in the file",
}
_SEARCH = Control(
    row="filters", width=3, icon=":material/search:", placeholder="Part of a text, in capitals or not", redraw=True
)


def _classes(at: Drawing) -> dict[str, str]:
    return {"": "Any", **{label: label for label in at.labels}}


_CLASS = Control(row="filters", width=2, options=_classes, redraw=True)


def _methods(at: Drawing) -> dict[str, str]:
    """Return the methods that the model supports, and the one chosen."""
    known = methods()
    return {name: known[name].label for name in [*supported_methods(at.card), at.question.now("method")]}


def _signed(at: Drawing) -> dict[str, str]:
    """Return the methods that the model supports and whose scores have signs, and the one chosen."""
    able = [name for name, method in supported_methods(at.card).items() if method.is_signed(method.Parameters())]
    return {name: chip(parse_spec, name) for name in [*able, at.question.now("drivers")]}


_DRIVERS = Control(
    "Explain with",
    "Methods whose scores speak for or against a class.",
    row="drivers",
    options=_signed,
    redraw=True,
)
_FUNCTION_WORDS = Control(
    help="English words such as the, of or is, from a short list of our own; not, no and but stay.",
    row="function_words",
    redraw=True,
)


class ErrorsView(DataView):
    """Predictions of a data set, the rows let through and in which order, and the row that is open.

    ``true`` and ``predicted`` are class names (empty: any), ``search`` is looked for in the texts, ``numbers`` (empty:
    all) are the rows that a word was pressed for; ``row`` is None for the first that is let through; ``edit`` and
    ``edit_pair`` are its text, edited. ``method`` explains it, ``drivers`` (a method, options after colons) all that is
    wrong, and ``hide_function_words`` folds words such as "the" away there.
    """

    page: Literal["errors"] = "errors"
    rows: RowCount = 10_000
    dtype: Dtype = "float32"
    show: Annotated[Show, _SHOW] = "mistakes"
    true: Annotated[str, replace(_CLASS, label="True class")] = ""
    predicted: Annotated[str, replace(_CLASS, label="Predicted class")] = ""
    search: Annotated[str, _SEARCH] = ""
    numbers: Annotated[tuple[int, ...], REDRAW] = ()
    sort: Annotated[Sort, Control("Order", row="filters", width=2.4, options=_SORTS, redraw=True)] = "loss"
    row: Annotated[int | None, REDRAW, Field(ge=1)] = None
    edit: Annotated[str | None, REDRAW] = None
    edit_pair: Annotated[str | None, REDRAW] = None
    method: Annotated[str, Control(row="map", width=3, options=_methods, redraw=True)] = "integrated_gradients"
    output: Annotated[Output, replace(OUTPUT, row="map", width=2.4, redraw=True)] = "probability"
    unit: Annotated[Unit, replace(UNIT, row="map", width=3, redraw=True)] = "token"
    palette: Annotated[PaletteName, replace(PALETTE, row="map", width=2)] = DEFAULT
    drivers: Annotated[str, _DRIVERS] = MistakeDrivers.Parameters().method
    hide_function_words: Annotated[bool, _FUNCTION_WORDS] = False

    def request(self) -> Request:
        """Return the request for the predictions of the data set."""
        return self.asks(Predictions.id, self, output=None, unit="token")

    def drivers_request(self) -> Request:
        """Return the request for the drivers of the mistakes among them."""
        return self.asks(MistakeDrivers.id, self, output=None, unit="token", method=self.drivers)

    def shown_requests(self) -> list[Request]:
        return [*self.text_requests(), *([] if len(self.cells) > 1 else [self.drivers_request()])]

    def map_request(self, text: str, text_pair: str | None, target: str) -> Request:
        """Return the complete request for the map of a text against the class ``target``."""
        shared = self.model_dump(include={"model", "output", "unit", "dtype"})
        return complete(
            validated(Request, question=self.method, **shared, text=text, text_pair=text_pair, target=target)
        )


def first_view() -> ErrorsView:
    """Return the first view of the page: an embedded model and the examples that suit it."""
    return ErrorsView(model="embedded:bert-mini-sst2", source="embedded:sentiment", sample="random")


def shows(request: Request) -> ErrorsView | None:
    """Return the view that shows the answer to ``request``; None for the request of another analysis."""
    asks = request.question
    if asks not in (Predictions.id, MistakeDrivers.id):
        return None
    values = request.model_dump(include={"model", "dtype", "columns", "classes"})
    values |= {"source": request.data, **{name: request.parameters[name] for name in ("rows", "sample")}}
    if asks == MistakeDrivers.id:
        values["drivers"] = request.parameters["method"]
    return validated(ErrorsView, **values)


FORM = Form(question, ErrorsView)


def let_through(true: str = "", predicted: str = "", numbers: Sequence[int] = ()) -> None:
    """Show only these classes or rows (a callback); reset the search and the open row.

    Where both classes are equal, correct rows are shown too.
    """
    values = {"true": true, "predicted": predicted, "numbers": tuple(numbers), "search": ""}
    values["show"] = "all" if true and true == predicted else "mistakes"
    question.seed({**values, "row": None, "edit": None, "edit_pair": None}, force=True)


def pick(container: str, true: str = "", predicted: str = "", numbers: Sequence[int] = ()) -> None:
    """Show only the rows of what was pressed, and go to ``container``, which has them (a callback)."""
    let_through(true, predicted, numbers)
    bring_into_view(container)


def open_row(number: int) -> None:
    """Open a row of the file (a callback)."""
    question.seed({"row": number, "edit": None, "edit_pair": None}, force=True)


def of_row(name: str, view: ErrorsView, number: int) -> str:
    """Return the key of the control ``name`` of one row: rows of other data sets have controls of their own."""
    return question.key(f"{name}_{digest([view.source, number])[:8]}")


def draw_question(run: Callable[[], None], label: str) -> ModelCard | None:
    """Draw model and data set; a button with this ``label`` calls ``run`` to submit them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        card = question.draw_model_of_data()
    (button,) = FORM.columns("data", 2, card=card, run=run)
    button.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="stretch")
    return card


PAGE = AnalysisPage(NAME, form=FORM, first=first_view, button="Predict", shows=shows)
