"""The form of the ROAR page: data, measures and settings of a grid, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import streamlit as st
from pydantic import Field

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.registry import complete, get_study
from explainlab.analyses.roar.analysis import Roar
from explainlab.analyses.roar.parameters import PAPER_MEASURES, RoarParameters
from explainlab.analyses.roar_estimate.analysis import RoarEstimation
from explainlab.analyses.three_answers.analysis import ThreeAnswers, about_grid, grid_of
from explainlab.app import session
from explainlab.app.controls import REDRAW, SEED, Control, Drawing, Form, Held, Seed, Several, Source
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question, card_of, chip, further_name, supported_methods
from explainlab.app.sets import Known, draw_further
from explainlab.app.view import AnalysisView, ChosenSets, SharedInputs, made_once, view_of
from explainlab.attribution.registry import methods, parse_spec
from explainlab.data import EXAMPLES, TO_LEARN
from explainlab.declared import parse
from explainlab.errors import RequestError
from explainlab.models.loading import model_name
from explainlab.models.model_types import MODEL_TYPES, OURS
from explainlab.request import Request
from explainlab.service import file_tasks
from explainlab.settings import settings
from explainlab.training import ARCHITECTURES, RECIPES

HELD_OUT = "0.2"
"""The share of a further data set's rows to test on."""


NAME = "roar"
question = Question(NAME)

_HELP = {name: field.description or "" for name, field in RoarParameters.model_fields.items()}
_BASE_HELP = (
    "What every model of the grid begins with: an architecture with random weights, or a model that has learned. A "
    "directory or a hub id (owner/name; safetensors only) can be typed."
)
_SOURCES = [*EXAMPLES, *TO_LEARN]
_TEST_HELP = (
    "Labelled texts on which performance is measured, or a share of the training data, as in 0.2, that is held out."
)
_DATA_HELP = "Labelled texts: the embedded examples, or the path of a CSV, TSV, JSON, JSONL or Parquet file."
_MEASURES_HELP = (
    "Those of the paper, and all that the base supports. To set options, type a method's id and its options: "
    "gradient:norm=one_hot. Random words are always included."
)
_KINDS_HELP = (
    "Recursive ROAR asks the measure again of each model that was trained on masked texts, ROAR only of the first one. "
    "Where words say the same, only Recursive ROAR masks them all."
)
_TIME_HELP = "Times one epoch and a few texts of each measure here, without training the grid."
_MINUTES_HELP = "Time limit for the grid (0: none). The estimate lists smaller grids that fit."


_data = partial(Source, known=_SOURCES)


def _bring_what_belongs_to_the_preset() -> None:
    question.set("clip", question.now("preset") == "reference")


def _usual_test(first: str) -> str:
    """Return the test data of a further data set: a share of its rows, that of the ``first`` where it is one."""
    return first if _is_share(first) else HELD_OUT


def _told(architecture: str) -> str:
    return f"{architecture}, random weights"


def _measures(at: Drawing) -> dict[str, str]:
    """Return the measures of the paper, and all others that the base supports."""
    base = question.now("base") or ""
    if base in ARCHITECTURES:
        facts = MODEL_TYPES.get(f"{OURS}{base}") or MODEL_TYPES[base]
        able = [name for name, method in methods().items() if not method.unsupported(facts.architecture)]
    else:
        able = list(supported_methods(card_of(base)))
    paper = [name for name in PAPER_MEASURES if name.partition(":")[0] in able]
    return dict.fromkeys([*paper, *(name for name in able if name != RANDOM)], "")


class Base(Held):
    """The base: an architecture, a model that is here, or a typed one."""

    def read(self, question: Question) -> str:
        return question.now(self.key) or ""

    def draw(self, at: Drawing) -> None:
        bases = {base: _told(base) for base in ARCHITECTURES}
        at.question.draw_model_name("Base", self.key, _BASE_HELP, more=bases)


class Typed(Control):
    """Settings of training, typed."""

    def seeds(self, record: RoarView) -> dict[str, Any]:
        return {self.key: ", ".join(f"{name}={value}" for name, value in record.settings.items())}

    def read(self, question: Question) -> dict[str, Any]:
        parsed: Any = parse(get_study(Roar.id), {"test": "any", "settings": question.now(self.key)})
        settings: dict[str, Any] = parsed.settings
        return settings


class Tests(Held):
    """The test data of further data sets."""

    def seeds(self, record: RoarView) -> dict[str, Any]:
        return {f"{further_name(source)}_test": record.test_of(source) for source in record.sources}

    def read(self, question: Question) -> dict[str, str]:
        tests = {source: _test_controls(source).now("test") for source in question.now("sources")}
        return {source: test for source, test in tests.items() if test}


def _test_controls(source: str) -> Question:
    """Return the controls of the test data of a further data set."""
    own = question.further(source)
    own.seed({"test": _usual_test(question.now("test") or "")})
    return own


