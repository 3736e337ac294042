"""The models of a grid, in the order of their start: seed by seed, random words, then each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.roar.parameters import WHOLE, RoarParameters


class GridCell(NamedTuple):
    """A model of the grid: trained with ``ratio`` of every text masked as ``measure`` says (see :class:`NodeFacts`)."""

    seed: int
    measure: str
    recursive: bool
    ratio: int

    @property
    def measured(self) -> bool:
        """True if a measure, not chance, selects the masked tokens."""
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

    def places(self) -> list[GridCell]:
        """Return every place, each after the place that determines its mask."""
        return [place for seed in self.seeds for place in self.of_seed(seed)]

    def of_seed(self, seed: int) -> list[GridCell]:
        """Return the places of one seed; all measures share those of random, of no mask and of a whole mask."""
        shared = [GridCell(seed, RANDOM, False, ratio) for ratio in (0, WHOLE, *self.between)]
        return shared + [
            GridCell(seed, name, recursive, ratio) for recursive, name in self.curves for ratio in self.between
        ]

    def lanes(self, seed: int) -> list[list[GridCell]]:
        """Group the places of one seed by lane: all of a measure, one after another from the model of whole texts."""
        lanes: dict[str | GridCell, list[GridCell]] = {}
        for place in self.of_seed(seed):
            lanes.setdefault(place.measure if place.measured else place, []).append(place)
        return list(lanes.values())

    def before(self, place: GridCell) -> GridCell | None:
        """Return the place whose model determines the mask of this one; None where no model does."""
        if not place.measured:
            return None
        earlier = [ratio for ratio in self.between if ratio < place.ratio]
        if place.recursive and earlier:
            return place._replace(ratio=earlier[-1])
        return GridCell(place.seed, RANDOM, False, 0)

    def path(self, place: GridCell) -> list[int]:
        """Return the ratios that the mask at ``place`` depends on: for a recursive one all up to it."""
        return [ratio for ratio in self.between if ratio <= place.ratio] if place.recursive else [place.ratio]

    def sources(self, seed: int) -> list[tuple[GridCell, str]]:
        """Return each place whose model a measure scores, with the measure, in the order of computation."""
        pairs = [(self.before(place), place.measure) for place in self.of_seed(seed)]
        return list(dict.fromkeys((source, name) for source, name in pairs if source is not None))

    @property
    def distinct(self) -> int:
        """The number of models: a recursive and a plain place with the same masks share one."""
        keys = {(p.seed, p.measure, tuple(self.path(p))) for p in self.places()}
        return len(keys)

    def after(self, place: GridCell, measure: str) -> list[GridCell]:
        """Return the places of ``measure`` whose masks the model of ``place`` determines."""
        own = [p for p in self.of_seed(place.seed) if p.measure == measure]
        return [other for other in own if self.before(other) == place]

    def curve(self, seed: int, measure: str, recursive: bool) -> Sequence[GridCell]:
        """Return the places of a curve, one for each of ``steps``."""
        ends = {0, WHOLE}
        return [
            GridCell(seed, RANDOM, False, ratio) if ratio in ends else GridCell(seed, measure, recursive, ratio)
            for ratio in self.steps
        ]
