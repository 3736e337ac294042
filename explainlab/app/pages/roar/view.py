"""What the ROAR page shows, as one plain record: the body of a link."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, Self

from pydantic import Field

from explainlab.analyses.registry import complete, new_request
from explainlab.analyses.roar.analysis import Roar
from explainlab.analyses.roar.parameters import PAPER_MEASURES
from explainlab.analyses.roar_estimate.analysis import RoarEstimation
from explainlab.analyses.three_answers.analysis import ThreeAnswers, about_grid, grid_of
from explainlab.app.question import chip
from explainlab.app.view import AnalysisView, CarriedText, ChosenSets
from explainlab.attribution.registry import parse_method
from explainlab.errors import RequestError
from explainlab.models.loading import model_name
from explainlab.request import Request, checked
from explainlab.training import ARCHITECTURES

HELD_OUT = "0.2"
"""The share of a further data set's rows to test on."""
_NAMES = (
    *("recursive", "seeds", "metric", "validation", "signs", "shortest", "preset", "clip", "recipe", "settings"),
    *("weights_folder", "test"),
)


class RoarView(ChosenSets, AnalysisView):
    """A grid: ``base`` is an architecture or a model, ``source`` the training data; the rest as its parameters say.

    Of further data sets ``tests`` name the test data; they hold out a share where nothing else is said.

    ``ratios`` are per cent and ``counts`` numbers of tokens, as they are typed; ``masked`` says which of them count. It
    may take so many ``minutes`` (0: any time), which changes no request but that for its time. While there is no
    grid an ``example`` is shown.
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
        """The grid; raises :class:`RequestError` without data, and for what cannot be asked."""
        return self._request(Roar.id)

    def time_request(self) -> Request:
        """How long the grid takes; raises as :meth:`request`."""
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
        """The grid of every cell."""
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
        if source != self.source and not is_share(self.validation):
            own["validation"] = type(self).model_fields["validation"].default
        return self.alone(source).model_copy(update=own)

    def test_of(self, source: str) -> str:
        """The test data of a data set: a further one holds out a share, unless its own are named."""
        if source == self.source:
            return self.test
        return self.tests.get(source) or usual_test(self.test)

    @property
    def whole_data(self) -> str | None:
        """See :attr:`AnalysisView.whole_data`."""
        return self.source

    def method_labels(self) -> Sequence[str]:
        return [chip(parse_method, name) for name in self.measures]

    def line(self) -> str:
        base = self.base if self.base in ARCHITECTURES else model_name(self.base)
        return base if len(self.cells) == 1 else f"{base} · {len(self.cells)} cells"

    def carrying(self, carried: CarriedText) -> Self:
        """As others, but labels that mean classes of another model mean nothing here."""
        view = super().carrying(carried)
        return view.model_copy(update={"classes": {}})


def first_view() -> RoarView:
    """What the page opens with: the example's grid, which takes minutes; the paper's has 11 ratios and five seeds."""
    return RoarView(
        source="embedded:meals",
        test="embedded:meals-test",
        ratios="0:100:20",
        seeds=3,
        measures=("attention_last", "gradient:norm=one_hot", "input_x_gradient"),
        settings={"width": 32, "embedding_size": 64, "epochs": 8, "learning_rate": 0.003, "batch_size": 16},
    )


def shows(request: Request) -> RoarView | None:
    """The view that shows the answer to ``request``; None unless it is a grid, or the page's question about one."""
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
    return checked(RoarView, base=request.model, source=request.data, **values)


def usual_test(first: str) -> str:
    """The test data of a further data set where those of the ``first`` are these: a share of its rows."""
    return first if is_share(first) else HELD_OUT


def is_share(source: str) -> bool:
    """Whether test or validation data are a share of the training data, not a data set."""
    try:
        float(source)
    except ValueError:
        return False
    return True


def listed(numbers: Sequence[int]) -> str:
    """Rising ``numbers`` as they are typed: ``0:100:20`` for equal steps, else a list."""
    steps = {after - before for before, after in pairwise(numbers)}
    if len(numbers) > 2 and len(steps) == 1:
        return f"{numbers[0]}:{numbers[-1]}:{steps.pop()}"
    return ", ".join(map(str, numbers))
