"""The ranking of several maps: the furthest beyond chance first, by the smaller of both shares."""

from __future__ import annotations

from explainlab.analyses.trust.figures import ranking
from tests.analyses.trust.test_verdict import trust


def test_the_map_that_can_be_trusted_most_comes_first() -> None:
    bodies = [
        trust(without, alone).model_copy(update={"method": method})
        for method, without, alone in (("lime", 0.6, 1.0), ("occlusion", 0.99, 0.96), ("lrp", 0.9, 0.9))
    ]
    chart = ranking(bodies, ["LIME", "Occlusion", "Layer-wise relevance propagation"])
    assert list(chart.figure.data[0].y) == ["Occlusion", "Layer-wise relevance propagation", "LIME"]
    assert list(chart.figure.data[0].x) == [0.99, 0.9, 0.6]
    assert list(chart.figure.data[1].x) == [0.96, 0.9, 1.0]
    assert chart.alt.endswith("Well beyond chance: Occlusion.")
    assert ranking(bodies[:1], ["LIME"]).alt.endswith("None is well beyond chance.")
    assert len(chart.rows) == 3
