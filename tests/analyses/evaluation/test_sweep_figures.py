"""Sweeps: the specs that make a line, and their means."""

from __future__ import annotations

from explainlab.analyses.evaluation.figures import sweep_charts, sweeps

C = "comprehensiveness:preset=rpi"
RIGHT = "integrated_gradients:rule=right:steps="


def test_specs_that_differ_in_one_number_alone_make_a_line(table) -> None:
    names = [f"{RIGHT}{n}" for n in (30, 10)] + ["integrated_gradients:rule=left:steps=10", "occlusion", "random"]
    (found,) = sweeps(names)
    assert (found.method, found.parameter, found.idle) == ("integrated_gradients", "steps", False)
    assert found.lines == {"rule right": [(10.0, f"{RIGHT}10"), (30.0, f"{RIGHT}30")]}
    assert not sweeps(["lime", "occlusion", "reversed:lime", "file.json"])


def test_a_parameter_that_is_not_used_is_told() -> None:
    (found,) = sweeps(["integrated_gradients:steps=10", "integrated_gradients:steps=20"])
    assert found.idle
    assert not sweeps(["kernel_shap:samples=2n", "kernel_shap:samples=100"]), "budgets of two kinds"
    (budgets,) = sweeps(["kernel_shap:samples=4n", "kernel_shap"])
    assert list(budgets.lines.values()) == [[(2.0, "kernel_shap"), (4.0, "kernel_shap:samples=4n")]]


def test_the_chart_has_the_means(table) -> None:
    body = table({C: {f"{RIGHT}10": 0.2, f"{RIGHT}30": 0.4, "random": 0.1, "lime:samples=7": None}})
    (chart,) = sweep_charts(body, C)
    assert list(chart.figure.data[0].x) == [10, 30]
    assert list(chart.figure.data[0].y) == [0.2, 0.4]
    assert [row["steps"] for row in chart.rows] == [10, 30]
    assert chart.alt.endswith("from +0.200 at 10 to +0.400 at 30.")
    assert not sweep_charts(table({C: {"lime": 0.2, "random": 0.1}}), C)
