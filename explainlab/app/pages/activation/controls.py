"""The controls of the Activation page: the question about one text, the one about a data set, and what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import streamlit as st

from explainlab.analyses.activation.analysis import Activation
from explainlab.app.data.choice import data_choice, data_controls
from explainlab.app.glossary import explained
from explainlab.app.pages.activation.view import ActivationView, DataChoice, Reference
from explainlab.app.question import Question
from explainlab.metrics.presets import Filler
from explainlab.models.loading import ModelCard
from explainlab.request import checked

PAGE = "activation"
question = Question(PAGE)

_ASKED = ("model", "text", "target", "output", "unit", "baseline", "palette")
_HELP = {name: field.description or "" for name, field in Activation.Parameters.model_fields.items()}
_REFERENCES = {"": "None", "kernel_shap:samples=16n": "KernelSHAP, 16n samples"}


def seed_controls(view: ActivationView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in _ASKED}
    values |= {"methods": list(view.methods), **question.text_controls(view)}
    data = view.data or DataChoice(source="embedded:news", sample="random")
    values |= {**data_controls(data), "reference": data.reference}
    question.seed(values, force)


def draft() -> ActivationView:
    """The view that the controls describe now, its data set included; raises ``RequestError`` for what cannot be."""
    return checked(
        ActivationView,
        **{name: question.now(name) for name in _ASKED},
        text_pair=question.text_pair,
        methods=tuple(question.now("methods")),
        data=checked(DataChoice, **data_choice(question), reference=question.now("reference")),
    )


def draw_text_controls(run: Callable[[], None], label: str) -> ModelCard | None:
    """The question about one text; ``run`` is called when something is entered that asks for an answer.

    So does the button with this ``label``.
    """
    card = question.draw(run)
    question.draw_methods(card)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.draw_target(card)
        question.draw_outputs()
        question.draw_unit("What is revealed at each step.")
        fillers = {name: name for name in get_args(Filler)}
        question.select("Baseline", "baseline", fillers, explained(_HELP["baseline"], "baseline"))
        question.draw_palette()
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")
    return card


def draw_data_controls(card: ModelCard | None, run: Callable[[], None]) -> None:
    """The question about a data set."""
    source, rows, reference, button = st.columns([4, 4, 3, 3], vertical_alignment="bottom")
    with source:
        question.draw_data(card)
    with rows:
        question.draw_rows()
    with reference:
        names = {name: _REFERENCES[name] for name in get_args(Reference)}
        question.select(
            "Compare maps with", "reference", names, "How similar is each method's map to the map of this method?"
        )
    button.button("Study the data set", icon=":material/dataset:", on_click=run, width="stretch")
