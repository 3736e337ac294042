"""Similarity of maps of a text, its value by chance, and the means of both over texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explainlab.analyses.layer_randomisation.states import RANDOM_MAPS, rho
from explainlab.analyses.precision.result import (
    Against,
    Compared,
    Control,
    Held,
    Likeness,
    PrecisionRow,
    ReadText,
)
from explainlab.analyses.summary import interval
from explainlab.attribution.records import Attribution
from explainlab.metrics.comparison import spearman
from explainlab.request import Dtype

TOP = 5


def likeness(own: Attribution, other: Attribution) -> Likeness:
    """Compare two maps of one text."""
    content = own.content
    correlation = rho(own.scores[content], other.scores[content])
    kept = len(set(own.highest(TOP)) & set(other.highest(TOP))) / TOP
    has_top = correlation is not None and content.sum() > TOP
    return Likeness(rank_correlation=correlation, top_5=kept if has_top else None)


def likeness_by_chance(own: Attribution, seed: int) -> Likeness:
    """Compare a map with :data:`RANDOM_MAPS` maps of uniform scores, and return the means."""
    scores = own.scores[own.content]
    others = np.random.default_rng(seed).random((RANDOM_MAPS, len(scores)))
    correlations = spearman(scores, others)
    if np.isnan(correlations).any():
        return Likeness()
    top = np.argsort(-scores, kind="stable")[:TOP]
    kept = np.isin(np.argsort(-others, axis=1)[:, :TOP], top).mean()
    return Likeness(rank_correlation=float(correlations.mean()), top_5=float(kept) if len(scores) > TOP else None)


def row_of(texts: Sequence[ReadText], dtype: Dtype, method: str) -> PrecisionRow:
    """Summarise ``texts`` for a number format and a method."""
    labels = [text.predicted for text in texts]
    read = [next(own for own in text.read if own.dtype == dtype) for text in texts]
    finite = [(own, label) for own, label in zip(read, labels, strict=True) if own.logits is not None]
    pairs = [
        (text, own)
        for text in texts
        for own in text.maps
        if (own.dtype, own.method) == (dtype, method) and not own.broken
    ]
    made: list[Compared] = [own for _, own in pairs]
    defined = [own for own in made if own.rank_correlation is not None]
    return PrecisionRow(
        dtype=dtype,
        method=method,
        logits=interval([own.logits for own, _ in finite if own.logits is not None]),
        predictions_changed=sum(own.predicted != label for own, label in finite),
        rank_correlation=interval([own.rank_correlation for own in defined if own.rank_correlation is not None]),
        top_5=interval([own.top_5 for own in defined if own.top_5 is not None]),
        n=len(made),
        undefined=len(made) - len(defined),
        short=sum(text.features <= TOP for text, own in pairs if own.rank_correlation is not None),
        broken=len(texts) - len(made),
    )


def controls_of(texts: Sequence[ReadText]) -> list[Control]:
    """Summarise the controls of ``texts``."""
    asked = dict.fromkeys((own.against, own.method) for own in texts[0].controls)
    return [_control(texts, against, method) for against, method in asked]


def _control(texts: Sequence[ReadText], against: Against, method: str) -> Control:
    own: list[Held] = [
        held for text in texts for held in text.controls if (held.against, held.method) == (against, method)
    ]
    known = [held.rank_correlation for held in own if held.rank_correlation is not None]
    return Control(
        against=against,
        method=method,
        rank_correlation=interval(known),
        top_5=interval([held.top_5 for held in own if held.top_5 is not None]),
        n=len(known),
    )
