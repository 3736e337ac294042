"""The controls of the Integration page: the question about one text, and the one about a data set."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import streamlit as st

from explainlab.analyses.parameters import MOST_STEPS, PAPER_GRID
from explainlab.app.data.choice import data_choice, data_controls
from explainlab.app.glossary import explained
from explainlab.app.pages.integration.view import COARSE, RULES, DataChoice, IntegrationView
from explainlab.app.question import Question
from explainlab.attribution.method import BASELINE_HELP, Baseline
from explainlab.figures.chart import STYLES
from explainlab.models.loading import ModelCard
from explainlab.request import checked

PAGE = "integration"
question = Question(PAGE)

_FIELDS = ("model", "text", "target", "output", "unit", "baseline", "steps", "rule", "palette", "seed", "dtype")
_RULES: dict[str, str] = {rule: STYLES[rule].label for rule in RULES}
_SHORT: dict[str, str] = {**{rule: rule.capitalize() for rule in RULES}, "gauss_legendre": "Gauss"}
_GRIDS = {COARSE: "Coarse: 11 step counts up to 1,000", PAPER_GRID: "The paper's grid: 10 to 1,000 by 10"}


def seed_controls(view: IntegrationView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values = {name: getattr(view, name) for name in _FIELDS} | question.text_controls(view)
    values["first"], values["second"] = view.compare
    data = view.data or DataChoice(source="embedded:sentiment", sample="random")
    values |= {**data_controls(data), "grid": data.steps, "rules": list(data.rules)}
    question.seed(values, force)


def draft() -> IntegrationView:
    """The view that the controls describe now, its data set included; raises ``RequestError`` for what cannot be."""
    data = checked(
        DataChoice,
        **data_choice(question),
        steps=question.now("grid"),
        rules=tuple(question.now("rules")),
    )
    return checked(
        IntegrationView,
        **{name: question.now(name) for name in _FIELDS},
        text_pair=question.text_pair,
        compare=(question.now("first"), question.now("second")),
        data=data,
    )


def draw_text_controls(run: Callable[[], None], label: str) -> ModelCard | None:
    """The question about one text; ``run`` is called when something is entered that asks for an answer.

    So does the button with this ``label``.
    """
    card = question.draw(run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.draw_target(card)
        question.draw_output()
        question.draw_unit()
        question.select("Baseline", "baseline", {name: name for name in get_args(Baseline)}, BASELINE_HELP)
        question.select("Rule shown", "rule", _RULES, "The rule whose maps and path are drawn.", on_change=run)
    steps, first, second, colours, button = st.columns([5, 3, 3, 4, 3], vertical_alignment="bottom")
    steps.text_input(
        "Step counts",
        question.now("steps"),
        key=question.key("steps"),
        on_change=run,
        help=f"Ascending, separated by commas; {PAPER_GRID} stands for the paper's grid, 10 to 1,000 by 10.",
    )
    for column, words, name in ((first, "Compare", "first"), (second, "with", "second")):
        column.number_input(
            words,
            1,
            MOST_STEPS,
            question.now(name),
            step=10,
            key=question.key(name),
            on_change=run,
            help="The maps of these two step counts are drawn side by side.",
        )
    with colours:
        question.draw_palette()
    button.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="stretch")
    return card


def draw_data_controls(card: ModelCard | None, run: Callable[[], None]) -> None:
    """The question about a data set."""
    source, rows, grid = st.columns([4, 4, 4], vertical_alignment="bottom")
    with source:
        question.draw_data(card)
    with rows:
        question.draw_rows()
    grids = {**_GRIDS, **({question.now("grid"): question.now("grid")} if question.now("grid") not in _GRIDS else {})}
    with grid:
        question.select(
            "Step counts", "grid", grids, "Points that several step counts or rules share are computed once."
        )
    rules, button = st.columns([6, 2], vertical_alignment="bottom")
    rules.multiselect(
        "Rules",
        RULES,
        question.now("rules"),
        key=question.key("rules"),
        format_func=_SHORT.__getitem__,
        placeholder="None chosen",
        help=explained("The rules whose errors are compared.", "integration-rule"),
    )
    button.button("Study the data set", icon=":material/dataset:", on_click=run, width="stretch")
