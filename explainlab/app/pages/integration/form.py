"""The form of the Integration page: a text, a rule and its step counts, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import streamlit as st

from explainlab.analyses.integration.analysis import IntegrationError
from explainlab.analyses.parameters import MOST_STEPS, PAPER_GRID
from explainlab.analyses.path_gradients.analysis import PathGradients
from explainlab.app.controls import PALETTE, Control, Drawing, Form, Held, OneOutput, Scored, Seed, Several, Within
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question
from explainlab.app.view import ChosenData, TextView, made_once, view_of
from explainlab.attribution.method import BASELINE_HELP, Baseline
from explainlab.attribution.path import Rule
from explainlab.attribution.registry import get_method
from explainlab.declared import ParameterSpec
from explainlab.figures.chart import STYLES
from explainlab.figures.palette import DEFAULT, PaletteName
from explainlab.models.loading import ModelCard
from explainlab.request import Dtype, Request

_DEFAULT = IntegrationError.Parameters()
COARSE = ",".join(map(str, _DEFAULT.steps))
FIRST = "10,20,30,50,70,100,140,200"
RULES: tuple[Rule, ...] = tuple(_DEFAULT.rules)
_SHORT = {**{rule: rule.capitalize() for rule in RULES}, "gauss_legendre": "Gauss"}
_GRIDS = {COARSE: "Coarse: 11 step counts up to 1,000", PAPER_GRID: "The paper's grid: 10 to 1,000 by 10"}


def _grids(at: Drawing) -> Mapping[str, str]:
    """Return the step counts that are offered, and those of an opened link."""
    now = at.question.now("grid")
    return {now: now, **_GRIDS} if now not in _GRIDS else _GRIDS


_GRID = Control(
    "Step counts",
    "Points that several step counts or rules share are computed once.",
    key="grid",
    row="data",
    width=4,
    options=_grids,
)
_RULES = Several(
    "Rules",
    "The rules whose errors are compared.",
    row="more_data",
    width=9,
    words=("integration-rule",),
    options=_SHORT,
    placeholder="None chosen",
)
_RULE = Control(
    "Rule shown",
    "The rule whose maps and path are drawn.",
    options={rule: STYLES[rule].label for rule in RULES},
    runs=True,
)
_STEPS = Control(
    "Step counts",
    f"Ascending, separated by commas; {PAPER_GRID} stands for the paper's grid, 10 to 1,000 by 10.",
    row="steps",
    width=5,
    runs=True,
)
_COUNT = Control(
    help="The maps of these two step counts are drawn side by side.",
    row="steps",
    width=3,
    spec=ParameterSpec("", "integer", 0, (), 1, MOST_STEPS, ""),
    step=10,
    runs=True,
)


class Compared(Held):
    """Two step counts, each with a control of its own."""

    def seeds(self, record: Any) -> dict[str, Any]:
        first, second = getattr(record, self.name)
        return {"first": first, "second": second}

    def read(self, question: Question) -> tuple[int, int]:
        return question.now("first"), question.now("second")

    def inner(self) -> Iterator[Held]:
        yield replace(_COUNT, key="first", label="Compare")
        yield replace(_COUNT, key="second", label="with")


class DataChoice(ChosenData):
    """A data set to be studied, with which step counts and rules."""

    steps: Annotated[str, _GRID] = COARSE
    rules: Annotated[tuple[Rule, ...], _RULES] = RULES


class IntegrationView(TextView):
    """One text and one model, integrated by every rule, and optionally a data set.

    The heatmaps of ``rule`` are shown; ``compare`` are the two step counts side by side.
    """

    page: Literal["integration"] = "integration"
    output: OneOutput = "probability"
    unit: Scored = "token"
    baseline: Annotated[Baseline, Control(help=BASELINE_HELP)] = "mask"
    seed: Seed = 0
    dtype: Dtype = "float32"
    rule: Annotated[Rule, _RULE] = "right"
    steps: Annotated[str, _STEPS] = FIRST
    compare: Annotated[tuple[int, int], Compared()] = (270, 870)
    palette: Annotated[PaletteName, replace(PALETTE, row="steps", width=4)] = DEFAULT
    data: Annotated[DataChoice | None, Within(first=DataChoice(source="embedded:sentiment", sample="random"))] = None

    def error_request(self) -> Request:
        """Return the request for the error of every rule at every step count, for the text."""
        return self.asks(IntegrationError.id)

    def path_request(self) -> Request:
        """Return the request for the gradient along the path at the two step counts compared."""
        return self.asks(PathGradients.id, steps=sorted(set(self.compare)))

    @made_once
    def text_requests(self) -> list[Request]:
        """Return the requests of the text's section."""
        return [self.error_request(), self.path_request()]

    def data_request(self) -> Request | None:
        """Return the request for the error of every rule at every step count, for each text of the data set."""
        return None if self.data is None else self.asks(IntegrationError.id, self.data)

    def method_labels(self) -> list[str]:
        return [get_method("integrated_gradients").label]


def first_view() -> IntegrationView:
    """Return the first view of the page: an embedded model, a sentence with a contrast, and a small question."""
    return IntegrationView(
        model="embedded:bert-mini-sst2",
        text="The first act drags a little, but the ending is so beautiful that I forgave everything.",
        compare=(20, 200),
    )


def shows(request: Request) -> IntegrationView | None:
    """Return the view that shows the answer to ``request``; None for the request of another analysis."""
    if request.question == IntegrationError.id:
        return view_of(first_view(), request, steps=",".join(map(str, request.parameters["steps"])))
    if request.question == PathGradients.id:
        steps = request.parameters["steps"]
        return view_of(first_view(), request, steps=FIRST, compare=(steps[0], steps[-1]))
    return None


NAME = "integration"
question = Question(NAME)
FORM = Form(question, IntegrationView)


def draw_text_controls(run: Callable[[], None], label: str) -> ModelCard | None:
    """Draw the question about one text; an input that asks for an answer calls ``run``.

    So does the button with this ``label``.
    """
    card = question.draw(run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        FORM.draw("main", card, run)
    (button,) = FORM.columns("steps", 3, card=card, run=run)
    button.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="stretch")
    return card


PAGE = AnalysisPage(NAME, form=FORM, first=first_view, button="Integrate", shows=shows)
