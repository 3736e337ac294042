"""The figures of an evaluation: their declarations, and no lead that the intervals do not allow."""

from __future__ import annotations

import pytest

from explainlab.analyses.evaluation.figures import FIGURES, charts_of, methods_by_metric, quality_against_cost
from explainlab.analyses.evaluation.result import EvaluationData, MethodMetric
from explainlab.metrics.registry import parse_metric
from tests.analyses.evaluation.conftest import with_test

METRIC = parse_metric("comprehensiveness")


def body(**intervals: tuple[float, float, float]) -> EvaluationData:
    rows = [
        MethodMetric(method=method, **METRIC.facts, mean=mean, low=low, high=high, n=9, counted=9)
        for method, (mean, low, high) in intervals.items()
    ]
    return EvaluationData(n=9, rows=rows, cost_by_method={}, texts=[])


@pytest.mark.parametrize(
    ("apart", "said"),
    [
        (True, "LIME is best with 0.900 (0.800 to 1.000); Random is worse."),
        (False, "Random and LIME cannot be distinguished."),
    ],
)
def test_the_description_says_what_the_test_tells_apart(apart: bool, said: str) -> None:
    made = body(random=(0.5, 0.4, 0.6), lime=(0.9, 0.8, 1.0))
    rows = [row.model_copy(update={"told_apart": apart if row.method == "random" else None}) for row in made.rows]
    chart = methods_by_metric(with_test(made.model_copy(update={"rows": rows})), METRIC.name)
    assert chart.alt.endswith(said)


def test_all_figures_of_a_data_set_and_its_latex_are_declared(evaluated) -> None:
    drawn = FIGURES.draw(evaluated)
    kinds = ("methods-by-metric", "differences", "ranks", "against-cost", "slices")
    names = [f"{kind}-{metric}:preset=rpi" for metric in ("comprehensiveness", "sufficiency") for kind in kinds]
    assert list(drawn.charts) == ["table-faithfulness", *names, "agreement"]
    assert all(chart.rows and chart.alt.startswith(chart.title) for chart in drawn.charts.values())
    assert list(drawn.files) == ["table.tex"]


def test_figures_without_anything_to_draw_are_left_out() -> None:
    made = with_test(body(random=(0.5, 0.4, 0.6), lime=(0.9, 0.8, 1.0)))
    none = made.critical[0].model_copy(update={"none": "A diagram needs at least 5 texts."})
    drawn = charts_of(made.model_copy(update={"critical": [none]}))
    assert [chart.name for chart in drawn] == ["table-faithfulness", f"methods-by-metric-{METRIC.name}"]


def test_quality_stands_over_the_passes_of_a_text(evaluated) -> None:
    data = evaluated.body
    chart = quality_against_cost(data, METRIC.name)
    passes = {row["method"]: row["passes"] for row in chart.rows}
    assert passes == {method: cost.total / data.n for method, cost in data.cost_by_method.items()}
    best = max(chart.rows, key=lambda row: row["mean"])
    assert best["front"]


def test_attributions_made_elsewhere_have_no_cost_and_are_named() -> None:
    chart = quality_against_cost(body(random=(0.5, 0.4, 0.6), mine=(0.9, 0.8, 1.0)), METRIC.name)
    assert chart.rows == []
    (note,) = chart.notes
    assert note.endswith(": mine and Random.")
