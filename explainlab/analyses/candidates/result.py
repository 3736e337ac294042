"""The candidates of one text by every metric, and the means over a data set, as typed records.

Metrics go by their keys. Values are in the units of their metric.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import Field

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval, MetricFacts, TextBody
from explainlab.analyses.too_short import long_enough
from explainlab.metrics.evaluate import TIE

V = TypeVar("V", float, Interval)
LayerSets = Literal["alone", "top_down", "bottom_up"]
"""Every layer alone, and the sets that grow from the top layer down and from the bottom layer up."""


TOP = 3
"""The number of top features by which winners are compared (Barkan et al. 2024, Table 1)."""


class CandidateAttribution(Record):
    """One candidate: draw ``draw`` (from 0) in ``layer`` (from 1; 0: the word embeddings) at ``timestep``.

    ``scores`` has one score a feature; ``metrics`` holds its value of every metric.
    """

    layer: int
    draw: int
    timestep: int
    scores: list[float]
    metrics: dict[str, float]

    @property
    def name(self) -> str:
        """The layer, draw and timestep, in words."""
        layer = f"layer {self.layer}, " if self.layer else ""
        return f"{layer}draw {self.draw}, t = {self.timestep}"


class Agreement(Record):
    """The agreement between the winners by the metrics ``first`` and ``second``.

    ``rank_correlation`` is Spearman's over the content features, None where a candidate's scores are constant or a
    metric cannot tell the candidates apart; ``only_first`` and ``only_second`` are the features (indices) that only one
    of them ranks in its top 3.
    """

    first: str
    second: str
    rank_correlation: float | None
    only_first: list[int]
    only_second: list[int]


class Selection(Record):
    """One metric of the ``first`` candidate, of all on average, and of its own winner (``best``).

    ``held_out``: its value for the winners by other metrics, by their keys; the mean of all where another metric cannot
    tell the candidates apart.
    """

    first: float
    mean: float
    best: float
    held_out: dict[str, float]

    @property
    def decided(self) -> bool:
        """True if the metric tells the candidates apart; else its winner is no choice."""
        return abs(self.best - self.mean) > TIE


class BestOfDraws(Record, Generic[V]):
    """One metric of the best among r candidates: of the first r, and expected of r taken at random.

    Of one text r = 1..C; of a data set r is in :attr:`CandidatesData.draws`. ``expected`` is None for an adaptive
    search, and then not in the JSON.
    """

    nested: list[V]
    expected: list[V] | None = Field(None, exclude_if=lambda value: value is None)

    @property
    def by_kind(self) -> dict[str, list[V]]:
        """The lists that are present, by name."""
        return {"nested": self.nested} | ({} if self.expected is None else {"expected": self.expected})


class LayerSet(Record):
    """The ``best`` by every metric of the ``maps`` candidates in ``layers``; None without a candidate."""

    layers: list[int]
    maps: int
    best: dict[str, float | None]


class CandidatesText(TextBody):
    """All candidates of one text.

    ``metrics`` are those of the request and those that choose for them at another k. ``winners`` are indices of
    ``candidates``, ``counted`` the features that each metric selects at most. ``by_layer`` is empty for one layer. Of
    equal candidates the winner is that of the lowest layer, and there the first draw.
    """

    metrics: list[MetricFacts]
    candidates: list[CandidateAttribution]
    winners: dict[str, int]
    counted: dict[str, int]
    agreement: list[Agreement]
    selection: dict[str, Selection]
    by_draws: dict[str, BestOfDraws[float]]
    by_layer: dict[LayerSets, list[LayerSet]]

    @property
    def draws(self) -> list[int]:
        """Every number of candidates r = 1..C."""
        return list(range(1, len(self.candidates) + 1))

    @property
    def undecided(self) -> list[str]:
        """The metrics that cannot tell the candidates apart, and so choose none."""
        return [key for key, choice in self.selection.items() if len(self.candidates) > 1 and not choice.decided]

    @property
    def chosen(self) -> dict[str, int]:
        """The winners by the other metrics."""
        return {key: winner for key, winner in self.winners.items() if key not in self.undecided}


class Winner(Record):
    """The best candidate of a text by one metric, and its ``value``."""

    layer: int
    draw: int
    timestep: int
    value: float


class TextWinners(Record):
    """The record of one text in a data set's result; ``row`` is its number."""

    row: int
    text: str
    text_pair: str | None
    label: str | None
    counted: dict[str, int]
    winners: dict[str, Winner]
    selection: dict[str, Selection]


class HeldOut(Interval):
    """A mean over texts; ``also_best`` is the share of them in which this choice is as good as the metric's own.

    All are None where every text is too short for the metric.
    """

    also_best: float | None


class MeanSelection(Record):
    """The mean of :class:`Selection` over texts."""

    first: Interval
    mean: Interval
    best: Interval
    held_out: dict[str, HeldOut]


class MeanAgreement(Record):
    """The mean rank correlation of two metrics' winners over texts."""

    first: str
    second: str
    rank_correlation: Interval


class MeanLayerSet(Record):
    """The mean of :class:`LayerSet` over texts; a text has ``maps`` candidates on average."""

    layers: list[int]
    maps: float
    best: dict[str, Interval]


class Summary(Record):
    """Means over the texts that are long enough for a metric: ``counted``, by metric, of ``n``."""

    n: int
    counted: dict[str, int]
    selection: dict[str, MeanSelection]
    agreement: list[MeanAgreement]


class CandidatesData(Record):
    """The texts of a data set and their means; ``draws`` are the numbers of candidates r of ``by_draws``."""

    texts: list[TextWinners]
    metrics: list[MetricFacts]
    summary: Summary
    draws: list[int]
    by_draws: dict[str, BestOfDraws[Interval]]
    by_layer: dict[LayerSets, list[MeanLayerSet]]

    @property
    def selection(self) -> dict[str, MeanSelection]:
        """The summary's selection."""
        return self.summary.selection

    def undecided(self, key: str) -> int:
        """Count the texts that are long enough for the metric ``key`` but whose candidates it cannot tell apart."""
        texts = long_enough(self.texts, [text.counted for text in self.texts], key)
        return sum(self.draws[-1] > 1 and not text.selection[key].decided for text in texts)
