"""Activation curves of a text and of a data set: the typed result, and the answer in words."""

from __future__ import annotations

from typing import Literal

from explainlab.analyses.base import Record
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.records import Interval, KnownInterval, TextBody
from explainlab.analyses.significance import groups_of
from explainlab.analyses.wording import counted, joined, mean_words, quoted
from explainlab.metrics.evaluate import TIE
from explainlab.request import Unit

Direction = Literal["activation", "inverse_activation"]


class MethodCost(Record):
    """The cost of a method's scores of one text: ``passes`` of both kinds; ``relative`` leaves out the prediction."""

    forward: int
    backward: int
    seconds: float
    passes: int
    relative: int


class MethodScores(Record):
    """The scores [n_features] of the method ``method`` (its id with its options), and their cost."""

    method: str
    id: str
    label: str
    signed: bool
    scores: list[float]
    cost: MethodCost
    warnings: list[str]


class Curve(Record):
    """The predictions after ``k`` revealed features, in the ``order`` (indices [n]) of one method and direction.

    ``probabilities`` [n + 1, classes]; ``auc``: the area under the target's curve; ``flip``: the first k from which on
    the target is predicted (None: not at the end).
    """

    method: str
    direction: Direction
    order: list[int]
    k: list[int]
    probabilities: list[list[float]]
    auc: float
    flip: int | None

    @property
    def features(self) -> int:
        """The number of features to reveal."""
        return self.k[-1]


class ActivationText(TextBody):
    """Both curves of every method for one text; ``similarity`` by method is the cosine with the ``reference``."""

    text_seed: int
    baseline: str
    methods: list[MethodScores]
    curves: list[Curve]
    reference: MethodScores | None
    similarity: dict[str, float | None]

    @property
    def features_revealed(self) -> int:
        """The number of features to reveal."""
        return self.curves[0].features

    def curve(self, method: str, direction: Direction) -> Curve:
        """Return the curve of ``method`` in ``direction``."""
        return next(curve for curve in self.curves if (curve.method, curve.direction) == (method, direction))


class MeanCurve(Record):
    """The mean [grid] of the target's probability over texts with its 95% interval (None for a single text)."""

    method: str
    direction: Direction
    mean: list[float]
    low: list[float] | None
    high: list[float] | None


class MethodMeans(Record):
    """One method over ``n`` texts: mean areas with intervals, and the mean cost of a text."""

    method: str
    id: str
    label: str
    activation: KnownInterval
    inverse_activation: KnownInterval
    forward: float
    backward: float
    seconds: float
    passes: float
    relative: float
    n: int

    def area(self, direction: Direction) -> KnownInterval:
        """Return the mean area in ``direction``."""
        return self.activation if direction == "activation" else self.inverse_activation


class Similarity(Interval):
    """The mean cosine of a method's scores with the reference's, over the ``n`` texts that have one."""

    n: int


class TextAreas(Record):
    """The results of one text: ``auc`` and ``flip`` by method and direction, ``passes`` and cosines by method."""

    row: int
    text: str
    text_pair: str | None
    label: str | None
    text_seed: int
    target: str
    predicted: str
    features: int
    auc: dict[str, dict[Direction, float]]
    flip: dict[str, dict[Direction, int | None]]
    passes: dict[str, int]
    similarity: dict[str, float | None]


class ActivationData(Record):
    """Mean curves on the ``grid`` of shares [51], the table of methods, and the areas of every text."""

    n: int
    baseline: str
    grid: list[float]
    curves: list[MeanCurve]
    rows: list[MethodMeans]
    reference: str
    similarity: dict[str, Similarity]
    texts: list[TextAreas]

    def areas(self, method: str, direction: Direction) -> list[float]:
        """Return [n]: the area of every text."""
        return [text.auc[method][direction] for text in self.texts]


def text_verdict(body: ActivationText, unit: Unit) -> str:
    """Name the methods with the largest area on this text, beside random, and the step that settles the prediction."""
    areas = {method.method: body.curve(method.method, "activation").auc for method in body.methods}
    labels = {method.method: method.label for method in body.methods}
    best, random = max(areas.values()), areas.get(RANDOM)
    first = [name for name, area in areas.items() if best - area <= TIE]
    target, words = quoted(body.target.label), counted(body.features_revealed, unit)
    if RANDOM in first:
        return f"No method tells {target} sooner than a random order of the {words} (area {best:.2f})."
    whose = f"{joined([labels[name] for name in first])} {'tells' if len(first) == 1 else 'tell'}"
    beside = "" if random is None else f"; a random order has {random:.2f}"
    flip = body.curve(first[0], "activation").flip
    if flip is None:
        when = f"even all {words} do not make it the prediction"
    elif flip == 0:
        when = f"it is predicted before any of the {words} is shown"
    else:
        when = f"after {flip:,} of {words} it stays predicted"
    return f"On this text {whose} {target} soonest: {when} (area {best:.2f}{beside})."


def data_verdict(body: ActivationData) -> str:
    """Name the groups of methods by a paired test of their areas; a single best one has its mean."""
    rows, over = {row.method: row for row in body.rows}, counted(body.n, "text")
    groups = groups_of({name: body.areas(name, "activation") for name in rows})
    first, others = max(body.rows, key=lambda row: row.activation.mean), groups.others(lambda name: rows[name].label)
    if body.n == 1:
        return f"One text ranks nothing: {first.label} has the largest area, {first.activation.mean:.2f}."
    mean = mean_words(first.activation)
    if groups.winner == RANDOM:
        return f"Over {over} no method tells the target sooner than a random order ({mean}){others}."
    beside = f"; a random order has {mean_words(rows[RANDOM].activation)}" if RANDOM in rows else ""
    if groups.winner:
        return f"Over {over} {first.label} tells the target soonest, with an area of {mean}{others}{beside}."
    return f"Over {over} {groups.words(lambda name: rows[name].label)}{beside}."
