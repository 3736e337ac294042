"""Figures of significance: differences in their order and shapes, and the diagram of average ranks with its bars."""

from __future__ import annotations

import pytest

from explainlab.analyses.evaluation.result import CriticalDifferences, Rank
from explainlab.analyses.evaluation.told_apart import CHOSEN_HERE, critical_diagram, differences
from tests.analyses.evaluation.conftest import HOSTILE

S = "sufficiency:preset=rpi"
MEANS = {"lime": 0.1, "gradient": 0.3, "occlusion": 0.2, "random": 0.6, "reversed:lime": 0.9}
RANKS = {"lime": 1.25, "occlusion": 1.75, "gradient": 3.0, "random": 4.0}


@pytest.fixture
def body(table):
    made = table({S: MEANS}, told_apart=("gradient", "random"))
    critical = CriticalDifferences(
        metric="sufficiency",
        texts=10,
        friedman=0.001,
        pairs=[],
        groups=[["lime", "occlusion"], ["gradient"], ["random"]],
        none="",
    )
    ranks = [Rank(metric="sufficiency", method=method, rank=rank) for method, rank in RANKS.items()]
    return made.model_copy(update={"critical": [critical], "ranks": ranks})


def test_differences_run_from_the_best_down_and_shapes_say_what_is_told_apart(body) -> None:
    chart = differences(body, S)
    assert [row["method"] for row in chart.rows] == ["lime", "occlusion", "gradient", "random"]
    assert [row["mean"] for row in chart.rows] == [None, *map(pytest.approx, (0.1, 0.2, 0.5))]
    best, same, apart = chart.figure.data
    assert [list(trace.y) for trace in (best, same, apart)] == [[0], [1], [2, 3]]
    assert list(apart.error_x.arrayminus) == [pytest.approx(0.1)] * 2
    assert len({trace.marker.symbol for trace in chart.figure.data}) == 3
    assert len({trace.marker.color for trace in chart.figure.data}) == 3
    assert all("p = 0.01" in words for _, words in apart.customdata)
    assert CHOSEN_HERE in chart.notes
    assert chart.alt.endswith("Not told apart from it: Occlusion.")


def test_the_diagram_has_a_dot_a_method_at_its_rank_and_a_bar_over_every_group(body) -> None:
    chart = critical_diagram(body, S)
    dots = next(trace for trace in chart.figure.data if trace.mode == "markers")
    assert dict(zip(chart.figure.layout.yaxis.ticktext, dots.x, strict=True)) == {
        "LIME": 1.25,
        "Occlusion": 1.75,
        "Gradient": 3.0,
        "Random": 4.0,
    }
    bars = [trace for trace in chart.figure.data if trace.hovertext]
    assert [(min(bar.x), max(bar.x)) for bar in bars] == [(pytest.approx(1.21), pytest.approx(1.79))]
    assert [row["groups"] for row in chart.rows] == ["1", "1", "", ""]
    assert "Friedman's test: p = 0.00100" in chart.notes[0]


def test_without_a_diagram_the_chart_says_why(body) -> None:
    none = body.critical[0].model_copy(update={"none": "A diagram needs at least 5 texts."})
    chart = critical_diagram(body.model_copy(update={"critical": [none]}), S)
    assert (chart.rows, chart.notes) == ([], ("A diagram needs at least 5 texts.",))


def test_names_are_text(table) -> None:
    chart = differences(table({S: {HOSTILE: 0.1, "random": 0.5}}), S)
    assert "<script" not in str(chart.figure.to_dict())


def test_a_real_result_is_told_apart_as_it_says(evaluated) -> None:
    body = evaluated.body
    for metric in {row.asked for row in body.rows}:
        rows = {row.method: row for row in body.rows if row.asked == metric}
        for drawn in differences(body, metric).rows:
            assert drawn["told_apart"] == rows[drawn["method"]].told_apart
        assert len(critical_diagram(body, metric).rows) == 4
