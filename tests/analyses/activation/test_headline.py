"""The headline of activation curves: the method with the largest area, beside random."""

from __future__ import annotations

from explainlab import load_model, study
from explainlab.analyses.registry import get_study


def test_the_soonest_order_is_told_with_random_beside_it() -> None:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    result = study(classifier, "activation", "A warm and funny film.", methods=["occlusion"])
    areas = {curve.method: curve.auc for curve in result.body.curves if curve.direction == "activation"}
    best = max(areas.values())
    headline = get_study("activation").headline(result)
    assert f"“{result.body.target.label}” soonest, with an area of {best:.3f}" in headline
    assert (f"a random order has {areas['random']:.3f}" in headline) == (best > areas["random"])
