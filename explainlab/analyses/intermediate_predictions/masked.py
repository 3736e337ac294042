"""The distance of an intermediate prediction from the prediction for the text with its rest masked (Eq. 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from explainlab.analyses.intermediate_predictions.result import Position
from explainlab.attribution import passes
from explainlab.attribution.subject import Subject

WORDS = "from the prediction of the text whose rest is masked"


def read_masked(subjects: Sequence[Subject]) -> list[np.ndarray]:
    """Return float64 [n_content, classes] of each text: logits with all content after each content feature masked.

    The last of them is the text itself, which was read before: one pass for each of the others.
    """
    keep = [np.tri(len(subject.units.content), dtype=bool)[:-1] for subject in subjects]
    points = [subject.versions(rows, "mask") for subject, rows in zip(subjects, keep, strict=True)]
    read = passes.logits_of(subjects, points, [len(rows) for rows in keep], "masked texts")
    return [np.vstack([logits, subject.original]) for subject, logits in zip(subjects, read, strict=True)]


def apart(position: Position) -> float | None:
    """Return the total variation distance of both predictions, ½ Σ |p − q| in [0, 1]; None where only one was made."""
    if position.masked is None:
        return None
    return _distance(position.probabilities, position.masked)


def distances(positions: Sequence[Position]) -> list[float]:
    """Return :func:`apart` of all positions that have one, in order."""
    return [distance for position in positions if (distance := apart(position)) is not None]


def mean_apart(positions: Sequence[Position]) -> float | None:
    """Return the mean of :func:`apart`; None without any."""
    known = distances(positions)
    return sum(known) / len(known) if known else None


def _distance(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    return sum(abs(p - second[label]) for label, p in first.items()) / 2
