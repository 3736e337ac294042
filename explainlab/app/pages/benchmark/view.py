"""What the Benchmark page shows, as one plain record: the body of a link."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from pydantic import Field

from explainlab.analyses.evaluation.analysis import Evaluation
from explainlab.analyses.masked_distribution.analysis import MaskedDistribution, check_of
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.precision.analysis import Precision
from explainlab.analyses.registry import complete, new_request
from explainlab.app.pages.benchmark.chain import Chain
from explainlab.app.question import chip
from explainlab.app.view import CarriedText, DataView
from explainlab.attribution.registry import parse_method, swept
from explainlab.metrics.registry import parse_metric
from explainlab.request import Dtype, Output, Request, Unit, checked

Order = Literal["best", "worst"]
TRUTH_METRICS = ("ground_truth_overlap", "mean_rank_percentage", "auprc")
"""What a benchmark with a known truth compares with it."""
MOST_HALVED = 50
"""The texts on which number formats are compared."""


class BenchmarkView(DataView):
    """Methods by metrics on a data set, and what of the answer is open.

    ``methods`` and ``metrics`` may have options after colons, ``settings`` are parameters of methods by id;
    ``attributions`` are files of attributions made elsewhere. ``output``: ``own`` is each method's own.

    ``opened`` is the cell whose own benchmark is shown, a model and a data set (None: all cells are).

    ``published`` is the table of a paper that is shown (empty: the one that fits best).

    ``cell_method`` and ``cell_metric`` (as it was asked) are the cell whose texts are listed, in the ``order`` of their
    values, ``first`` and ``second`` the two methods whose disagreement is (empty: none). ``by`` is the metric of the
    sections below as well. ``row`` is the text that is open, in the list ``row_in``. ``truth``: how a model with a
    known truth was made, if one was.
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
        """The evaluation."""
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
        """What half precision does to the same maps, of some of the texts."""
        parameters = {
            "rows": min(self.rows, MOST_HALVED),
            "sample": "random" if self.sample == "all" else self.sample,
            "methods": self._method_names,
        }
        shared = self.model_dump(include={"model", "target", "unit", "seed"})
        output = None if self.output == "own" else self.output
        return new_request(question=Precision.id, **shared, **self.subject, output=output, parameters=parameters)

    def masked_request(self) -> Request:
        """Whether masked texts look like training texts to the model, on the data set."""
        return check_of(self.request(), self.source)

    def shown_requests(self) -> list[Request]:
        further = [] if len(self.cells) > 1 else [self.precision_request(), self.masked_request()]
        return [*self.text_requests(), *further]

    def method_labels(self) -> list[str]:
        return [chip(parse_method, name) for name in self.methods]

    def carried_row(self, text: str, text_pair: str | None, text_seed: int) -> CarriedText:
        """A text of the data set, explained elsewhere by all methods as here."""
        carried: CarriedText = {
            **self.carried(),
            "text": text,
            "text_pair": text_pair,
            "methods": tuple(self._method_names),
            "seed": text_seed,
            "dtype": self.dtype,
        }
        if self.output != "own":
            carried["output"] = self.output
        return carried

    @property
    def _method_names(self) -> list[str]:
        """The methods with their settings, each alone."""
        return [parse_method(spec, self.settings).name for name in self.methods for spec in swept(name)]


def known_view(chain: Chain, place: int, model: str, supported: Collection[str]) -> BenchmarkView:
    """The benchmark of the ``model`` that has learned the file in this ``place``, on the rows held out.

    Of its methods those whose ids are ``supported``, or the gradient.
    """
    methods = tuple(name for name in chain.methods if parse_method(name).method in supported)
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
    """What the page opens with: an embedded model, the examples that suit it, cheap methods and metrics."""
    metrics = ("comprehensiveness", "sufficiency", "log_odds", "aopc_comprehensiveness")
    return BenchmarkView(
        model="embedded:bert-mini-sst2",
        source="embedded:sentiment",
        sample="random",
        methods=("gradient", "input_x_gradient", "lrp", "attention_average", "attention_rollout", "occlusion"),
        metrics=tuple(parse_metric(name).name for name in metrics),
    )


def shows(request: Request) -> BenchmarkView | None:
    """The view that shows the answer to ``request``; None unless it is about methods on a data set, as asked here."""
    if request.question == Precision.id and request.data is not None:
        return _shows_precision(request)
    if request.question == MaskedDistribution.id and request.data is not None:
        values = request.model_dump(include={"model", "columns", "classes", "dtype"}) | {"source": request.data}
        return checked(BenchmarkView, **{**first_view().model_dump(), **values})
    if request.question != Evaluation.id or request.data is None:
        return None
    parameters = request.parameters
    own = request.output == "probability" and parameters["outputs"] == "own"
    *others, last = parameters["methods"]
    values = request.model_dump(include={"model", "columns", "classes", "target", "unit", "seed", "dtype"})
    return checked(
        BenchmarkView,
        **values,
        **{name: parameters[name] for name in ("rows", "sample", "metrics", "settings", "attributions")},
        source=request.data,
        methods=tuple(others if last == RANDOM and others else parameters["methods"]),
        output="own" if own else request.output,
    )


def _shows_precision(request: Request) -> BenchmarkView | None:
    """The view whose section on precision has the answer to ``request``; None where the page would ask otherwise."""
    parameters = request.parameters
    own = request.output == "probability" and parameters["outputs"] == "own"
    values = request.model_dump(include={"model", "columns", "classes", "target", "unit", "seed"})
    values |= {"source": request.data, **{name: parameters[name] for name in ("rows", "sample")}}
    values |= {"methods": tuple(parameters["methods"]), "output": "own" if own else request.output}
    view = checked(BenchmarkView, **{**first_view().model_dump(), **values})
    return view if complete(view.precision_request()).parameters == parameters else None
