"""The form of the Errors page: a data set, the filters of its rows, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st
from pydantic import Field

from explainlab.analyses.errors.analysis import Predictions
from explainlab.analyses.mistake_drivers.analysis import MistakeDrivers
from explainlab.analyses.registry import requirements
from explainlab.app.components import bring_into_view
from explainlab.app.data_set import data_choice, data_controls
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question, card_of, chip, supported_methods
from explainlab.app.view import DataView
from explainlab.attribution.registry import complete, methods, parse_spec
from explainlab.figures.palette import DEFAULT, PaletteName
from explainlab.models.loading import ModelCard
from explainlab.request import Dtype, Output, Request, Unit, digest, validated

Show = Literal["mistakes", "all"]
Sort = Literal["loss", "confident", "unsure", "long", "short", "row"]


class ErrorsView(DataView):
    """Predictions of a data set, the rows let through and in which order, and the row that is open.

    ``true`` and ``predicted`` are class names (empty: any), ``search`` is looked for in the texts, ``numbers`` (empty:
    all) are the rows that a word was pressed for; ``row`` is None for the first that is let through; ``edit`` and
    ``edit_pair`` are its text, edited. ``method`` explains it, ``drivers`` (a method, options after colons) all that is
    wrong, and ``hide_function_words`` folds words such as "the" away there.
    """

    page: Literal["errors"] = "errors"
    rows: int = Field(10_000, ge=1)
    dtype: Dtype = "float32"
    show: Show = "mistakes"
    true: str = ""
    predicted: str = ""
    search: str = ""
    numbers: tuple[int, ...] = ()
    sort: Sort = "loss"
    row: int | None = Field(None, ge=1)
    edit: str | None = None
    edit_pair: str | None = None
    method: str = "integrated_gradients"
    output: Output = "probability"
    unit: Unit = "token"
    palette: PaletteName = DEFAULT
    drivers: str = MistakeDrivers.Parameters().method
    hide_function_words: bool = False

    def request(self) -> Request:
        """Return the request for the predictions of the data set."""
        return self._request(Predictions.id)

    def drivers_request(self) -> Request:
        """Return the request for the drivers of the mistakes among them."""
        return self._request(MistakeDrivers.id, method=self.drivers)

    def shown_requests(self) -> list[Request]:
        return [*self.text_requests(), *([] if len(self.cells) > 1 else [self.drivers_request()])]

    def map_request(self, text: str, text_pair: str | None, target: str) -> Request:
        """Return the complete request for the map of a text against the class ``target``."""
        shared = self.model_dump(include={"model", "output", "unit", "dtype"})
        return complete(
            validated(Request, question=self.method, **shared, text=text, text_pair=text_pair, target=target)
        )

    def _request(self, study: str, **parameters: Any) -> Request:
        request = validated(Request, question=study, model=self.model, dtype=self.dtype, **self.subject)
        own = {"output": requirements(request).output, "parameters": {**self.drawn, **parameters}}
        return request.model_copy(update=own)


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


NAME = "errors"
ROWS, PICKED = "errors_shown_rows", "errors_picked"
"""The containers of the rows that the filters show, and of those of the picked driver."""
question = Question(NAME)

_ASKED = ("model", "dtype")
_FILTERS = ("show", "true", "predicted", "search", "numbers", "sort")
OF_ROW = ("row", "edit", "edit_pair", "method", "output", "unit", "palette")
_OPEN = (*_FILTERS, *OF_ROW, "drivers", "hide_function_words")
DRAWN = (*_OPEN, "by", "on")
_SHOWS = {"mistakes": "Mistakes", "all": "All rows"}
_SORTS = {
    "loss": "Largest loss first",
    "confident": "Most confident first",
    "unsure": "Least confident first",
    "long": "Longest first",
    "short": "Shortest first",
    "row": "As in the file",
}


def seed_controls(view: ErrorsView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in (*_ASKED, *_OPEN)}
    question.seed({**values, **data_controls(view)}, force)


def draft() -> ErrorsView:
    """Return the view that the controls describe now; raises ``RequestError`` for an invalid one."""
    return validated(ErrorsView, **{name: question.now(name) for name in (*_ASKED, *_OPEN)}, **data_choice(question))


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

    def change_model() -> None:
        question.keep_data(card_of(question.now("model") or ""))

    with st.container(horizontal=True, vertical_alignment="bottom"):
        card = question.draw_model(change_model)
    source, rows, button = st.columns([4, 4, 2], vertical_alignment="bottom")
    with source:
        question.draw_data(card)
    with rows:
        question.draw_rows()
    button.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="stretch")
    return card


def draw_filters(labels: Sequence[str]) -> None:
    """Draw the filters and the order of the rows."""
    show, true, predicted, search, sort = st.columns([2.2, 2, 2, 3, 2.4], vertical_alignment="bottom")
    with show:
        question.choose("Show", "show", _SHOWS)
    classes = {"": "Any", **{label: label for label in labels}}
    with true:
        _keep_known("true", classes)
        question.select("True class", "true", classes)
    with predicted:
        _keep_known("predicted", classes)
        question.select("Predicted class", "predicted", classes)
    with search:
        st.text_input(
            "Search",
            question.now("search"),
            key=question.key("search"),
            icon=":material/search:",
            placeholder="Part of a text, in capitals or not",
        )
    with sort:
        question.select("Order", "sort", _SORTS)


def draw_map_options(card: ModelCard | None) -> None:
    """Draw the controls of the maps of the open row."""
    method_column, output, unit, colours = st.columns([3, 2.4, 3, 2], vertical_alignment="bottom")
    known, able, current = methods(), supported_methods(card), question.now("method")
    with method_column:
        question.select("Method", "method", {name: known[name].label for name in dict.fromkeys([*able, current])})
    with output:
        question.draw_output()
    with unit:
        question.draw_unit()
    with colours:
        question.draw_palette()


def draw_drivers_method(card: ModelCard | None) -> None:
    """Draw the method that explains all mistakes: its scores have signs, and the model supports it."""
    able = [name for name, method in supported_methods(card).items() if method.is_signed(method.Parameters())]
    names = {name: chip(parse_spec, name) for name in dict.fromkeys([*able, question.now("drivers")])}
    question.select("Explain with", "drivers", names, "Methods whose scores speak for or against a class.")


def draw_function_words() -> None:
    """Draw the switch that hides function words among the drivers of mistakes."""
    st.toggle(
        "Hide function words",
        question.now("hide_function_words"),
        key=question.key("hide_function_words"),
        help="English words such as the, of or is, from a short list of our own; not, no and but stay.",
    )


def _keep_known(name: str, classes: dict[str, str]) -> None:
    """Reset a filter whose class this model does not have to any class."""
    if question.now(name) not in classes:
        question.set(name, "")


PAGE = AnalysisPage(
    NAME,
    question=question,
    record=ErrorsView,
    first=first_view,
    seed=seed_controls,
    draft=draft,
    button="Predict",
    drawn=DRAWN,
    shows=shows,
)
