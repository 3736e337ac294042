"""The controls of the Sanity page: model and data set, methods, what is drawn at random, and what of it is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import streamlit as st

from explainlab.analyses.attack.analysis import Attack
from explainlab.analyses.attack.maps import Method
from explainlab.analyses.layer_randomisation.analysis import LayerRandomisation
from explainlab.app.data.choice import data_choice, data_controls
from explainlab.app.glossary import explained
from explainlab.app.pages.sanity.view import SanityView
from explainlab.app.question import Question, card_of, chip, supported_methods
from explainlab.attribution.registry import get_method, parse_method
from explainlab.models.loading import ModelCard
from explainlab.request import checked

PAGE = "sanity"
question = Question(PAGE)

_ASKED = ("model", "mode", "init", "draws", "target", "output", "unit", "seed", "dtype")
_OPEN = ("compared", "row", "palette", "attacked", "reworded", "stability_cell", "axioms_cell")
DRAWN = (*_OPEN, "radii", "by", "on")
_HELP = {name: field.description or "" for name, field in LayerRandomisation.Parameters.model_fields.items()}
_MODES = {"both": "Both", "cascading": "From the top down", "independent": "One at a time"}
_INITS = {"model": "As a new model", "normal01": "N(0, 1)"}
_COMPARED = {"signed": "Scores", "absolute": "|Scores|"}
_MOST_DRAWS = 100
_RADII = tuple(Attack.Parameters().epsilon)


def seed_controls(view: SanityView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in (*_ASKED, *DRAWN)}
    lists = {"methods": list(view.methods), "radii": list(view.radii)}
    question.seed({**values, **lists, **data_controls(view)}, force)


def draft() -> SanityView:
    """The view that the controls describe now; raises ``RequestError`` for what cannot be."""
    values = {name: question.now(name) for name in (*_ASKED, *_OPEN)}
    lists = {name: tuple(question.now(name)) for name in ("methods", "radii")}
    return checked(SanityView, **values, **lists, **data_choice(question))


def draw_question(run: Callable[[], None], label: str) -> ModelCard | None:
    """All that is asked; ``run`` is called to ask it, by a button with this ``label``."""

    def change_model() -> None:
        question.keep_data(card_of(question.now("model") or ""))

    with st.container(horizontal=True, vertical_alignment="bottom"):
        card = question.draw_model(change_model)
    source, rows = st.columns(2, vertical_alignment="bottom")
    with source:
        question.draw_data(card)
    with rows:
        question.draw_rows()
    question.draw_methods(card)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.select("Random units", "mode", _MODES, _HELP["mode"])
        question.select("Weights", "init", _INITS, _HELP["init"])
        with st.container(width=140):
            question.draw_number("Draws", "draws", _MOST_DRAWS, _HELP["draws"])
        question.draw_outputs()
        question.draw_unit()
        with st.container(width=200):
            question.draw_palette()
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")
    return card


def draw_compared() -> None:
    """Whether the charts compare scores or their absolute values."""
    words = "The ranking of the scores, or of their absolute values: a random head may turn all signs around."
    question.choose("Compare", "compared", _COMPARED, explained(words, "feature"))


def draw_attacked(card: ModelCard | None) -> None:
    """Whose maps are attacked, and how far the word embeddings may move."""
    labels = {name: get_method(name).label for name in get_args(Method)}
    able = {name: label for name, label in labels.items() if name in supported_methods(card)}
    method, radii = st.columns([1, 2], vertical_alignment="bottom")
    with method:
        question.select("Attack the maps of", "attacked", able or labels)
    chosen = question.now("radii")
    radii.multiselect(
        "Radii",
        list(dict.fromkeys([*_RADII, *chosen])),
        chosen,
        key=question.key("radii"),
        accept_new_options=True,
        placeholder="Choose one or more",
        help="How far each number of a word's embedding may move; s: in standard deviations of the word table.",
    )


def draw_reworded() -> None:
    """Against whose maps words are replaced: any method of the page."""
    options = {name: chip(parse_method, name) for name in question.now("methods")}
    if not options:
        return
    if question.now("reworded") not in options:
        question.set("reworded", next(iter(options)))
    question.select("Replace words against the maps of", "reworded", options)


def open_row(row: int) -> None:
    """Open a text (a callback)."""
    question.seed({"row": row}, force=True)
