"""The form of the ROAR page: data, measures and settings of a grid, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, Self

import streamlit as st
from pydantic import Field

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.registry import complete, get_study, new_request
from explainlab.analyses.roar.analysis import Roar
from explainlab.analyses.roar.parameters import PAPER_MEASURES, RoarParameters
from explainlab.analyses.roar_estimate.analysis import RoarEstimation
from explainlab.analyses.three_answers.analysis import ThreeAnswers, about_grid, grid_of
from explainlab.app import session
from explainlab.app.data_set import data_choice, data_controls, further
from explainlab.app.glossary import explained
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question, card_of, chip, supported_methods
from explainlab.app.sets import Known, draw_further
from explainlab.app.view import AnalysisView, ChosenSets, SharedInputs
from explainlab.attribution.registry import methods, parse_spec
from explainlab.data import EXAMPLES, TO_LEARN
from explainlab.declared import parse
from explainlab.errors import RequestError
from explainlab.models.loading import model_name
from explainlab.models.model_types import MODEL_TYPES, OURS
from explainlab.models.stored.places import embedded_models
from explainlab.request import Request, validated
from explainlab.service import file_tasks
from explainlab.service.store.made import own_names
from explainlab.settings import settings
from explainlab.training import ARCHITECTURES, RECIPES

HELD_OUT = "0.2"
"""The share of a further data set's rows to test on."""
_NAMES = (
    *("recursive", "seeds", "metric", "validation", "signs", "shortest", "preset", "clip", "recipe", "settings"),
    *("weights_folder", "test"),
)


class RoarView(ChosenSets, AnalysisView):
    """A grid: ``base`` is an architecture or a model, ``source`` the training data; the rest are parameters.

    ``tests`` name the test data of further data sets; those without one hold out a share.

    ``ratios`` are per cent and ``counts`` numbers of tokens, as typed; ``masked`` selects one of them. ``minutes``
    limits the time of the grid (0: any time), and changes only the request for its time. The page shows an ``example``
    until there is a grid.
    """

    page: Literal["roar"] = "roar"
    base: str = "bilstm_attention"
    source: str = ""
    test: str = ""
    tests: dict[str, str] = Field(default_factory=dict)
    measures: tuple[str, ...] = tuple(PAPER_MEASURES)
    recursive: Literal["true", "false", "both"] = "true"
    masked: Literal["ratios", "counts"] = "ratios"
    ratios: str = "0:100:10"
    counts: str = "1:10"
    seed: int = Field(0, ge=0, lt=2**32)
    seeds: int = 5
    metric: Literal["macro_f1", "micro_f1", "accuracy"] = "macro_f1"
    validation: str = "0.15"
    signs: Literal["absolute", "signed"] = "absolute"
    shortest: int = 1
    preset: Literal["paper", "reference"] = "paper"
    clip: bool = False
    recipe: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    weights_folder: str = ""
    minutes: int = Field(0, ge=0)
    example: Literal["measures", "leak"] = "measures"

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
        steps: dict[str, Any] = {self.masked: getattr(self, self.masked)}
        named: dict[str, Any] = {name: getattr(self, name) for name in _NAMES}
        request = new_request(
            question=question,
            model=self.base,
            data=self.source,
            columns=self.columns,
            classes=self.classes,
            seed=self.seed,
            parameters={"measures": list(self.measures), **steps, **named, **more},
        )
        return complete(request)

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
    values = request.model_dump(include={"columns", "classes", "seed"})
    values |= {name: parameters[name] for name in _NAMES}
    values |= {"measures": tuple(parameters["measures"])}
    values |= {"masked": "counts" if parameters["counts"] else "ratios"}
    values |= {name: listed(parameters[name]) for name in ("ratios", "counts") if parameters[name]}
    return validated(RoarView, base=request.model, source=request.data, **values)


def _usual_test(first: str) -> str:
    """Return the test data of a further data set: a share of its rows, that of the ``first`` where it is one."""
    return first if _is_share(first) else HELD_OUT


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


NAME = "roar"
question = Question(NAME)

_MOST_SEED, _MOST_SEEDS, _MOST_SHORTEST = 2**32 - 1, 100, 1000
_FIELDS = (
    *("base", "recursive", "masked", "ratios", "counts", "seed", "seeds", "metric", "validation", "signs"),
    *("preset", "clip", "recipe", "weights_folder", "shortest", "minutes", "example"),
)
_KINDS = {"true": "Recursive ROAR", "false": "ROAR", "both": "Both"}
_METRICS = {"macro_f1": "Macro F1", "micro_f1": "Micro F1", "accuracy": "Accuracy"}
_SIGNS = {"absolute": "By |score|", "signed": "By score"}
_PRESETS = {"paper": "As the paper", "reference": "As the paper's code"}
_MASKED = {"ratios": "Shares of a text", "counts": "Numbers of tokens"}
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
_MOST_MINUTES = 100_000


def seed_controls(view: RoarView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in _FIELDS}
    values |= {**data_controls(view), "data": view.source or None, "test": view.test or None}
    values["measures"] = list(view.measures)
    values["settings"] = ", ".join(f"{name}={value}" for name, value in view.settings.items())
    question.seed(values, force)
    for source in view.sources:
        further(question, source).seed({"test": view.test_of(source)}, force)


def draft() -> RoarView:
    """Return the view that the controls describe now; raises ``RequestError`` for an invalid one."""
    values = {name: question.now(name) for name in _FIELDS}
    values |= {"test": question.now("test") or "", "measures": tuple(question.now("measures"))}
    values["base"] = values["base"] or ""
    parsed: Any = parse(get_study(Roar.id), {"test": "any", "settings": question.now("settings")})
    tests = {source: _test_controls(source).now("test") for source in question.now("sources")}
    values["tests"] = {source: test for source, test in tests.items() if test}
    return validated(RoarView, **values, settings=parsed.settings, **data_choice(question, RoarView))


