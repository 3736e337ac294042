"""Charts of the integration studies: drawn values, values that are only in words, and their numbers."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from explainlab.analyses.integration.figures import (
    error_boxes,
    error_curve,
    ideal_histogram,
    mean_by_rule,
    within_limit,
)
from explainlab.analyses.path_gradients.figures import gradient_curves, token_strip
from explainlab.figures.chart import STYLES, Chart, percent
from tests.analyses.bodies import RULES, STEPS, data_body, integration_body, path_body


@pytest.fixture(scope="module")
def body():
    return integration_body()


@pytest.fixture(scope="module")
def data():
    return data_body()


def charts() -> list[Chart]:
    data = data_body(12)
    return [
        error_curve(integration_body(), 0.05),
        gradient_curves(path_body(), "probability"),
        gradient_curves(path_body(), "logit", 3),
        token_strip(path_body(), 27),
        error_boxes(data, "right", 0.05),
        ideal_histogram(data, "right", 0.05),
        mean_by_rule(data, 0.05),
        within_limit(data),
    ]


@pytest.mark.parametrize("chart", charts(), ids=lambda chart: chart.name)
def test_every_chart_names_its_axes_says_what_it_shows_and_gives_its_numbers_away(chart: Chart):
    layout = chart.figure.layout
    assert layout.xaxis.title.text
    assert layout.yaxis.title.text or chart.name == "within-1000-steps", "its y axis holds names"
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert chart.alt.startswith(chart.title[:20]) or "steps" in chart.alt
    rows = list(csv.DictReader(io.StringIO(chart.to_csv())))
    assert len(rows) == len(chart.rows) > 0
    assert len(json.loads(chart.to_json())["rows"]) == len(chart.rows)
    page = chart.to_html()
    assert "<html" in page
    assert "<script>text" not in page
    assert "<b>but</b>" not in page.replace("&lt;", "<").split("Plotly.newPlot")[0]


def lines(chart: Chart) -> dict[str, object]:
    return {trace.name: trace for trace in chart.figure.data if trace.name}


def test_one_line_a_rule_told_apart_by_more_than_colour(body):
    chart = error_curve(body, 0.05)
    drawn = [lines(chart)[STYLES[rule].label] for rule in (*RULES, "adaptive")]
    looks = {(line.line.dash, line.marker.symbol) for line in drawn}
    assert len(looks) == len(drawn)
    assert chart.figure.layout.xaxis.type == chart.figure.layout.yaxis.type == "log"
    right = drawn[0]
    assert list(right.x) == list(STEPS)
    wanted = [100 * row.approximation_error for row in body.rows if row.rule == "right"]
    np.testing.assert_allclose(right.y, wanted)


def test_the_ideal_step_of_each_rule_is_marked_and_told(body):
    chart = error_curve(body, 0.05)
    marked = {trace.legendgroup: trace.x[0] for trace in chart.figure.data if trace.showlegend is False}
    assert marked == body.ideal_steps
    for rule, steps in body.ideal_steps.items():
        assert f"{STYLES[rule].label} {steps}" in chart.alt


def test_the_5_percent_line_and_the_cost_of_doubling_are_there(body):
    chart = error_curve(body, 0.05)
    assert chart.figure.layout.shapes[0].y0 == 5
    assert chart.figure.layout.annotations[0].y == pytest.approx(np.log10(5))
    assert any("1,016 evaluations in all" in name for name in lines(chart))


def test_what_a_logarithmic_axis_cannot_show_is_said():
    body = integration_body()
    errors = [0.0, None, *(row.approximation_error for row in body.rows[2:])]
    rows = [row.model_copy(update={"approximation_error": e}) for row, e in zip(body.rows, errors, strict=True)]
    chart = error_curve(body.model_copy(update={"rows": rows}), 0.05)
    assert len(lines(chart)[STYLES["right"].label].x) == len(STEPS) - 2
    assert "exactly zero" in chart.notes[0]
    assert "not defined" in chart.notes[1]


def test_a_change_near_zero_draws_nothing_and_fails_nowhere():
    chart = error_curve(integration_body(cancels=True), 0.05)
    assert all(len(line.x) == 0 for line in lines(chart).values())
    assert "not defined" in chart.notes[0]


def test_the_box_plot_has_every_text_as_a_point_that_names_its_row(data):
    chart = error_boxes(data, "right", 0.05)
    points = lines(chart)["Texts"]
    drawn = [text for text in data.texts if not text.cancels]
    assert len(points.x) == len(drawn) * len(STEPS)
    assert {row for row, _ in points.customdata} == {text.row for text in drawn}
    assert all("&lt;script&gt;" in text for _, text in points.customdata)
    assert lines(chart)["Mean"].line.color == STYLES["right"].color, "red"
    at_10 = [100 * text.errors["right"]["10"] for text in drawn]
    assert chart.figure.data[0].median[0] == pytest.approx(np.median(at_10))
    assert "1 of 40 texts are not drawn" in chart.notes[0]


def test_the_histogram_counts_every_text_once(data):
    bars = ideal_histogram(data, "right", 0.05).figure.data[0]
    assert sum(bars.y) == data.summary.n
    assert bars.customdata[-1] == "none"
    assert bars.marker.pattern.shape[-1] == "/"


def test_means_have_intervals_and_counts_their_total(data):
    mean = mean_by_rule(data, 0.05).figure.data[0]
    assert len(mean.error_y.array) == len(mean.x) == len(STEPS)
    assert min(mean.error_y.array) > 0
    table = within_limit(data)
    assert list(table.figure.data[0].x) == list(data.summary.within_1000.values())
    assert table.figure.data[0].text[0].endswith("of 39")


@pytest.mark.parametrize(
    ("share", "words"),
    [(None, "–"), (0.0, "0%"), (0.25, "25%"), (0.0123, "1.2%"), (25.0, "2,500%"), (1e-9, "under 0.001%")],
)
def test_shares_in_words(share, words):
    assert percent(share) == words


def test_a_chart_of_one_text_is_drawn_without_intervals():
    data = data_body(2)
    means = {
        rule: {n: mean.model_copy(update={"low": None, "high": None}) for n, mean in by_steps.items()}
        for rule, by_steps in data.summary.mean.items()
    }
    data = data.model_copy(update={"summary": data.summary.model_copy(update={"mean": means})})
    assert mean_by_rule(data, 0.05).figure.data[0].error_y.array is None


@pytest.mark.parametrize("tolerance", [0.05, 0.2])
def test_the_limit_is_that_of_the_request(tolerance):
    label = f"{100 * tolerance:g}%"
    for chart in (
        error_curve(integration_body(), tolerance),
        error_boxes(data_body(3), "right", tolerance),
        mean_by_rule(data_body(3), tolerance),
    ):
        assert [note.text for note in chart.figure.layout.annotations] == [label]
    assert label in ideal_histogram(data_body(3), "right", tolerance).figure.layout.xaxis.title.text


def test_the_ends_of_the_means_are_named_whichever_way_they_go(data):
    alt = error_boxes(data, "right", 0.05).alt
    assert f"The mean is {percent(data.summary.mean['right'][str(STEPS[0])].mean)} at {STEPS[0]:,} steps and" in alt
