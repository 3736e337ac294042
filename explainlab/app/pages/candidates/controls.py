"""The controls of the Candidates page: the question about one text, the one about a data set, and what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import streamlit as st

from explainlab.analyses.candidates.analysis import Family, RpiCandidates
from explainlab.app.data.choice import data_choice, data_controls
from explainlab.app.glossary import explained
from explainlab.app.pages.candidates.view import METRICS, CandidatesView, DataChoice
from explainlab.app.question import Question, chip
from explainlab.attribution.diffusion import PresetId
from explainlab.attribution.random_maps import AttentionParameters
from explainlab.attribution.registry import get_method
from explainlab.attribution.selection import Search
from explainlab.metrics.registry import parse_metric
from explainlab.models.loading import ModelCard
from explainlab.request import checked

PAGE = "candidates"
question = Question(PAGE)

_ASKED = (
    "model",
    "text",
    "target",
    "output",
    "unit",
    "family",
    "preset",
    "layers",
    "samples",
    "steps",
    "timesteps",
    "search",
    "seed",
    "dtype",
)
DRAWN = ("palette", "sort", "across", "up", "picked", "scale")
"""Choices that need no other answer."""
_HELP = {name: field.description for name, field in RpiCandidates.Parameters.model_fields.items()}
_SEARCHES = {"random": "Random", "adaptive": "Adaptive"}
_PRESETS = {"paper": "The paper", "reference": "Its authors' code"}
_MOST = 10_000
_MOST_TIMESTEPS = 100_000


def seed_controls(view: CandidatesView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in (*_ASKED, *DRAWN)}
    data = view.data or DataChoice(source="embedded:sentiment", sample="random")
    values |= {"metrics": list(view.metrics), **question.text_controls(view), **data_controls(data)}
    question.seed(values, force)


def draft() -> CandidatesView:
    """The view that the controls describe now, its data set included; raises ``RequestError`` for what cannot be."""
    return checked(
        CandidatesView,
        **{name: question.now(name) for name in (*_ASKED, *DRAWN)},
        text_pair=question.text_pair,
        metrics=tuple(question.now("metrics")),
        data=checked(DataChoice, **data_choice(question)),
    )


def draw_text_controls(run: Callable[[], None], label: str) -> ModelCard | None:
    """The question about one text; ``run`` is called when something is entered that asks for an answer.

    So does the button with this ``label``.
    """
    card = question.draw(run)
    _draw_method(card, run)
    _draw_budget()
    metrics, button = st.columns([9, 2], vertical_alignment="bottom")
    metrics.multiselect(
        "Metrics",
        list(dict.fromkeys([*METRICS, *question.now("metrics")])),
        question.now("metrics"),
        key=question.key("metrics"),
        accept_new_options=True,
        format_func=partial(chip, parse_metric),
        placeholder="Choose one or more metrics",
        help=explained(
            "To set options, type a metric's id and its options: log_odds:k=10, comprehensiveness:preset=eraser.",
            *METRICS,
        ),
    )
    button.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="stretch")
    return card


def draw_data_controls(card: ModelCard | None, run: Callable[[], None]) -> None:
    """The question about a data set."""
    source, rows, button = st.columns([4, 4, 3], vertical_alignment="bottom")
    with source:
        question.draw_data(card)
    with rows:
        question.draw_rows()
    button.button("Study the data set", icon=":material/dataset:", on_click=run, width="stretch")


def _draw_method(card: ModelCard | None, run: Callable[[], None]) -> None:
    """What is explained, and by which method."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.draw_target(card)
        question.draw_output()
        question.draw_unit()
        families = {name: get_method(name).label for name in get_args(Family)}
        question.select("Method", "family", families, explained("The method that makes the maps.", *families))
        presets = {name: _PRESETS[name] for name in get_args(PresetId)}
        question.select("Preset", "preset", presets, _HELP["preset"], _bring_what_belongs_to_the_preset)
        st.text_input(
            "Layers",
            question.now("layers"),
            key=question.key("layers"),
            on_change=run,
            help=f"{_HELP['layers']} Methods on word embeddings have neither layers nor presets.",
        )


def _bring_what_belongs_to_the_preset() -> None:
    parameters = {"preset": question.now("preset")}
    question.set("layers", AttentionParameters(**parameters).layers)
    question.set("output", get_method("rpi").default_output(parameters))


def _draw_budget() -> None:
    """How many candidates, how they are drawn, and the colours of heatmaps."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.draw_number("Draws R", "samples", _MOST, f"{_HELP['samples']} As many for each layer.")
        question.draw_number("Steps n", "steps", _MOST, _HELP["steps"])
        question.draw_number("Timesteps T", "timesteps", _MOST_TIMESTEPS, _HELP["timesteps"])
        question.choose("Search", "search", {name: _SEARCHES[name] for name in get_args(Search)}, _HELP["search"])
        question.draw_palette()
