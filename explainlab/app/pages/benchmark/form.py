"""The form of the Benchmark page: a data set, methods and metrics, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Literal

import streamlit as st
from pydantic import Field

from explainlab.analyses.evaluation.analysis import Evaluation
from explainlab.analyses.masked_distribution.analysis import MaskedDistribution, check_of
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.precision.analysis import Precision
from explainlab.analyses.registry import complete, new_request, requirements
from explainlab.app import session
from explainlab.app.components import bring_into_view
from explainlab.app.data_set import data_choice, data_controls, is_there
from explainlab.app.glossary import explained
from explainlab.app.page import AnalysisPage
from explainlab.app.pages.benchmark.chain import Chain, chain_controls
from explainlab.app.place import Answer
from explainlab.app.question import Question, card_of, chip
from explainlab.app.text import plain
from explainlab.app.view import DataView, SharedInputs
from explainlab.attribution.registry import parse_spec, swept
from explainlab.data import without_marks
from explainlab.data.files import column_names
from explainlab.errors import DataError, ExplainLabError, RequestError
from explainlab.metrics.registry import get_metric, metrics, parse_metric
from explainlab.models.loading import ModelCard
from explainlab.request import GOLD, Dtype, Output, Request, Unit, validated
from explainlab.service import file_tasks
from explainlab.service.service import Service

Order = Literal["best", "worst"]
TRUTH_METRICS = ("ground_truth_overlap", "mean_rank_percentage", "auprc")
"""Metrics of a benchmark that compare with its known truth."""
MOST_HALVED = 50
"""The texts on which number formats are compared."""


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
    rows: int = Field(40, ge=1)
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    attributions: tuple[str, ...] = ()
    target: str = "predicted"
    output: Output | Literal["own"] = "own"
    unit: Unit = "token"
    seed: int = Field(0, ge=0, lt=2**32)
    dtype: Dtype = "float32"
    cell_method: str = ""
    cell_metric: str = ""
    order: Order = "best"
    opened: tuple[str, str] | None = None
    published: str = ""
    first: str = ""
    second: str = ""
    row: int | None = Field(None, ge=1)
    row_in: Literal["cell", "pair"] = "cell"
    truth: Chain | None = None

    def request(self) -> Request:
        """Return the request for the evaluation."""
        parameters: dict[str, Any] = {
            **self.drawn,
            "methods": list(self.methods),
            "metrics": list(self.metrics),
            "settings": self.settings,
            "attributions": list(self.attributions),
        }
        shared = self.model_dump(include={"model", "target", "unit", "seed", "dtype"})
        output = None if self.output == "own" else self.output
        return new_request(question=Evaluation.id, **shared, **self.subject, output=output, parameters=parameters)

    def precision_request(self) -> Request:
        """Return the request for the effect of half precision on the same maps, of some of the texts."""
        parameters = {
            "rows": min(self.rows, MOST_HALVED),
            "sample": "random" if self.sample == "all" else self.sample,
            "methods": self._method_names,
        }
        shared = self.model_dump(include={"model", "target", "unit", "seed"})
        output = None if self.output == "own" else self.output
        return new_request(question=Precision.id, **shared, **self.subject, output=output, parameters=parameters)

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
    parameters = request.parameters
    own = request.output == "probability" and parameters["outputs"] == "own"
    *others, last = parameters["methods"]
    values = request.model_dump(include={"model", "columns", "classes", "target", "unit", "seed", "dtype"})
    return validated(
        BenchmarkView,
        **values,
        **{name: parameters[name] for name in ("rows", "sample", "metrics", "settings", "attributions")},
        source=request.data,
        methods=tuple(others if last == RANDOM and others else parameters["methods"]),
        output="own" if own else request.output,
    )


def _shows_precision(request: Request) -> BenchmarkView | None:
    """Return the view whose section on precision answers ``request``; None where the page would ask otherwise."""
    parameters = request.parameters
    own = request.output == "probability" and parameters["outputs"] == "own"
    values = request.model_dump(include={"model", "columns", "classes", "target", "unit", "seed"})
    values |= {"source": request.data, **{name: parameters[name] for name in ("rows", "sample")}}
    values |= {"methods": tuple(parameters["methods"]), "output": "own" if own else request.output}
    view = validated(BenchmarkView, **{**first_view().model_dump(), **values})
    return view if complete(view.precision_request()).parameters == parameters else None


NAME = "benchmark"
CELL, PAIR, ALONE = "benchmark_cell", "benchmark_pair", "benchmark_alone"
"""The containers of the texts behind a cell, of those on which two methods disagree most, and of one of several."""
question = Question(NAME)

_ASKED = ("model", "target", "output", "unit", "seed", "settings", "attributions", "dtype")
_OPEN = (
    *("cell_method", "cell_metric", "order", "opened", "published"),
    *("first", "second", "row", "row_in", "truth"),
)
DRAWN = (*_OPEN, "by", "on")
_MOST_SEED = 2**32 - 1


def seed_controls(view: BenchmarkView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in (*_ASKED, *_OPEN)}
    by_family = {
        f"metrics_{family}": [name for name in view.metrics if _family(name) == family] for family in _families()
    }
    values |= {**data_controls(view), "by": view.by or next(iter(view.metrics), "")}
    lists = {"methods": list(view.methods), "metrics_order": view.metrics, **by_family}
    question.seed({**values, **lists, **chain_controls(view.truth)}, force)


def draft() -> BenchmarkView:
    """Return the view that the controls describe now; raises ``RequestError`` for an invalid one."""
    values = {name: question.now(name) for name in (*_ASKED, *_OPEN)}
    methods, settings = tuple(question.now("methods")), values.pop("settings")
    ids = [spec.partition(":")[0] for spec in methods]
    return validated(
        BenchmarkView,
        **values,
        methods=methods,
        metrics=_chosen_metrics(),
        settings={name: chosen for name, chosen in settings.items() if name in ids},
        **data_choice(question),
    )


def draw_question(run: Callable[[], None], label: str) -> ModelCard | None:
    """Draw all controls; a button with this ``label`` calls ``run``.

    Returns the card of the model (None: not known yet).
    """

    def change_model() -> None:
        question.keep_data(card_of(question.now("model") or ""))

    with st.container(horizontal=True, vertical_alignment="bottom"):
        card = question.draw_model(change_model)
        _draw_target(card)
    source, rows = st.columns(2, vertical_alignment="bottom")
    with source:
        question.draw_data(card)
    with rows:
        question.draw_rows()
    question.draw_methods(card)
    _draw_metrics()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.draw_outputs()
        question.draw_unit()
        seed = explained("For what is random: the rows, the random maps, methods that sample.", "seed")
        st.number_input("Seed", 0, _MOST_SEED, question.now("seed"), key=question.key("seed"), help=seed, width=140)
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")
    return card


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


def _draw_target(card: ModelCard | None) -> None:
    targets = {name: name for name in ("predicted", *(card.labels if card else ()))}
    targets[GOLD] = "the row's own label"
    keep_known("target", list(targets), "predicted")
    question.select("Target", "target", targets, explained("The class that the scores speak for or against.", "target"))


def _draw_metrics() -> None:
    """Draw a box for every family; the first, the largest, has a line of its own."""
    boxes = _families()
    places = [st.container(), *st.columns(len(boxes) - 1)]
    for place, (family, names) in zip(places, boxes.items(), strict=True):
        with place:
            question.draw_specs(
                f"{family} metrics",
                f"metrics_{family}",
                [parse_metric(name).name for name in names],
                parse_metric,
                explained("To set options, type a metric's id and its options: log_odds:k=10.", *names),
            )


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


def _chosen_metrics() -> tuple[str, ...]:
    """Return the metrics of all families: first those of the view that was opened, in its order."""
    chosen = [name for family in _families() for name in question.now(f"metrics_{family}")]
    before = [name for name in question.now("metrics_order") if name in chosen]
    return tuple([*before, *(name for name in chosen if name not in before)])


PAGE = AnalysisPage(
    NAME,
    question=question,
    record=BenchmarkView,
    first=first_view,
    seed=seed_controls,
    draft=draft,
    button="Compare",
    drawn=DRAWN,
    shows=shows,
)
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
