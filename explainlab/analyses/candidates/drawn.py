"""The candidates that randomized path-integration draws of one text, stored portion by portion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from explainlab.attribution.diffusion import Candidate, Draw, Maps
from explainlab.attribution.subject import Subject
from explainlab.request import digest

PORTION = 8
"""Draws of one layer that are run together: enough to fill batches; a cancel loses little."""


def drawn(subject: Subject, maps: Maps, samples: int, decided: Mapping[str, Any]) -> list[Candidate]:
    """Draw ``samples`` in every layer of ``maps``, as :func:`explainlab.attribution.selection.at_random` makes them.

    ``decided`` holds the parameters on which a single candidate depends. Draws in the context's memory are not run
    again: those of a cancelled run, or of a run with fewer draws, other layers or other metrics.
    """
    starts = range(0, samples, PORTION)
    portions = [
        [maps.draw(layer, number) for number in range(start, min(start + PORTION, samples))]
        for layer in maps.layers
        for start in starts
    ]
    candidates = []
    for i, draws in enumerate(portions):
        with subject.batcher.span(i, i + 1, len(portions)):
            candidates += _portion(subject, maps, draws, decided)
    return candidates


def _portion(subject: Subject, maps: Maps, draws: Sequence[Draw], decided: Mapping[str, Any]) -> list[Candidate]:
    key = _key(subject, draws, decided)
    known = subject.context.recall(key)
    if known is None:
        candidates = maps.candidates(draws)
        subject.context.keep(key, {"scores": [candidate.scores.tolist() for candidate in candidates]})
        return candidates
    rows = zip(draws, known["scores"], strict=True)
    return [Candidate(draw.layer, draw.number, draw.timestep, np.array(scores)) for draw, scores in rows]


def _key(subject: Subject, draws: Sequence[Draw], decided: Mapping[str, Any]) -> str:
    classifier, encoding = subject.classifier, subject.encoding
    model = [classifier.digest, str(classifier.dtype), encoding.ids.tolist(), encoding.special.tolist()]
    request = [encoding.text, encoding.text_pair, subject.unit, subject.target.index, subject.output, subject.seed]
    return digest(["drawn", model, request, decided, [[draw.layer, draw.number, draw.timestep] for draw in draws]])
