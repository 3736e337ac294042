"""The charts of retraining hold the numbers of the answer, even if some are missing."""

from __future__ import annotations

import json

import pytest

from explainlab.analyses.figures import figures_of
from explainlab.analyses.roar.figures import all_models, costs, curves, faithfulness, models, sparsity
from explainlab.analyses.roar.result import RoarData
from explainlab.analyses.roar_estimate.figures import time
from explainlab.analyses.roar_estimate.result import MeasureTime, RoarEstimate
from tests.analyses.roar.bodies import MEASURES, roar_body, roar_result

BODIES = {
    "full": roar_body(recursive=(True, False)),
    "unfinished": roar_body(done=4),
    "nothing yet": roar_body(done=0),
    "failed": roar_body(failed=True),
    "leaks": roar_body(leaks=True),
    "one seed": roar_body(seeds=1),
    "counted": roar_body(counted=True, recursive=(False,)),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_every_answer_is_drawn_with_files(body: RoarData) -> None:
    figures = figures_of(roar_result(body))
    kinds = len(body.recursive)
    assert len(figures.charts) == 5 + 4 * kinds
    for chart in figures.charts.values():
        assert chart.rows
        json.loads(chart.figure.to_json())
        assert json.loads(chart.to_json())["rows"] == chart.rows
        assert chart.to_csv().count("\r\n") == len(chart.rows) + 1
        assert chart.title in chart.alt


def test_a_curve_goes_through_the_means_and_random_is_dashed() -> None:
    body = BODIES["full"]
    for kind in (True, False):
        chart = curves(body, kind)
        lines = {trace.name: trace for trace in chart.figure.data if trace.name}
        assert set(lines) == {"all masked", *MEASURES.values()}
        for name, label in MEASURES.items():
            own = [point for point in body.curves if point.measure == name]
            own = [point for point in own if point.recursive == (kind and name != "random")]
            assert list(lines[label].y) == [point.mean for point in own]
            assert (lines[label].line.dash == "dash") == (name == "random")
        assert set(lines["all masked"].y) == {body.lower_bound.mean}
        assert len({tuple(trace.marker.symbol) for trace in lines.values() if trace.marker.symbol}) == 4


def test_points_not_below_random_are_open() -> None:
    chart = curves(BODIES["full"], False)
    (line,) = (trace for trace in chart.figure.data if trace.name == "Integrated gradients")
    points = [
        point for point in BODIES["full"].curves if (point.measure, point.recursive) == (list(MEASURES)[2], False)
    ]
    for point, symbol in zip(points, line.marker.symbol, strict=True):
        assert symbol.endswith("-open-dot") == (point.verdict == "above random")
        assert symbol.endswith("-open") == (point.verdict == "not told apart")
    assert any(point.verdict == "above random" for point in points)


def test_a_leak_has_a_ring_on_its_curve() -> None:
    body = BODIES["leaks"]
    chart = curves(body, True)
    (ring,) = (trace for trace in chart.figure.data if trace.name == "leak")
    (point,) = (own for own in body.curves if own.measure == "gradient:norm=one_hot" and own.ratio == 60)
    assert (list(ring.x), list(ring.y)) == ([60], [point.mean])
    assert [row["ratio"] for row in chart.rows if row["leak"]] == [60]
    assert any("A ring" in note for note in chart.notes)
    assert not [trace for trace in curves(BODIES["full"], True).figure.data if trace.name == "leak"]


def test_an_unfinished_curve_ends_where_it_is_known() -> None:
    body = BODIES["unfinished"]
    chart = curves(body, True)
    (line,) = (trace for trace in chart.figure.data if trace.name == "Attention, last layer")
    assert [y is None for y in line.y] == [False] * 4 + [True] * 7
    bands = [trace for trace in chart.figure.data if trace.fill == "toself"]
    assert len(bands) == 4
    assert all(max(band.x) == 30 for band in bands)


def test_one_seed_has_no_bands() -> None:
    chart = curves(BODIES["one seed"], True)
    assert not [trace for trace in chart.figure.data if trace.fill]
    assert [note for note in chart.notes if note.startswith("No bands")]


def test_counts_stand_at_equal_distances() -> None:
    axis = curves(BODIES["counted"], False).figure.layout.xaxis
    assert list(axis.tickvals) == list(range(12))
    assert list(axis.ticktext) == [*map(str, range(11)), "all"]


def test_faithfulness_has_its_intervals() -> None:
    body = BODIES["full"]
    figure = faithfulness(body).figure
    for trace, kind in zip(figure.data, (True, False), strict=True):
        rows = [row for row in body.faithfulness if row.upto == 100 and row.recursive == kind]
        assert list(trace.x) == [row.mean for row in rows]
        for i, row in enumerate(rows):
            assert trace.x[i] + trace.error_x.array[i] == pytest.approx(row.high)
            assert trace.x[i] - trace.error_x.arrayminus[i] == pytest.approx(row.low)
            assert ("open" in trace.marker.symbol[i]) == (row.verdict != "below random")


def test_each_model_has_the_sign_of_its_state() -> None:
    body = BODIES["failed"]
    chart = models(body, "attention_last", True)
    cells, words = chart.figure.data
    signs = {(int(y), int(x)): text for x, y, text in zip(words.x, words.y, words.text, strict=True)}
    assert [signs[1, x] for x in (2, 3, 4)] == ["✓", "✕", "–"]
    assert "The loss of the training is not a number." in cells.customdata[1][3]
    assert chart.alt.endswith("39 done, 1 failed, 5 not run.")
    shared = all_models(body)[0]
    assert shared.title == "Random"
    assert len(shared.rows) == 5 * 11
    assert len({chart.name for chart in all_models(BODIES["full"])}) == 7


def test_sparsity_and_costs() -> None:
    body = BODIES["full"]
    for of, first in (("tokens", 1), ("percents", 10)):
        chart = sparsity(body, of)
        assert [list(trace.y) for trace in chart.figure.data] == [getattr(row, of) for row in body.sparsity]
        assert chart.figure.data[0].x[0] == first
    training, importance = costs(body).figure.data
    assert [60 * x for x in training.x] == pytest.approx([cost.training for cost in body.costs])
    assert [60 * x for x in importance.x] == pytest.approx([cost.importance for cost in body.costs])
    assert costs(body).figure.layout.xaxis.title.text == "Minutes"


def test_the_expected_time_has_a_bar_a_part() -> None:
    measures = [MeasureTime(measure="gradient", label="Gradient", seconds=600.0, share=0.25)]
    body = RoarEstimate(
        models=12, epochs=3, epoch=1.5, training=1800.0, importance=600.0, measures=measures, disk_mb=3.0, within=0.0,
        smaller=[],
    )  # fmt: skip
    chart = time(body)
    (bars,) = chart.figure.data
    assert list(bars.x) == [30.0, 10.0]
    assert chart.figure.layout.xaxis.title.text == "Minutes"
    assert chart.alt == "Expected time of 12 models: Training 30 min, Gradient 10 min."
    assert [row["seconds"] for row in chart.rows] == [1800.0, 600.0]
