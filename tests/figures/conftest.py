"""Attributions made by hand."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from explainlab.attribution.records import Attribution, Completeness, Target
from explainlab.models.classifier import Prediction
from explainlab.request import Request
from explainlab.result import Cost
from explainlab.text.units import Feature


@pytest.fixture
def attribution() -> Callable[..., Attribution]:
    """``attribution(text, scores)``: the blank-separated words of ``text``, between two special tokens, with scores.

    ``scores`` are those of all features; ``spans`` replaces the words, ``pair`` adds a second text.
    """

    def make(
        text: str,
        scores: Sequence[float] | None = None,
        *,
        pair: str | None = None,
        spans: Sequence[tuple[int, int]] | None = None,
        **fields,
    ) -> Attribution:
        features = [Feature("[CLS]", 0, 0, True, 0, ("[CLS]",), (101,))]
        for part, body in enumerate([text] if pair is None else [text, pair]):
            for start, end in spans or _words(body):
                piece = body[start:end]
                features.append(Feature(piece, start, end, False, part, (piece,), (len(features),)))
            features.append(Feature("[SEP]", 0, 0, True, 0, ("[SEP]",), (102,)))
        if scores is None:
            scores = np.linspace(-0.5, 1, len(features))
        values = {
            "request": Request(model="tiny", text=text, text_pair=pair, question="input_x_gradient"),
            "prediction": Prediction(1, "positive", {"negative": 0.25, "positive": 0.75}),
            "target": Target(1, "positive"),
            "errors": None,
            "signed": True,
            "completeness": Completeness(0.5, 0.4, 0.25),
            "cost": Cost(1, 1, 0.1),
            "versions": {"torch": "2"},
        }
        return Attribution(
            features=tuple(features), scores=np.asarray(scores, dtype=np.float64), **{**values, **fields}
        )

    return make


def _words(text: str) -> list[tuple[int, int]]:
    spans, end = [], 0
    for word in text.split():
        start = text.index(word, end)
        end = start + len(word)
        spans.append((start, end))
    return spans
