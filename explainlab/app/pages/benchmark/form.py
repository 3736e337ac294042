"""The form of the Benchmark page: a data set, methods and metrics, and the requests that these make."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Annotated, Any, Literal

import streamlit as st
from pydantic import Field

from explainlab.analyses.evaluation.analysis import Evaluation
from explainlab.analyses.masked_distribution.analysis import MaskedDistribution, check_of
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.precision.analysis import Precision
from explainlab.analyses.registry import complete, requirements
from explainlab.app import session
from explainlab.app.components import bring_into_view
from explainlab.app.controls import (
    REDRAW,
    SEED,
    TARGET,
    Drawing,
    Form,
    Held,
    Methods,
    Outputs,
    RowCount,
    Scored,
    Seed,
    Several,
    targets,
)
from explainlab.app.data_set import is_there
from explainlab.app.page import AnalysisPage
from explainlab.app.pages.benchmark.chain import Chain, chain_controls
from explainlab.app.place import Answer
from explainlab.app.question import Question, chip
from explainlab.app.text import plain
from explainlab.app.view import DataView, SharedInputs, view_of
from explainlab.attribution.registry import parse_spec, swept
from explainlab.data import without_marks
from explainlab.data.files import column_names
from explainlab.errors import DataError, ExplainLabError, RequestError
from explainlab.metrics.registry import get_metric, metrics, parse_metric
from explainlab.request import GOLD, Dtype, Request, validated
from explainlab.service import file_tasks
from explainlab.service.service import Service

Order = Literal["best", "worst"]
TRUTH_METRICS = ("ground_truth_overlap", "mean_rank_percentage", "auprc")
"""Metrics of a benchmark that compare with its known truth."""
MOST_HALVED = 50
"""The texts on which number formats are compared."""


NAME = "benchmark"
CELL, PAIR, ALONE = "benchmark_cell", "benchmark_pair", "benchmark_alone"
"""The containers of the texts behind a cell, of those on which two methods disagree most, and of one of several."""
question = Question(NAME)


def _families() -> dict[str, list[str]]:
    """Return the ids of all metrics by family, in the order shown."""
    by_family = groupby(metrics().values(), lambda metric: metric.family)
    return {family: [metric.id for metric in members] for family, members in by_family}


def _family(name: str) -> str:
    """Return the family of the metric that ``name`` asks for; the first family if it asks for none."""
    try:
        return get_metric(name.partition(":")[0].strip()).family
    except RequestError:
        return next(iter(_families()))


class ChosenMetrics(Held):
    """The metrics, in a box for every family; the first family, the largest, has a line of its own."""

    def seeds(self, record: BenchmarkView) -> dict[str, Any]:
        boxes = {family: [name for name in record.metrics if _family(name) == family] for family in _families()}
        return {**{f"metrics_{family}": names for family, names in boxes.items()}, "metrics_order": record.metrics}

    def read(self, question: Question) -> tuple[str, ...]:
        """Return the metrics of all families: first those of the view that was opened, in its order."""
        chosen = [name for family in _families() for name in question.now(f"metrics_{family}")]
        before = [name for name in question.now("metrics_order") if name in chosen]
        return tuple(dict.fromkeys([*before, *chosen]))

    def draw(self, at: Drawing) -> None:
        boxes = _families()
        places = [st.container(), *st.columns(len(boxes) - 1)]
        for place, (family, names) in zip(places, boxes.items(), strict=True):
            with place:
                Several(
                    f"{family} metrics",
                    "To set options, type a metric's id and its options: log_odds:k=10.",
                    key=f"metrics_{family}",
                    words=tuple(names),
                    options=dict.fromkeys((parse_metric(name).name for name in names), ""),
                    open=True,
                    parse=parse_metric,
                ).draw(at)


class Settings(Held):
    """The settings of methods, of which those of the chosen methods count."""

    def read(self, question: Question) -> dict[str, Any]:
        ids = [spec.partition(":")[0] for spec in question.now("methods")]
        return {name: chosen for name, chosen in question.now(self.key).items() if name in ids}


class By(Held):
    """The metric of the sections below; at first the first metric."""

    def seeds(self, record: BenchmarkView) -> dict[str, Any]:
        return {self.key: record.by or next(iter(record.metrics), "")}


class Truth(Held):
    """The recipe of a known truth, with its controls."""

    def seeds(self, record: BenchmarkView) -> dict[str, Any]:
        return {self.key: record.truth, **chain_controls(record.truth)}


def _targets(at: Drawing) -> dict[str, str]:
    return {**targets(at), GOLD: "the row's own label"}


_SEED = replace(SEED, help="For what is random: the rows, the random maps, methods that sample.", width=140)


class BenchmarkView(DataView):
    """Methods by metrics on a data set, and the open parts of the answer.

    ``methods`` and ``metrics`` may have options after colons, ``settings`` are parameters of methods by id;
    ``attributions`` are files of attributions made elsewhere. ``output``: ``own`` is each method's own.

    ``opened`` is the cell whose own benchmark is shown, a model and a data set (None: all cells are).

    ``published`` is the table of a paper that is shown (empty: the one that fits best).

    ``cell_method`` and ``cell_metric`` (with its options) are the cell whose texts are listed, in the ``order`` of
    their values; ``first`` and ``second`` are the two methods whose disagreement is listed (empty: none). ``by`` is the
    metric of the sections below as well. ``row`` is the open text, in the list ``row_in``. ``truth`` is the recipe of a
    model with a known truth, if one was made.
    """

    page: Literal["benchmark"] = "benchmark"
    rows: RowCount = 40
    methods: Methods
    metrics: Annotated[tuple[str, ...], ChosenMetrics(row="methods")]
    settings: Annotated[dict[str, dict[str, Any]], Settings()] = Field(default_factory=dict)
    attributions: tuple[str, ...] = ()
    target: Annotated[str, replace(TARGET, row="model", options=_targets)] = "predicted"
    output: Outputs = "own"
    unit: Scored = "token"
    seed: Annotated[Seed, _SEED] = 0
    dtype: Dtype = "float32"
    by: Annotated[str, By(redraw=True)] = ""
    cell_method: Annotated[str, REDRAW] = ""
    cell_metric: Annotated[str, REDRAW] = ""
    order: Annotated[Order, REDRAW] = "best"
    opened: Annotated[tuple[str, str] | None, REDRAW] = None
    published: Annotated[str, REDRAW] = ""
    first: Annotated[str, REDRAW] = ""
    second: Annotated[str, REDRAW] = ""
    row: Annotated[int | None, REDRAW, Field(ge=1)] = None
    row_in: Annotated[Literal["cell", "pair"], REDRAW] = "cell"
    truth: Annotated[Chain | None, Truth(redraw=True)] = None

    def request(self) -> Request:
        """Return the request for the evaluation."""
        return self.asks(Evaluation.id, self)

    def precision_request(self) -> Request:
        """Return the request for the effect of half precision on the same maps, of some of the texts."""
        sample = "random" if self.sample == "all" else self.sample
        rows, methods = min(self.rows, MOST_HALVED), self._method_names
        return self.asks(Precision.id, self, rows=rows, sample=sample, methods=methods, dtype="float32")

    def masked_request(self) -> Request:
        """Return the request that compares masked texts with training texts, on the data set."""
        return check_of(self.request(), self.source)

    def shown_requests(self) -> list[Request]:
        further = [] if len(self.cells) > 1 else [self.precision_request(), self.masked_request()]
        return [*self.text_requests(), *further]

    def method_labels(self) -> list[str]:
        return [chip(parse_spec, name) for name in self.methods]

    def row_inputs(self, text: str, text_pair: str | None, text_seed: int) -> SharedInputs:
        """Return the inputs that explain a text of the data set elsewhere, by all methods as here."""
        inputs: SharedInputs = {
            **self.shared_inputs(),
            "text": text,
            "text_pair": text_pair,
            "methods": tuple(self._method_names),
            "seed": text_seed,
            "dtype": self.dtype,
        }
        if self.output != "own":
            inputs["output"] = self.output
        return inputs

    @property
    def _method_names(self) -> list[str]:
        """The methods with their settings, each alone."""
        return [parse_spec(spec, self.settings).name for name in self.methods for spec in swept(name)]


def known_view(chain: Chain, place: int, model: str, supported: Collection[str]) -> BenchmarkView:
    """Return the view of the ``model`` that has learned the file in this ``place``, on the rows held out.

    Of its methods those whose ids are ``supported``, or the gradient.
    """
    methods = tuple(name for name in chain.methods if parse_spec(name).method in supported)
    return BenchmarkView(
        model=model,
        source=chain.files[place][1],
        rows=chain.rows,
        sample=chain.sample,
        methods=methods or ("gradient",),
        metrics=tuple(dict.fromkeys([*chain.metrics, *(parse_metric(name).name for name in TRUTH_METRICS)])),
        by=parse_metric(TRUTH_METRICS[0]).name,
        truth=chain,
    )


def first_view() -> BenchmarkView:
    """Return the first view of the page: an embedded model, the examples that suit it, cheap methods and metrics."""
    metrics = ("comprehensiveness", "sufficiency", "log_odds", "aopc_comprehensiveness")
    return BenchmarkView(
        model="embedded:bert-mini-sst2",
        source="embedded:sentiment",
        sample="random",
        methods=("gradient", "input_x_gradient", "lrp", "attention_average", "attention_rollout", "occlusion"),
        metrics=tuple(parse_metric(name).name for name in metrics),
    )


def shows(request: Request) -> BenchmarkView | None:
    """Return the view that shows the answer to ``request``; None where the page would ask otherwise."""
    if request.question == Precision.id and request.data is not None:
        return _shows_precision(request)
    if request.question == MaskedDistribution.id and request.data is not None:
        values = request.model_dump(include={"model", "columns", "classes", "dtype"}) | {"source": request.data}
        return validated(BenchmarkView, **{**first_view().model_dump(), **values})
    if request.question != Evaluation.id or request.data is None:
        return None
    *others, last = methods = request.parameters["methods"]
    return view_of(first_view(), request, methods=others if last == RANDOM and others else methods)


def _shows_precision(request: Request) -> BenchmarkView | None:
    """Return the view whose section on precision answers ``request``; None where the page would ask otherwise."""
    view = view_of(first_view(), request, metrics=first_view().metrics, dtype="float32")
    return view if complete(view.precision_request()).parameters == request.parameters else None


FORM = Form(question, BenchmarkView)


def open_cell(method: str, metric: str) -> None:
    """List the texts behind a cell (a callback)."""
    question.seed({"cell_method": method, "cell_metric": metric, "row": None}, force=True)
    bring_into_view(CELL)


def open_alone(model: str, data: str) -> None:
    """Show the own benchmark of a model on a data set (a callback)."""
    question.seed({"opened": (model, data), "row": None}, force=True)
    bring_into_view(ALONE)


def open_pair(first: str, second: str) -> None:
    """List the texts on which two methods disagree most (a callback)."""
    question.seed({"first": first, "second": second, "row": None}, force=True)
    bring_into_view(PAIR)


def open_row(row: int, row_in: str) -> None:
    """Open a text in a list (a callback)."""
    question.seed({"row": row, "row_in": row_in}, force=True)


def keep_known(name: str, known: Sequence[str], default: str = "") -> None:
    """Reset a choice that this answer does not have to ``default``."""
    if question.now(name) not in known:
        question.set(name, default)


PAGE = AnalysisPage(NAME, form=FORM, first=first_view, button="Compare", shows=shows)
_ELSE = "Or name the column under File, columns and labels."


def find(service: Service, view: BenchmarkView) -> list[Answer]:
    """Return the answers of every cell of ``view``."""
    if not view.source:
        problem = RequestError("No data set is chosen.", "Choose the embedded examples, or type the path of a file.")
        return [Answer(problem=str(problem))]
    if len(view.cells) > 1:
        return PAGE.answer_set(service, view.text_requests())
    return [PAGE.answer(service, view.request())]


def draw_missing_marks(view: BenchmarkView) -> None:
    """Say what the controls' file lacks for their metrics, where ``view`` is not refused for it anyway."""
    with suppress(ExplainLabError):  # shown where the page asks about the data set
        draft = PAGE.draft()
        if draft.source != view.source or draft.metrics != view.metrics or draft.columns != view.columns:
            for error in _missing_marks(draft):
                st.warning(plain(f"{error} {_ELSE}"), icon=":material/rule:")


def _missing_marks(view: BenchmarkView) -> list[DataError]:
    """Return an error for each column that the metrics need and the file lacks; none while the file is read."""
    request = complete(view.request())
    roles = requirements(request).extra_columns
    if not roles or request.data is None:
        return []
    task, names = file_tasks.preview(view.source, session.user(), view.columns), column_names(view.columns)
    if not is_there(task):
        return []
    name, columns = file_tasks.source_name(view.source, session.user()), task.answer().columns
    return [without_marks(name, role, view.columns) for role in roles if names[role] not in columns]
