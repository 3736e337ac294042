"""The form of the Integration page: a text, a rule and its step counts, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import streamlit as st
from pydantic import Field

from explainlab.analyses.integration.analysis import IntegrationError
from explainlab.analyses.parameters import MOST_STEPS, PAPER_GRID
from explainlab.analyses.path_gradients.analysis import PathGradients
from explainlab.app.data_set import data_choice, data_controls
from explainlab.app.glossary import explained
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question
from explainlab.app.view import AnalysisView, ChosenData, view_of
from explainlab.attribution.method import BASELINE_HELP, Baseline
from explainlab.attribution.path import Rule
from explainlab.attribution.registry import get_method
from explainlab.figures.chart import STYLES
from explainlab.figures.palette import DEFAULT, PaletteName
from explainlab.models.loading import ModelCard
from explainlab.request import Dtype, Output, Request, Unit, validated

_DEFAULT = IntegrationError.Parameters()
COARSE = ",".join(map(str, _DEFAULT.steps))
FIRST = "10,20,30,50,70,100,140,200"
RULES: tuple[Rule, ...] = tuple(_DEFAULT.rules)


class DataChoice(ChosenData):
    """A data set to be studied, with which step counts and rules."""

    steps: str = COARSE
    rules: tuple[Rule, ...] = RULES


class IntegrationView(AnalysisView):
    """One text and one model, integrated by every rule, and optionally a data set.

    The heatmaps of ``rule`` are shown; ``compare`` are the two step counts side by side.
    """

    page: Literal["integration"] = "integration"
    model: str
    text: str
    text_pair: str | None = None
    target: str = "predicted"
    output: Output = "probability"
    unit: Unit = "token"
    baseline: Baseline = "mask"
    seed: int = Field(0, ge=0, lt=2**32)
    dtype: Dtype = "float32"
    steps: str = FIRST
    rule: Rule = "right"
    compare: tuple[int, int] = (270, 870)
    palette: PaletteName = DEFAULT
    data: DataChoice | None = None

    def error_request(self) -> Request:
        """Return the request for the error of every rule at every step count, for the text."""
        return self._request("integration_error", self._text(), steps=self.steps)

    def path_request(self) -> Request:
        """Return the request for the gradient along the path at the two step counts compared."""
        steps = sorted(set(self.compare))
        return self._request("path_gradients", self._text(), steps=steps, rule=self.rule)

    def text_requests(self) -> list[Request]:
        """Return the requests of the text's section."""
        return [self.error_request(), self.path_request()]

    def data_request(self) -> Request | None:
        """Return the request for the error of every rule at every step count, for each text of the data set."""
        data = self.data
        if data is None:
            return None
        chosen = {"steps": data.steps, "rules": list(data.rules)}
        return self._request("integration_error", data.subject, **chosen, **data.drawn)

    def method_labels(self) -> list[str]:
        return [get_method("integrated_gradients").label]

    def same_setting(self, other: IntegrationView) -> bool:
        """Return True if both have the same model and settings, so that a data set's results belong to both."""
        names = ("model", "target", "output", "unit", "baseline", "seed", "dtype")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def _text(self) -> dict[str, Any]:
        return {"text": self.text, "text_pair": self.text_pair}

    def _request(self, study: str, subject: dict[str, Any], **parameters: Any) -> Request:
        shared = self.model_dump(include={"model", "target", "output", "unit", "seed", "dtype"})
        return validated(
            Request, question=study, **shared, **subject, parameters={"baseline": self.baseline, **parameters}
        )


def first_view() -> IntegrationView:
    """Return the first view of the page: an embedded model, a sentence with a contrast, and a small question."""
    return IntegrationView(
        model="embedded:bert-mini-sst2",
        text="The first act drags a little, but the ending is so beautiful that I forgave everything.",
        compare=(20, 200),
    )


def shows(request: Request) -> IntegrationView | None:
    """Return the view that shows the answer to ``request``; None for the request of another analysis."""
    asks, parameters = request.question, request.parameters
    if asks == IntegrationError.id:
        parameters = {**parameters, "steps": ",".join(map(str, parameters["steps"]))}
        return view_of(IntegrationView, request, parameters, first_view().text, ("steps", "rules"))
    if asks == PathGradients.id:
        steps = parameters["steps"]
        parameters = {**parameters, "steps": FIRST, "compare": (steps[0], steps[-1])}
        return view_of(IntegrationView, request, parameters, first_view().text, ())
    return None


NAME = "integration"
question = Question(NAME)

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
    """Return the view that the controls describe now; raises ``RequestError`` for an invalid one."""
    data = validated(
        DataChoice,
        **data_choice(question),
        steps=question.now("grid"),
        rules=tuple(question.now("rules")),
    )
    return validated(
        IntegrationView,
        **{name: question.now(name) for name in _FIELDS},
        text_pair=question.text_pair,
        compare=(question.now("first"), question.now("second")),
        data=data,
    )


def draw_text_controls(run: Callable[[], None], label: str) -> ModelCard | None:
    """Draw the question about one text; an input that asks for an answer calls ``run``.

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
    """Draw the question about a data set."""
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


PAGE = AnalysisPage(
    NAME,
    question=question,
    record=IntegrationView,
    first=first_view,
    seed=seed_controls,
    draft=draft,
    button="Integrate",
    drawn=("palette",),
    shows=shows,
)
