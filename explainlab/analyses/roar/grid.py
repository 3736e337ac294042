"""The models of a grid, in the order in which they are begun: seed by seed, random words, then each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.roar.parameters import WHOLE, RoarParameters


class Place(NamedTuple):
    """A model of the grid: trained with ``ratio`` of every text masked as ``measure`` says (see :class:`NodeFacts`)."""

    seed: int
    measure: str
    recursive: bool
    ratio: int

    @property
    def measured(self) -> bool:
        """Whether a measure says what is masked, not chance."""
        return self.measure != RANDOM


class Grid:
    """All places of a study whose first seed is ``first``."""

    def __init__(self, parameters: RoarParameters, first: int) -> None:
        self.steps, self.counted = parameters.steps, bool(parameters.counts)
        self.seeds = list(range(first, first + parameters.seeds))
        self.curves = [(recursive, name) for recursive in parameters.kinds for name in parameters.measures]

    @property
    def between(self) -> list[int]:
        """The ratios at which measures differ: all but nothing and everything."""
        return self.steps[1:-1]

    def places(self) -> list[Place]:
        """Every place, each after the one that says what it masks."""
        return [place for seed in self.seeds for place in self.of_seed(seed)]

    def of_seed(self, seed: int) -> list[Place]:
        """The places of one seed. Random's are shared by all measures, and so are nothing and everything masked."""
        shared = [Place(seed, RANDOM, False, ratio) for ratio in (0, WHOLE, *self.between)]
        return shared + [
            Place(seed, name, recursive, ratio) for recursive, name in self.curves for ratio in self.between
        ]

    def lanes(self, seed: int) -> list[list[Place]]:
        """The same, together what has to be made one after another: all of a measure, which begins at whole texts."""
        lanes: dict[str | Place, list[Place]] = {}
        for place in self.of_seed(seed):
            lanes.setdefault(place.measure if place.measured else place, []).append(place)
        return list(lanes.values())

    def before(self, place: Place) -> Place | None:
        """The place whose model says what this one masks; None where no model does."""
        if not place.measured:
            return None
        earlier = [ratio for ratio in self.between if ratio < place.ratio]
        if place.recursive and earlier:
            return place._replace(ratio=earlier[-1])
        return Place(place.seed, RANDOM, False, 0)

    def path(self, place: Place) -> list[int]:
        """The ratios on which what is masked at ``place`` depends: for a recursive one all up to it."""
        return [ratio for ratio in self.between if ratio <= place.ratio] if place.recursive else [place.ratio]

    def sources(self, seed: int) -> list[tuple[Place, str]]:
        """The places of whose models a measure is asked, with the measure, in the order in which that is due."""
        pairs = [(self.before(place), place.measure) for place in self.of_seed(seed)]
        return list(dict.fromkeys((source, name) for source, name in pairs if source is not None))

    @property
    def distinct(self) -> int:
        """How many models there are: a recursive and a plain place with the same masks share one."""
        keys = {(p.seed, p.measure, tuple(self.path(p))) for p in self.places()}
        return len(keys)

    def after(self, place: Place, measure: str) -> list[Place]:
        """The places of ``measure`` whose masks the model of ``place`` says."""
        own = [p for p in self.of_seed(place.seed) if p.measure == measure]
        return [other for other in own if self.before(other) == place]

    def curve(self, seed: int, measure: str, recursive: bool) -> Sequence[Place]:
        """The places of a curve, one for each of ``steps``."""
        ends = {0, WHOLE}
        return [
            Place(seed, RANDOM, False, ratio) if ratio in ends else Place(seed, measure, recursive, ratio)
            for ratio in self.steps
        ]
