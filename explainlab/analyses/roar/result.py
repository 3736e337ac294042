"""The result of the study ``roar``: its fields are its JSON."""

from __future__ import annotations

from typing import Literal

from explainlab.analyses.base import Record

Verdict = Literal["below random", "not told apart", "above random"]
"""The place of a measure's performance beside that of random words, by the interval of the difference over seeds."""
NodeStatus = Literal["waiting", "running", "done", "failed", "not run"]


class Estimated(Record):
    """A mean over seeds with its BCa 95% interval; ``low`` and ``high`` are None for fewer than three seeds.

    ``seeds`` are the values themselves, in the order of :attr:`RoarData.seeds`; None for one that is not known.
    """

    mean: float | None
    low: float | None
    high: float | None
    seeds: list[float | None]


class MeasureFacts(Record):
    """A measure of importance: its ``name`` as a spec, the ``label`` for readers, and whether it is the control."""

    name: str
    label: str
    random: bool


class CurvePoint(Estimated):
    """The performance on the test texts with ``ratio`` per cent (or tokens, see ``counted``) of each text masked.

    Of random words there is one curve, whose ``recursive`` is False. ``difference`` is random's performance minus this
    one's, seed by seed, and ``verdict`` what its interval says; both are None for random, at 0 and at 100%.
    """

    measure: str
    recursive: bool
    ratio: int
    difference: Estimated | None = None
    verdict: Verdict | None = None


class Faithfulness(Estimated):
    """The area between a measure's curve and random's as a share of that between the lower bound and random's (Eq. 3).

    Ratios go up to ``upto``. ``verdict`` is that of the numerator: the area between the two curves.
    """

    measure: str
    recursive: bool
    upto: int
    verdict: Verdict | None


class Leak(Record):
    """The performance rises from ``before`` to ``ratio`` by ``rise``, more than twice its standard error over seeds."""

    measure: str
    recursive: bool
    before: int
    ratio: int
    rise: float


class Sparsity(Record):
    """The concentration of importance: the share of a text's sum of |importance| on its most important tokens.

    Values are means over test texts and seeds. ``tokens``: the shares of the first 1 to 10; ``percents``: of the first
    10% to 100%, rounded up.
    """

    measure: str
    tokens: list[float]
    percents: list[float]


class SplitFacts(Record):
    """Texts of a part of the data, and how many content tokens their first parts have: mean, standard deviation."""

    split: Literal["train", "validation", "test"]
    texts: int
    mean: float
    deviation: float


class NodeFacts(Record):
    """A model of the grid: trained with ``ratio`` of each text masked as ``measure`` says.

    The ratios 0 and 100 belong to random, whose models all measures share. ``seconds`` are those of training with
    validation and test, ``importance`` those of measures on it; None while unknown. ``reason``: why it failed, or was
    not run. ``weights``: their directory, if the request keeps them.
    """

    seed: int
    measure: str
    recursive: bool
    ratio: int
    status: NodeStatus
    seconds: float | None = None
    importance: float | None = None
    epochs: int | None = None
    best_epoch: int | None = None
    performance: float | None = None
    reason: str = ""
    weights: str = ""


class CostFacts(Record):
    """The time of a measure's models, summed over seeds and ratios: seconds of training, and of importance."""

    measure: str
    recursive: bool
    training: float
    importance: float


class Expected(Record):
    """Seconds that all models and measures were expected to take, by the study ``roar_estimate``."""

    training: float
    importance: float


class TokenSpan(Record):
    """A token that may be masked: characters ``start`` to ``end`` (half-open) of the text."""

    start: int
    end: int


class MaskedBy(Record):
    """The mask of a text by a measure with the first seed.

    ``at``: for each token the place in ``ratios`` at which it is masked first (None: never before 100%).
    ``predicted``: the class at each of ``ratios``, an index into the labels; None where it is not known.
    ``probability``: that of the text's own label.
    """

    measure: str
    recursive: bool
    at: list[int | None]
    predicted: list[int | None]
    probability: list[float | None]


class RoarText(Record):
    """A test text, by its ``row`` in the file, and how each measure masks it."""

    row: int
    text: str
    text_pair: str | None
    label: int
    tokens: list[TokenSpan]
    masked: list[MaskedBy]


class RoarData(Record):
    """Performance with more and more words masked, each time by a model trained anew.

    ``base`` is an architecture or a model; ``curves`` show ``metric``. ``ratios`` are per cent of each text's tokens,
    or, if ``counted``, numbers of tokens; the first is 0 and the last 100 (all tokens, also if ``counted``).
    ``unfinished`` is the number of models that are still to be made, ``failed`` of those that cannot be.
    ``performance`` is that of whole texts, ``lower_bound`` that with all tokens masked. ``texts`` are the first of the
    test file. ``short`` counts texts with fewer tokens than the largest count, which are masked whole. ``expected`` is
    the earlier estimate, if there is one.
    """

    base: str
    labels: list[str]
    metric: str
    seeds: list[int]
    measures: list[MeasureFacts]
    recursive: list[bool]
    ratios: list[int]
    counted: bool
    performance: Estimated
    lower_bound: Estimated
    curves: list[CurvePoint]
    faithfulness: list[Faithfulness]
    leakage: list[Leak]
    sparsity: list[Sparsity]
    lengths: list[SplitFacts]
    nodes: list[NodeFacts]
    costs: list[CostFacts]
    unfinished: int
    failed: int
    short: int
    texts: list[RoarText]
    expected: Expected | None = None
