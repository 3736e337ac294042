"""The maps that randomized path-integration draws of one text, in portions that are kept as they are finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from explainlab.attribution.diffusion import Candidate, Draw, Maps
from explainlab.attribution.subject import Subject
from explainlab.request import digest

PORTION = 8
"""Draws of one layer that are run together: enough to fill batches, few enough to lose little when cancelled."""


def drawn(subject: Subject, maps: Maps, samples: int, decided: Mapping[str, Any]) -> list[Candidate]:
    """``samples`` draws in every layer of ``maps``, as :func:`explainlab.attribution.selection.at_random` makes them.

    ``decided`` is all of the parameters that decides a single map. A run that was cancelled goes on where it was, and
    one that asks for more draws, other layers or other metrics takes from the context's memory what is there.
    """
    starts = range(0, samples, PORTION)
    portions = [
        [maps.draw(layer, number) for number in range(start, min(start + PORTION, samples))]
        for layer in maps.layers
        for start in starts
    ]
    found = []
    for i, draws in enumerate(portions):
        with subject.batcher.span(i, i + 1, len(portions)):
            found += _portion(subject, maps, draws, decided)
    return found


def _portion(subject: Subject, maps: Maps, draws: Sequence[Draw], decided: Mapping[str, Any]) -> list[Candidate]:
    key = _key(subject, draws, decided)
    known = subject.context.recall(key)
    if known is None:
        found = maps.candidates(draws)
        subject.context.keep(key, {"scores": [candidate.scores.tolist() for candidate in found]})
        return found
    rows = zip(draws, known["scores"], strict=True)
    return [Candidate(draw.layer, draw.number, draw.timestep, np.array(scores)) for draw, scores in rows]


def _key(subject: Subject, draws: Sequence[Draw], decided: Mapping[str, Any]) -> str:
    classifier, encoding = subject.classifier, subject.encoding
    model = [classifier.digest, str(classifier.dtype), encoding.ids.tolist(), encoding.special.tolist()]
    asked = [encoding.text, encoding.text_pair, subject.unit, subject.target.index, subject.output, subject.seed]
    return digest(["drawn", model, asked, decided, [[draw.layer, draw.number, draw.timestep] for draw in draws]])
