"""Charts of the activation study, drawn from its own results: lines, rings, bands, front and boxes."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from explainlab import load_model, study
from explainlab.analyses.activation.figures import (
    activation_curves,
    mean_curves,
    quality_against_cost,
    similarity_boxes,
)
from explainlab.analyses.activation.result import ActivationData, ActivationText
from explainlab.figures.chart import GREY, Chart

TEXT = "<b>A funny</b> and warm film, but dull at the end."
ASKED = {"methods": ["occlusion", "input_x_gradient"], "unit": "word"}
WAYS = ("activation", "inverse_activation")
BOTH = pytest.mark.parametrize("direction", WAYS)


@pytest.fixture(scope="module")
def classifier():
    return load_model("embedded:bert-mini-sst2", device="cpu")


@pytest.fixture(scope="module")
def body(classifier) -> ActivationText:
    return study(classifier, "activation", TEXT, **ASKED).body


@pytest.fixture(scope="module")
def data(classifier) -> ActivationData:
    asked = {**ASKED, "data": "embedded:sentiment", "rows": 6, "reference": "kernel_shap:samples=4n"}
    return study(classifier, "activation", **asked).body


def test_every_chart_names_its_axes_says_what_it_shows_and_gives_its_numbers_away(body, data) -> None:
    of_data = [draw(data, way) for draw in (mean_curves, quality_against_cost) for way in WAYS]
    for chart in [activation_curves(body), *of_data, similarity_boxes(data)]:
        assert chart.figure.layout.xaxis.title.text
        assert chart.figure.layout.yaxis.title.text or chart.name == "similarity", "its y axis holds names"
        assert chart.alt.startswith(chart.title)
        rows = list(csv.DictReader(io.StringIO(chart.to_csv())))
        assert len(rows) == len(chart.rows) > 0
        assert "<html" in chart.to_html()


def drawn(chart: Chart) -> list[Any]:
    return [trace for trace in chart.figure.data if trace.showlegend is None]


def test_both_curves_of_a_method_share_its_colour_and_tell_their_areas(body) -> None:
    lines = drawn(activation_curves(body))
    assert len(lines) == len(body.curves) == 6
    for line, curve in zip(lines, body.curves, strict=True):
        assert list(line.x) == curve.k
        np.testing.assert_allclose(line.y, np.array(curve.probabilities)[:, body.target.index])
        assert line.name.endswith(f"AUC {curve.auc:.3f}")
    looks = {(line.line.color, line.marker.symbol, line.line.dash) for line in lines}
    assert len(looks) == 6
    assert len({line.line.color for line in lines}) == 3
    assert lines[-1].line.color == GREY, "random"


def test_flips_are_rings_where_the_prediction_turns_for_good(body) -> None:
    chart = activation_curves(flipped(body, 3, 0, None, 2, 0, 1))
    rings = [(trace.legendgroup, trace.x[0]) for trace in chart.figure.data if trace.showlegend is False]
    assert rings == [("occlusion", 3), ("input_x_gradient", 2), ("random", 1)]
    assert "Occlusion 3" in chart.alt
    assert len(chart.notes) == 2
    assert "does not flip" in activation_curves(flipped(body, 0, 0, 0, 0, 0, 0)).alt


def flipped(body: ActivationText, *flips: int | None) -> ActivationText:
    """Return the same text with these flips of its curves."""
    pairs = zip(body.curves, flips, strict=True)
    return body.model_copy(update={"curves": [curve.model_copy(update={"flip": flip}) for curve, flip in pairs]})


@BOTH
def test_mean_curves_lie_in_the_bands_of_their_intervals(data, direction) -> None:
    chart = mean_curves(data, direction)
    bands = {trace.legendgroup: trace for trace in chart.figure.data if trace.fill == "toself"}
    curves = [curve for curve in data.curves if curve.direction == direction]
    assert list(bands) == [curve.method for curve in curves]
    for line, curve in zip(drawn(chart), curves, strict=True):
        assert list(line.y) == curve.mean
        band = bands[curve.method]
        assert list(band.y) == [*curve.high, *reversed(curve.low)]
        assert list(band.x) == [*data.grid, *reversed(data.grid)]
    areas = [row.area(direction).mean for row in data.rows]
    best = data.rows[int(np.argmax(areas) if direction == "activation" else np.argmin(areas))]
    assert chart.alt.endswith(f"Best: {best.label}.")


def test_a_single_text_has_lines_without_bands_and_bars(classifier) -> None:
    one = study(classifier, "activation", data="embedded:sentiment", rows=1, **ASKED).body
    assert not [trace for trace in mean_curves(one, "activation").figure.data if trace.fill == "toself"]
    assert all(trace.error_y.array is None for trace in quality_against_cost(one, "activation").figure.data)


@BOTH
def test_quality_stands_over_cost_with_its_front(data, direction) -> None:
    chart = quality_against_cost(data, direction)
    front, *points = chart.figure.data
    assert [(point.x[0], point.y[0]) for point in points] == [
        (row.passes, row.area(direction).mean) for row in data.rows
    ]
    assert list(front.x) == sorted(front.x)
    better = np.greater if direction == "activation" else np.less
    for row in chart.rows:
        beaten = any(other["passes"] <= row["passes"] and better(other["mean"], row["mean"]) for other in chart.rows)
        assert row["front"] == (not beaten)


def test_every_text_is_a_point_of_the_similarities(data) -> None:
    first, *others = data.texts
    first = first.model_copy(update={"similarity": {**first.similarity, "occlusion": None}})
    unknown = data.model_copy(update={"texts": [first, *others]})
    chart = similarity_boxes(unknown)
    for box, row in zip(chart.figure.data, data.rows, strict=True):
        known = [t for t in unknown.texts if t.similarity[row.method] is not None]
        assert list(box.x) == [text.similarity[row.method] for text in known]
        assert list(box.customdata) == [text.row for text in known]
    assert chart.notes == ("1 of 18 similarities are not defined: all scores are zero.",)
    assert not similarity_boxes(data).notes
