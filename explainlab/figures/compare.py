"""Comparison of two results: attributions on the features that they share, analyses by their numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

import numpy as np

from explainlab.attribution.records import Attribution
from explainlab.figures.heatmap import Heatmap, agreement, heatmap, limit, opposite
from explainlab.figures.palette import DEFAULT

CONTRADICTED = opposite(["the other map"])


@dataclass(frozen=True)
class Comparison:
    """Two heatmaps side by side.

    ``one_scale``: both use the same scale, which they do if both explain the same output and are both signed or both
    not. Compared are the content features that occur in both texts in the same order: ``shared`` of ``sizes``.
    ``rank_correlation`` is Spearman's (None if either is constant or fewer than two features are shared);
    ``conflicts`` are the texts of features that both score clearly, with opposite signs.
    """

    maps: tuple[Heatmap, Heatmap]
    one_scale: bool
    shared: int
    sizes: tuple[int, int]
    rank_correlation: float | None
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The largest difference between two series of numbers called ``name``, relative to the largest of the first."""

    name: str
    relative: float


def compare(first: Attribution, second: Attribution, palette: str = DEFAULT) -> Comparison:
    """Compare two attributions of the same text, or of two texts with words in common."""
    ours, theirs = _shared(first, second)
    correlation: float | None = None
    places: list[int] = []
    if len(ours) > 1:
        features = tuple(first.features[i] for i in ours)
        both = [
            replace(attribution, features=features, scores=attribution.scores[shared], errors=None)
            for attribution, shared in ((first, ours), (second, theirs))
        ]
        (pair,) = agreement(both)
        correlation, places = pair.rank_correlation, pair.conflicts
    one_scale = first.signed == second.signed and first.request.output == second.request.output
    scale = limit([first, second]) if one_scale else None
    return Comparison(
        maps=(
            heatmap(first, palette, scale, dict.fromkeys([ours[i] for i in places], CONTRADICTED)),
            heatmap(second, palette, scale, dict.fromkeys([theirs[i] for i in places], CONTRADICTED)),
        ),
        one_scale=one_scale,
        shared=len(ours),
        sizes=(int(first.content.sum()), int(second.content.sum())),
        rank_correlation=correlation,
        conflicts=tuple(first.features[ours[i]].text for i in places),
    )


def map_difference(stored: Attribution, again: Attribution) -> Difference | None:
    """Return the difference between the scores of ``again`` and ``stored``; None if their features differ."""
    if [(f.part, f.start, f.end) for f in stored.features] != [(f.part, f.start, f.end) for f in again.features]:
        return None
    largest = float(np.abs(stored.scores - again.scores).max(initial=0.0))
    return Difference("scores", _relative(largest, float(np.abs(stored.scores).max(initial=0.0))))


def table_difference(stored: dict[str, Any], again: dict[str, Any]) -> Difference | None:
    """Return the difference of the column that differs most between two analyses' bodies; None if shapes differ.

    Lists in the bodies may be iterators of lists, which are read part by part.
    """
    largest: dict[str, float] = defaultdict(float)
    sizes: dict[str, float] = defaultdict(float)
    for (name, ours), (same, theirs) in zip_longest(_numbers(stored), _numbers(again), fillvalue=("", 0.0)):
        if name != same:
            return None
        largest[name], sizes[name] = max(largest[name], abs(ours - theirs)), max(sizes[name], abs(ours))
    differences = [Difference(name, _relative(largest[name], sizes[name])) for name in sizes]
    return max(differences, key=lambda difference: difference.relative, default=Difference("numbers", 0.0))


def _relative(largest: float, size: float) -> float:
    """Return the ``largest`` difference relative to the largest number; infinite if only that number is 0."""
    return largest / size if size else float("inf") if largest else 0.0


def _shared(first: Attribution, second: Attribution) -> tuple[list[int], list[int]]:
    """Return the indices, in each attribution, of the content features that occur in both in the same order."""
    ours, theirs = (np.flatnonzero(attribution.content).tolist() for attribution in (first, second))
    our_words = [(first.features[i].part, first.features[i].text) for i in ours]
    their_words = [(second.features[i].part, second.features[i].text) for i in theirs]
    blocks = SequenceMatcher(None, our_words, their_words, autojunk=False).get_matching_blocks()
    pairs = [(ours[block.a + k], theirs[block.b + k]) for block in blocks for k in range(block.size)]
    return [i for i, _ in pairs], [j for _, j in pairs]


def _numbers(body: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number in ``body`` with its dotted name, by name; list indices are not part of names."""
    if isinstance(body, dict):
        for part, value in sorted(body.items()):
            yield from _numbers(value, f"{name}.{part}" if name else str(part))
    elif isinstance(body, list | Iterator):
        for value in body:
            yield from _numbers(value, name)
    elif isinstance(body, int | float) and not isinstance(body, bool):
        yield name, float(body)
