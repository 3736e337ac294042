"""Verdicts on the order that reaches the answer soonest: every wording, forced by areas that allow no other."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np
import pytest

from explainlab.analyses.activation.result import (
    ActivationData,
    ActivationText,
    Curve,
    MethodCost,
    MethodMeans,
    MethodScores,
    TextAreas,
    data_verdict,
    text_verdict,
)
from explainlab.analyses.records import KnownInterval
from tests.analyses.bodies import features

LABELS = {"lime": "LIME", "occlusion": "Occlusion", "random": "Random"}
COST = {"forward": 1, "backward": 0, "seconds": 0.1, "passes": 1, "relative": 0}


def text(areas: dict[str, float], flip: int | None = 3) -> ActivationText:
    """Return a result of fifteen words with the area of every method."""
    shared = {"direction": "activation", "order": [], "k": list(range(16)), "probabilities": []}
    return ActivationText(
        prediction={"index": 1, "label": "positive", "probabilities": {"negative": 0.1, "positive": 0.9}},
        target={"index": 1, "label": "positive"},
        features=features(["so"] * 15),
        text_seed=0,
        baseline="mask",
        methods=[
            MethodScores(method=m, id=m, label=LABELS[m], signed=True, scores=[], cost=MethodCost(**COST), warnings=[])
            for m in areas
        ],
        curves=[Curve(method=method, auc=area, flip=flip, **shared) for method, area in areas.items()],
        reference=None,
        similarity={},
    )


@pytest.mark.parametrize(
    ("areas", "flip", "said"),
    [
        (
            {"lime": 0.93, "occlusion": 0.9, "random": 0.61},
            3,
            "On this text LIME tells “positive” soonest: after 3 of 15 words it stays predicted (area 0.93; a "
            "random order has 0.61).",
        ),
        (
            {"lime": 0.93, "occlusion": 0.93},
            0,
            "On this text LIME and Occlusion tell “positive” soonest: it is predicted before any of the 15 words is "
            "shown (area 0.93).",
        ),
        (
            {"lime": 0.3, "random": 0.2},
            None,
            "On this text LIME tells “positive” soonest: even all 15 words do not make it the prediction (area 0.30; a "
            "random order has 0.20).",
        ),
        (
            {"lime": 0.6, "random": 0.6},
            3,
            "No method tells “positive” sooner than a random order of the 15 words (area 0.60).",
        ),
    ],
)
def test_every_text_has_its_words(areas: dict[str, float], flip: int | None, said: str) -> None:
    assert text_verdict(text(areas, flip), "word") == said


def data(**areas: Sequence[float]) -> ActivationData:
    """Return a data set's result from the area of every text by method; every interval is 0.05 to both sides."""
    n, rows = len(next(iter(areas.values()))), []
    for method, values in areas.items():
        mean = fmean(values)
        area = KnownInterval(mean=mean, low=mean - 0.05, high=mean + 0.05)
        means = {"activation": area, "inverse_activation": area, **COST}
        rows.append(MethodMeans(method=method, id=method, label=LABELS[method], n=n, **means))
    texts = [
        TextAreas.model_construct(auc={method: {"activation": values[i]} for method, values in areas.items()})
        for i in range(n)
    ]
    return ActivationData.model_construct(n=n, rows=rows, texts=texts)


EASE = np.linspace(-0.3, 0.05, 12)
"""The ease of each text, the same for every method: it varies far more than the methods differ."""


def test_a_data_set_puts_methods_in_the_groups_of_a_paired_test() -> None:
    lime, far, random = 0.9 + EASE, 0.8 + EASE, 0.6 + EASE
    near = lime + np.tile([-0.03, 0.02], 6)
    assert data_verdict(data(lime=lime, occlusion=far, random=random)) == (
        "Over 12 texts LIME tells the target soonest, with an area of 0.775 (0.725 to 0.825); Occlusion and Random are "
        "worse; a random order has 0.475 (0.425 to 0.525)."
    )
    assert data_verdict(data(lime=lime, occlusion=near, random=random)) == (
        "Over 12 texts LIME and Occlusion cannot be distinguished; Random is worse; a random order has 0.475 (0.425 to "
        "0.525)."
    )
    assert data_verdict(data(lime=lime, random=near)) == (
        "Over 12 texts LIME and Random cannot be distinguished; a random order has 0.770 (0.720 to 0.820)."
    )
    assert data_verdict(data(lime=far, random=lime)) == (
        "Over 12 texts no method tells the target sooner than a random order (0.775 (0.725 to 0.825)); LIME is worse."
    )
    assert data_verdict(data(lime=lime)) == "Over 12 texts LIME stands alone."
    few = data_verdict(data(lime=lime[:5], random=random[:5]))
    assert few.startswith("Over 5 texts LIME and Random cannot be distinguished"), "five signs are equal by chance"
    one = data_verdict(data(lime=[0.9], random=[0.6]))
    assert one == "One text ranks nothing: LIME has the largest area, 0.90."