def parameters(request: Request) -> RoarParameters:
    """Return the parameters of a ``request`` for a grid; raises ``RequestError`` for invalid ones."""
    asked: RoarParameters = get_study(Roar.id).parameters(request)
    return asked


def draw_question(run: Callable[[], None], label: str, ask_time: Callable[[], None]) -> None:
    """Draw all controls; a button with this ``label`` calls ``run``, and another ``ask_time`` for the duration."""
    base, source, test = st.columns(3, vertical_alignment="bottom")
    with base:
        _draw_base()
    with source:
        question.draw_source("Training data", "data", _SOURCES, _DATA_HELP)
    with test:
        question.draw_source("Test data", "test", _SOURCES, _TEST_HELP)
    question.draw_specs("Measures", "measures", _measures(), parse_spec, _MEASURES_HELP)
    question.choose("Masking", "recursive", _KINDS, _KINDS_HELP)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=230):
            _draw_steps()
        with st.container(width=130):
            seeds = explained("Models at each ratio: with three or more there are intervals.", "seed", "interval")
            question.draw_number("Seeds", "seeds", _MOST_SEEDS, seeds)
        with st.container(width=160):
            question.select("Performance", "metric", _METRICS, _HELP["metric"])
        with st.popover("More", icon=":material/tune:", width="content"):
            _draw_more()
        st.button("How long?", icon=":material/timer:", on_click=ask_time, help=_TIME_HELP, width="content")
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")


def draw_further_cells() -> None:
    """Draw further bases and data sets, with the test data of each."""

    def draw_test(source: str) -> None:
        label = f"Test data of {file_tasks.source_name(source, session.user())}"
        _test_controls(source).draw_source(label, "test", _SOURCES, _TEST_HELP)

    bases = {base: _told(base) for base in ARCHITECTURES}
    draw_further(question, None, known=Known(bases, _SOURCES), draw_more=draw_test)


def _test_controls(source: str) -> Question:
    """Return the controls of the test data of a further data set."""
    own = further(question, source)
    own.seed({"test": _usual_test(question.now("test") or "")})
    return own


def _draw_base() -> None:
    """Draw the control of the base: an architecture, a model that is here, or a typed one."""
    own, current = own_names(session.user().id), question.now("base")
    known = [*ARCHITECTURES, *embedded_models(), *own]
    bases = known if current in known else [*known, current]

    def told(base: str) -> str:
        return _told(base) if base in ARCHITECTURES else own.get(base, model_name(base or ""))

    st.selectbox(
        "Base",
        bases,
        index=bases.index(current),
        key=question.key("base"),
        accept_new_options=True,
        format_func=told,
        help=_BASE_HELP,
    )


def _told(architecture: str) -> str:
    return f"{architecture}, random weights"


def _measures() -> list[str]:
    """Return the measures of the paper, and all others that the base supports."""
    base = question.now("base") or ""
    if base in ARCHITECTURES:
        facts = MODEL_TYPES.get(f"{OURS}{base}") or MODEL_TYPES[base]
        able = [name for name, method in methods().items() if not method.unsupported(facts.architecture)]
    else:
        able = list(supported_methods(card_of(base)))
    paper = [name for name in PAPER_MEASURES if name.partition(":")[0] in able]
    return [*paper, *(name for name in able if name != RANDOM)]


def _draw_steps() -> None:
    """Draw the amounts to mask: shares, or numbers of tokens."""
    if question.now("masked") == "counts":
        _draw_typed("Tokens masked", "counts", "1:10", _HELP["counts"])
    else:
        _draw_typed("Shares masked, %", "ratios", "0:100:10", _HELP["ratios"])


def _draw_more() -> None:
    question.choose("Mask", "masked", _MASKED, "Shares of a text's tokens, or a number of tokens of every text.")
    question.choose("Largest first", "signs", _SIGNS, _HELP["signs"])
    recipes = {"": "The usual one", **{name: name.capitalize() for name in RECIPES}}
    question.select("Recipe", "recipe", recipes, _HELP["recipe"])
    _draw_typed("Settings of training", "settings", "epochs=3, batch_size=8", _HELP["settings"])
    _draw_typed("Validation", "validation", "0.15", _HELP["validation"])
    if not settings().hosted:
        _draw_typed("Keep all weights in", "weights_folder", "a folder", _HELP["weights_folder"])
    question.draw_number("Fewest words of a text", "shortest", _MOST_SHORTEST, _HELP["shortest"])
    minutes, key = question.now("minutes"), question.key("minutes")
    st.number_input("Minutes at most", 0, _MOST_MINUTES, minutes, key=key, help=_MINUTES_HELP)
    seed = explained("Of the first model at each ratio; the others have the next seeds.", "seed")
    st.number_input("First seed", 0, _MOST_SEED, question.now("seed"), key=question.key("seed"), help=seed)
    question.select("Computed", "preset", _PRESETS, _HELP["preset"], _bring_what_belongs_to_the_preset)
    st.toggle("Cut faithfulness to [-1, 1]", question.now("clip"), key=question.key("clip"), help=_HELP["clip"])


def _bring_what_belongs_to_the_preset() -> None:
    question.set("clip", question.now("preset") == "reference")


def _draw_typed(label: str, name: str, placeholder: str, help_text: str) -> None:
    st.text_input(label, question.now(name), key=question.key(name), placeholder=placeholder, help=help_text)


PAGE = AnalysisPage(
    NAME,
    question=question,
    record=RoarView,
    first=first_view,
    seed=seed_controls,
    draft=draft,
    button="Train the grid",
    drawn=("minutes", "example", "by", "on"),
    shows=shows,
)