_MEASURES = Several("Measures", _MEASURES_HELP, row="measures", options=_measures, open=True, parse=parse_spec)
_RECURSIVE = Control(
    "Masking",
    _KINDS_HELP,
    row="recursive",
    options={"true": "Recursive ROAR", "false": "ROAR", "both": "Both"},
    radio=True,
)
_RATIOS = Control("Shares masked, %", _HELP["ratios"], row="ratios", width=230, placeholder="0:100:10")
_COUNTS = Control("Tokens masked", _HELP["counts"], row="counts", width=230, placeholder="1:10")
_SEEDS = Control(
    "Seeds",
    "Models at each ratio: with three or more there are intervals.",
    words=("seed", "interval"),
    width=130,
    least=1,
    most=100,
)
_METRIC = Control(
    "Performance",
    _HELP["metric"],
    width=160,
    options={"macro_f1": "Macro F1", "micro_f1": "Micro F1", "accuracy": "Accuracy"},
)
_MASKED = Control(
    "Mask",
    "Shares of a text's tokens, or a number of tokens of every text.",
    row="more",
    options={"ratios": "Shares of a text", "counts": "Numbers of tokens"},
    radio=True,
)
_SIGNS = Control(
    "Largest first",
    _HELP["signs"],
    row="more",
    options={"absolute": "By |score|", "signed": "By score"},
    radio=True,
)
_RECIPE = Control(
    "Recipe",
    _HELP["recipe"],
    row="more",
    options={"": "The usual one", **{name: name.capitalize() for name in RECIPES}},
)
_SETTINGS = Typed("Settings of training", _HELP["settings"], row="more", placeholder="epochs=3, batch_size=8")
_FOLDER = Control(
    "Keep all weights in",
    _HELP["weights_folder"],
    row="more",
    placeholder="a folder",
    shown=lambda: not settings().hosted,
)
_SHORTEST = Control("Fewest words of a text", _HELP["shortest"], row="more", least=1, most=1000)
_MINUTES = Control("Minutes at most", _MINUTES_HELP, row="more", least=0, most=100_000, redraw=True)
_SEED = replace(
    SEED, label="First seed", help="Of the first model at each ratio; the others have the next seeds.", row="more"
)
_PRESET = Control(
    "Computed",
    _HELP["preset"],
    row="more",
    options={"paper": "As the paper", "reference": "As the paper's code"},
    then=_bring_what_belongs_to_the_preset,
)


class RoarView(ChosenSets, AnalysisView):
    """A grid: ``base`` is an architecture or a model, ``source`` the training data; the rest are parameters.

    ``tests`` name the test data of further data sets; those without one hold out a share.

    ``ratios`` are per cent and ``counts`` numbers of tokens, as typed; ``masked`` selects one of them. ``minutes``
    limits the time of the grid (0: any time), and changes only the request for its time. The page shows an ``example``
    until there is a grid.
    """

    page: Literal["roar"] = "roar"
    base: Annotated[str, Base(row="base")] = "bilstm_attention"
    source: Annotated[str, _data("Training data", _DATA_HELP, key="data", row="data")] = ""
    test: Annotated[str, _data("Test data", _TEST_HELP, row="test")] = ""
    tests: Annotated[dict[str, str], Tests()] = Field(default_factory=dict)
    measures: Annotated[tuple[str, ...], _MEASURES] = tuple(PAPER_MEASURES)
    recursive: Annotated[Literal["true", "false", "both"], _RECURSIVE] = "true"
    ratios: Annotated[str, _RATIOS] = "0:100:10"
    counts: Annotated[str, _COUNTS] = "1:10"
    seeds: Annotated[int, _SEEDS] = 5
    metric: Annotated[Literal["macro_f1", "micro_f1", "accuracy"], _METRIC] = "macro_f1"
    masked: Annotated[Literal["ratios", "counts"], _MASKED] = "ratios"
    signs: Annotated[Literal["absolute", "signed"], _SIGNS] = "absolute"
    recipe: Annotated[str, _RECIPE] = ""
    settings: Annotated[dict[str, Any], _SETTINGS] = Field(default_factory=dict)
    validation: Annotated[str, Control(help=_HELP["validation"], row="more", placeholder="0.15")] = "0.15"
    weights_folder: Annotated[str, _FOLDER] = ""
    shortest: Annotated[int, _SHORTEST] = 1
    minutes: Annotated[int, _MINUTES, Field(ge=0)] = 0
    seed: Annotated[Seed, _SEED] = 0
    preset: Annotated[Literal["paper", "reference"], _PRESET] = "paper"
    clip: Annotated[bool, Control("Cut faithfulness to [-1, 1]", _HELP["clip"], row="more")] = False
    example: Annotated[Literal["measures", "leak"], REDRAW] = "measures"

    def request(self) -> Request:
        """Return the request for the grid; raises :class:`RequestError` without data, and for an invalid grid."""
        return self._request(Roar.id)

    def time_request(self) -> Request:
        """Return the request for the duration of the grid; raises as :meth:`request`."""
        return self._request(RoarEstimation.id, within=60.0 * self.minutes)

    def _request(self, question: str, **more: Any) -> Request:
        if not self.source:
            raise RequestError(
                "No training data is chosen.", "Choose the embedded examples, or type the path of a file."
            )
        if not self.test:
            remedy = "Choose a data set on which performance is measured, or a share of the rows, as in 0.2."
            raise RequestError("No test data is chosen.", remedy)
        unused = "counts" if self.masked == "ratios" else "ratios"
        steps = {unused: RoarParameters.model_fields[unused].default}
        return complete(self.asks(question, self, model=self.base, **steps, **more))

    @made_once
    def text_requests(self) -> list[Request]:
        """Return the request for the grid of every cell."""
        return [self.of_cell(*cell).request() for cell in self.cells]

    @property
    def chosen(self) -> ChosenSets:
        """See :attr:`AnalysisView.chosen`."""
        return self

    @property
    def cells(self) -> list[tuple[str, str]]:
        """See :attr:`AnalysisView.cells`."""
        return self.cells_with(self.base)

    def of_cell(self, model: str, source: str) -> Self:
        """See :meth:`AnalysisView.of_cell`."""
        own = {"base": model, "test": self.test_of(source), "tests": {}}
        if source != self.source and not _is_share(self.validation):
            own["validation"] = type(self).model_fields["validation"].default
        return self.alone(source).model_copy(update=own)

    def test_of(self, source: str) -> str:
        """The test data of a data set: a further one holds out a share, unless its own are named."""
        if source == self.source:
            return self.test
        return self.tests.get(source) or _usual_test(self.test)

    @property
    def whole_data(self) -> str | None:
        """See :attr:`AnalysisView.whole_data`."""
        return self.source

    def method_labels(self) -> Sequence[str]:
        return [chip(parse_spec, name) for name in self.measures]

    def line(self) -> str:
        base = self.base if self.base in ARCHITECTURES else model_name(self.base)
        return base if len(self.cells) == 1 else f"{base} · {len(self.cells)} cells"

    def with_shared_inputs(self, inputs: SharedInputs) -> Self:
        """Accept the inputs of other views, except labels that name the classes of another model."""
        view = super().with_shared_inputs(inputs)
        return view.model_copy(update={"classes": {}})


