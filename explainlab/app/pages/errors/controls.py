"""The controls of the Errors page: model and data set, which rows are shown, and how a row is explained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from explainlab.app.components import bring_into_view
from explainlab.app.data.choice import data_choice, data_controls
from explainlab.app.pages.errors.view import ErrorsView
from explainlab.app.question import Question, card_of, chip, supported_methods
from explainlab.attribution.registry import methods, parse_method
from explainlab.models.loading import ModelCard
from explainlab.request import checked, digest

PAGE = "errors"
ROWS, PICKED = "errors_shown_rows", "errors_picked"
"""The containers of the rows that the filters show, and of those of the driver that was picked."""
question = Question(PAGE)

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
    """The view that the controls describe now; raises ``RequestError`` for what cannot be."""
    return checked(ErrorsView, **{name: question.now(name) for name in (*_ASKED, *_OPEN)}, **data_choice(question))


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
    """The key of the control ``name`` of one row: rows of other data sets have controls of their own."""
    return question.key(f"{name}_{digest([view.source, number])[:8]}")


def draw_question(run: Callable[[], None], label: str) -> ModelCard | None:
    """Model and data set; ``run`` is called to submit them, by a button with this ``label``."""

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
    """Which rows are shown, and in which order."""
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
    """How the open row is explained."""
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
    """The method that explains all mistakes: its scores have signs, and the model supports it."""
    able = [name for name, method in supported_methods(card).items() if method.is_signed(method.Parameters())]
    names = {name: chip(parse_method, name) for name in dict.fromkeys([*able, question.now("drivers")])}
    question.select("Explain with", "drivers", names, "Methods whose scores speak for or against a class.")


def draw_function_words() -> None:
    """Whether function words are hidden among what drives mistakes."""
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
