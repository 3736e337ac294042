"""A text before its attacks, and the changes that they made to its map and its prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from explainlab.analyses.attack.measures import normalised, rank_change, top, top_k_sum_change
from explainlab.analyses.attack.result import AttackedRow, Original
from explainlab.analyses.attack.search import Point
from explainlab.analyses.records import TextBody
from explainlab.analyses.wording import counted
from explainlab.attribution.subject import Subject
from explainlab.data import Row


def original_of(subject: Subject, scores: np.ndarray, k: int, among: np.ndarray) -> Original:
    """Return the map ``scores`` [n_features] before the attacks, with the reason if the text is left out.

    The listed features are the top ``k`` per cent of the features ``among``, rounded down.
    """
    n = len(among)
    size, shares = k * n // 100, normalised(scores, among)
    left_out = ""
    if not size:
        left_out = f"{k}% of {counted(n, subject.unit)} is none"
    elif not np.isfinite(shares).all():
        left_out = "the map is 0 everywhere"
    listed = [] if left_out else top(shares, among, size).tolist()
    return Original(
        scores=scores.tolist(),
        listed=listed,
        top_k_sum=None if left_out else float(shares[listed].sum()),
        left_out=left_out,
    )


def changes(among: np.ndarray, listed: np.ndarray, before: Point, after: Point) -> dict[str, float]:
    """Return the fields of :class:`.result.Measures` for maps of the features ``among``."""
    first, last = (normalised(point.scores, among) for point in (before, after))
    change = before.probability - after.probability
    return {
        "rank_change": rank_change(listed, top(last, among, len(listed))),
        "top_k_sum_change": top_k_sum_change(first, last, listed),
        "probability_change": change,
        "absolute_probability_change": abs(change),
    }


def attacked_row(row: Row, original: Original, body: TextBody) -> AttackedRow:
    """Return a text of a data set before its attacks."""
    own: dict[str, Any] = original.model_dump()
    return AttackedRow(
        **own,
        row=row.number,
        text=row.text,
        text_pair=row.text_pair,
        label=row.label,
        prediction=body.prediction,
    )
