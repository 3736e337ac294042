"""Whose order tells the answer soonest, in words: every wording, forced by areas that allow no other."""

from __future__ import annotations

import pytest

from explainlab.analyses.activation.result import (
    ActivationData,
    ActivationText,
    Curve,
    MethodCost,
    MethodMeans,
    MethodScores,
)
from explainlab.analyses.activation.verdict import data_verdict, text_verdict
from explainlab.analyses.records import KnownInterval
from tests.analyses.bodies import features

LABELS = {"lime": "LIME", "occlusion": "Occlusion", "random": "Random"}
COST = {"forward": 1, "backward": 0, "seconds": 0.1, "passes": 1, "relative": 0}


def text(areas: dict[str, float], flip: int | None = 3) -> ActivationText:
    """Fifteen words, and the area of every method."""
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


def data(n: int, **areas: tuple[float, float | None, float | None]) -> ActivationData:
    rows = []
    for method, (mean, low, high) in areas.items():
        area = KnownInterval(mean=mean, low=low, high=high)
        means = {"activation": area, "inverse_activation": area, **COST}
        rows.append(MethodMeans(method=method, id=method, label=LABELS[method], n=n, **means))
    return ActivationData(n=n, baseline="mask", grid=[], curves=[], rows=rows, reference="", similarity={}, texts=[])


def test_a_data_set_ranks_only_intervals_that_do_not_overlap() -> None:
    lime, near, far, random = (0.9, 0.88, 0.92), (0.87, 0.85, 0.89), (0.8, 0.78, 0.82), (0.6, 0.5, 0.7)
    assert data_verdict(data(9, lime=lime, occlusion=far, random=random)) == (
        "Over 9 texts LIME tells the target soonest, with an area of 0.900 (0.880 to 0.920); a random order has 0.600 "
        "(0.500 to 0.700)."
    )
    assert data_verdict(data(9, lime=lime, occlusion=near, random=random)) == (
        "Over 9 texts the intervals of the first 2 overlap, so that none is ahead: LIME 0.900 (0.880 to 0.920) and "
        "Occlusion 0.870 (0.850 to 0.890); a random order has 0.600 (0.500 to 0.700)."
    )
    assert data_verdict(data(9, lime=lime, random=near)) == (
        "Over 9 texts no method tells the target clearly sooner than a random order (0.870 (0.850 to 0.890))."
    )
    assert data_verdict(data(9, lime=lime)).endswith("with an area of 0.900 (0.880 to 0.920).")
    one = data_verdict(data(1, lime=(0.9, None, None), random=(0.6, None, None)))
    assert one.startswith("One text ranks nothing: LIME")
