"""Two results held against each other: maps where they score the same pieces of text, tables by their numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from explainlab.attribution.records import Attribution
from explainlab.figures.heatmap import Heatmap, agreement, heatmap, limit
from explainlab.figures.palette import DEFAULT


@dataclass(frozen=True)
class Comparison:
    """Two maps side by side: ``maps``, on ``one_scale`` where both explain the same output with signs, or both without.

    They are compared over the content features that stand in both texts in the same order: ``shared`` of ``sizes``.
    ``rank_correlation`` is Spearman's (None where either is constant or fewer than two are shared), ``conflicts`` are
    the texts of features that both score clearly, with opposite signs.
    """

    maps: tuple[Heatmap, Heatmap]
    one_scale: bool
    shared: int
    sizes: tuple[int, int]
    rank_correlation: float | None
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The largest difference between two series of numbers called ``name``, relative to the largest in the first."""

    name: str
    relative: float


def compare(first: Attribution, second: Attribution, palette: str = DEFAULT) -> Comparison:
    """Two maps of the same text, or of two texts that have pieces in common."""
    ours, theirs = _shared(first, second)
    correlation, places = None, []
    if len(ours) > 1:
        features = tuple(first.features[i] for i in ours)
        both = [
            replace(one, features=features, scores=one.scores[places], errors=None)
            for one, places in ((first, ours), (second, theirs))
        ]
        (found,) = agreement(both)
        correlation, places = found.rank_correlation, found.conflicts
    one_scale = first.signed == second.signed and first.request.output == second.request.output
    scale = limit([first, second]) if one_scale else None
    return Comparison(
        maps=(
            heatmap(first, palette, scale, [ours[i] for i in places]),
            heatmap(second, palette, scale, [theirs[i] for i in places]),
        ),
        one_scale=one_scale,
        shared=len(ours),
        sizes=(int(first.content.sum()), int(second.content.sum())),
        rank_correlation=correlation,
        conflicts=tuple(first.features[ours[i]].text for i in places),
    )


def map_difference(stored: Attribution, again: Attribution) -> Difference | None:
    """How far the scores of ``again`` are from those of ``stored``; None where they score different features."""
    if [(f.part, f.start, f.end) for f in stored.features] != [(f.part, f.start, f.end) for f in again.features]:
        return None
    return Difference("scores", _relative(stored.scores, again.scores))


def table_difference(stored: dict[str, Any], again: dict[str, Any]) -> Difference | None:
    """The column of a study's body that differs most; None where the bodies have different shapes."""
    ours, theirs = _columns(stored), _columns(again)
    if {name: len(values) for name, values in ours.items()} != {name: len(values) for name, values in theirs.items()}:
        return None
    found = [Difference(name, _relative(np.array(ours[name]), np.array(theirs[name]))) for name in ours]
    return max(found, key=lambda one: one.relative, default=Difference("numbers", 0.0))


def _relative(stored: np.ndarray, again: np.ndarray) -> float:
    """max |stored - again| / max |stored| of two float64 [n]; infinite where only ``stored`` is all zeros."""
    largest = np.abs(stored - again).max(initial=0.0)
    size = np.abs(stored).max(initial=0.0)
    return float(largest / size) if size else float("inf") if largest else 0.0


def _shared(first: Attribution, second: Attribution) -> tuple[list[int], list[int]]:
    """Indices of the content features that both have, in the order in which both have them."""
    ours, theirs = (np.flatnonzero(one.content).tolist() for one in (first, second))
    texts = [
        [(one.features[i].part, one.features[i].text) for i in places]
        for one, places in ((first, ours), (second, theirs))
    ]
    blocks = SequenceMatcher(None, *texts, autojunk=False).get_matching_blocks()
    pairs = [(ours[block.a + k], theirs[block.b + k]) for block in blocks for k in range(block.size)]
    return [i for i, _ in pairs], [j for _, j in pairs]


def _columns(body: dict[str, Any]) -> dict[str, list[float]]:
    columns: dict[str, list[float]] = defaultdict(list)
    for name, value in _numbers(body, ""):
        columns[name].append(value)
    return columns


def _numbers(body: Any, name: str) -> Iterator[tuple[str, float]]:
    """Every number in ``body`` with the names that lead to it."""
    if isinstance(body, dict):
        for part, value in body.items():
            yield from _numbers(value, f"{name}.{part}" if name else str(part))
    elif isinstance(body, list):
        for value in body:
            yield from _numbers(value, name)
    elif isinstance(body, int | float) and not isinstance(body, bool):
        yield name, float(body)
