"""Pictures of the gradient along the path: curves, strips, heatmaps of two step counts."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab.analyses.path_gradients.figures import (
    DIFFERS,
    differing,
    gradient_curves,
    gradient_shares,
    path_maps,
    token_strip,
)
from explainlab.analyses.path_gradients.result import PathGradientsData
from explainlab.attribution.path import nodes
from explainlab.figures.palette import PALETTES
from explainlab.request import Request
from tests.analyses.bodies import WORDS, derivatives, path_body


@pytest.fixture(scope="module")
def request_() -> Request:
    return Request(model="tiny", text=" ".join(WORDS), question="integrated_gradients")


def test_gradients_of_two_step_counts_lie_over_each_other_with_their_means():
    body = path_body((27, 270))
    chart = gradient_curves(body, "logit")
    fewer = next(trace for trace in chart.figure.data if trace.name.startswith("27 "))
    np.testing.assert_allclose(fewer.x, nodes("right", 27)[0])
    np.testing.assert_allclose(fewer.y, body.paths[0].total)
    assert chart.figure.data[-1] is fewer, "fewer points lie above more"
    assert "error" in fewer.name
    assert "logit" in chart.figure.layout.yaxis.title.text
    one = gradient_curves(body, "logit", 6)
    assert "<b>but</b>" in one.title
    np.testing.assert_allclose(one.figure.data[-1].y, body.paths[0].per_feature[6])


def test_a_strips_rows_are_tokens_on_one_symmetric_scale_that_is_printed():
    body = path_body((27,), "gauss_legendre")
    strip = token_strip(body, 27, "blue_orange", "dark")
    heat = strip.figure.data[0]
    assert len(heat.y) == len(WORDS), "special tokens without a score are left out"
    assert heat.zmin == -heat.zmax
    assert heat.zmax == pytest.approx(np.abs(derivatives(nodes("gauss_legendre", 27)[0], WORDS)).max())
    assert heat.colorbar.ticktext[0].startswith("−")
    assert heat.colorscale[0][1] == PALETTES["blue_orange"].dark.negative
    assert heat.colorscale[-1][1] == PALETTES["blue_orange"].dark.positive
    assert any("&lt;b&gt;but" in label for label in strip.figure.layout.yaxis.ticktext)


def test_a_long_strip_averages_points_and_says_so():
    strip = token_strip(path_body((870,)), 870)
    assert np.shape(strip.figure.data[0].z) == (len(WORDS), 200)
    assert any("870 points" in note and "200 columns" in note for note in strip.notes)
    assert len(strip.rows) == 870 * len(WORDS), "the numbers are all there"


def test_no_relative_error_is_told_where_the_scores_cancel():
    told = [gradient_curves(path_body(cancels=cancels), "probability", None) for cancels in (False, True)]
    drawn, moot = ["".join(trace.name or "" for trace in chart.figure.data) for chart in told]
    assert "(error" in drawn
    assert "error" not in moot
    results, _ = path_maps(Request(model="tiny", text="", question="integrated_gradients"), path_body(cancels=True))
    assert all(result.completeness.approximation_error is None for result in results)


def test_two_maps_share_a_scale_and_mark_what_differs(request_):
    body = path_body((3, 270))
    results, maps = path_maps(request_, body)
    for result, path in zip(results, body.paths, strict=True):
        np.testing.assert_allclose(result.scores, np.mean(path.per_feature, axis=1))
    assert maps[0].limit == maps[1].limit
    marked = [i for i, token in enumerate(maps[0].tokens) if token.conflict]
    apart = np.abs(results[0].scores - results[1].scores)
    assert marked == np.flatnonzero(apart > DIFFERS * maps[0].limit).tolist()
    assert marked
    assert "10% of the scale" in maps[0].mark


def test_nothing_differs_where_all_scores_are_zero():
    assert differing([np.zeros(3), np.zeros(3)], 0.0) == []


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ((0.7, 0.6, 0.8), "The largest part of the gradient of 9 texts lies from α = 0 to 0.5: 70% of it."),
        ((0.4, 0.3, 0.5), "No part of the path clearly holds more"),
    ],
)
def test_the_largest_part_is_named_only_where_it_is_told_apart(first, said):
    shares = [dict(zip(("mean", "low", "high"), values, strict=True)) for values in (first, (0.3, 0.2, 0.4))]
    summary = {"n": 9, "bins": 2, "share": {"5": shares}}
    assert said in gradient_shares(PathGradientsData.model_validate({"texts": [], "summary": summary})).alt