def first_view() -> RoarView:
    """Return the first view of the page: the example's grid of some minutes; the paper has 11 ratios, five seeds."""
    return RoarView(
        source="embedded:meals",
        test="embedded:meals-test",
        ratios="0:100:20",
        seeds=3,
        measures=("attention_last", "gradient:norm=one_hot", "input_x_gradient"),
        settings={"width": 32, "embedding_size": 64, "epochs": 8, "learning_rate": 0.003, "batch_size": 16},
    )


def shows(request: Request) -> RoarView | None:
    """Return the view that shows the answer to ``request``; None unless it is a grid, or the question about one."""
    if request.question == ThreeAnswers.id and request == about_grid(grid_of(request)):
        return shows(grid_of(request))
    if request.question != Roar.id or request.data is None:
        return None
    parameters = request.parameters
    fields, names = RoarView.model_fields, ("ratios", "counts")
    steps = {name: listed(parameters[name]) if parameters[name] else fields[name].default for name in names}
    masked = "counts" if parameters["counts"] else "ratios"
    return view_of(first_view(), request, base=request.model, masked=masked, **steps)


def _is_share(source: str) -> bool:
    """Return True if test or validation data are a share of the training data, not a data set."""
    try:
        float(source)
    except ValueError:
        return False
    return True


def listed(numbers: Sequence[int]) -> str:
    """Return rising ``numbers`` as they are typed: ``0:100:20`` for equal steps, else a list."""
    steps = {after - before for before, after in pairwise(numbers)}
    if len(numbers) > 2 and len(steps) == 1:
        return f"{numbers[0]}:{numbers[-1]}:{steps.pop()}"
    return ", ".join(map(str, numbers))


FORM = Form(question, RoarView)


def parameters(request: Request) -> RoarParameters:
    """Return the parameters of a ``request`` for a grid; raises ``RequestError`` for invalid ones."""
    asked: RoarParameters = get_study(Roar.id).parameters(request)
    return asked


def draw_question(run: Callable[[], None], label: str, ask_time: Callable[[], None]) -> None:
    """Draw all controls; a button with this ``label`` calls ``run``, and another ``ask_time`` for the duration."""
    for column, row in zip(st.columns(3, vertical_alignment="bottom"), ("base", "data", "test"), strict=True):
        with column:
            FORM.draw(row)
    FORM.draw("measures")
    FORM.draw("recursive")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        FORM.draw(question.now("masked"))
        FORM.draw("main")
        with st.popover("More", icon=":material/tune:", width="content"):
            FORM.draw("more")
        st.button("How long?", icon=":material/timer:", on_click=ask_time, help=_TIME_HELP, width="content")
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")


def draw_further_cells() -> None:
    """Draw further bases and data sets, with the test data of each."""

    def draw_test(source: str) -> None:
        label = f"Test data of {file_tasks.source_name(source, session.user())}"
        _data(label, _TEST_HELP, key="test").draw(Drawing(_test_controls(source)))

    bases = {base: _told(base) for base in ARCHITECTURES}
    draw_further(question, None, known=Known(bases, _SOURCES), draw_more=draw_test)


PAGE = AnalysisPage(NAME, form=FORM, first=first_view, button="Train the grid", shows=shows)
