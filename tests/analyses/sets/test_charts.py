"""A number over models: by size where sizes differ, else bars; one line a method, in a band."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explainlab.analyses.sets.charts import by_model, weights_words
from tests.analyses.sets.conftest import HOSTILE, LARGE, SEED, SMALL, MakeAccuracies, MakeSet

ONE, TWO = {"lime": 0.5, "random": 0.1}, {"lime": 0.3, "random": 0.2}


def test_models_of_different_sizes_are_on_a_logarithmic_axis(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): ONE, (SEED, "d:a"): TWO, (LARGE, "d:a"): ONE})
    chart = by_model(made, "activation", "d:a")
    figure = chart.figure
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.xaxis.title.text == "Number of parameters"
    band, line, *_ = figure.data
    assert (list(line.x), list(line.y)) == ([1_000_000, 20_000_000], pytest.approx([0.4, 0.5]))
    assert list(band.y) == pytest.approx([0.5, 0.55, 0.45, 0.3])
    assert [trace.name for trace in figure.data if trace.name] == ["LIME", "Random"]
    assert "by number of parameters on a" in chart.title
    assert "LIME for BERT, 2 seeds, 0.400" in chart.alt
    assert "the mean over these models" in chart.notes[0]
    assert {row["over"] for row in chart.rows} == {"texts", "models"}


def test_the_best_is_the_lowest_where_lower_is_better(make_set: MakeSet) -> None:
    chart = by_model(make_set({(SMALL, "d:a"): ONE, (LARGE, "d:a"): TWO}), "inverse_activation", "d:a")
    assert "Best: LIME for made:1, 0.500 (0.450 to 0.550) and LIME for large, 0.700" in chart.alt


def test_models_of_one_size_or_of_an_unknown_one_are_bars(make_set: MakeSet) -> None:
    unknown = replace(LARGE, weights=0, family="T5")
    chart = by_model(make_set({(SMALL, "d:a"): ONE, (unknown, "d:a"): TWO}), "activation", "d:a")
    lime, random = chart.figure.data
    assert (lime.type, list(lime.x), list(lime.y)) == ("bar", [0, 1], [0.5, 0.3])
    assert random.marker.pattern.shape == "/"
    assert list(chart.figure.layout.xaxis.ticktext) == ["made:1 (BERT)", "large (T5)"]


def test_a_single_model_is_shown_by_data_set(make_set: MakeSet) -> None:
    chart = by_model(make_set({(LARGE, "d:a"): ONE, (LARGE, "d:b"): TWO}), "activation", "d:b")
    assert list(chart.figure.layout.xaxis.ticktext) == ["a", "b"]
    assert [row["data"] for row in chart.rows] == ["a", "a", "b", "b"]


def test_numbers_of_the_model_itself_have_a_line_a_data_set(make_accuracies: MakeAccuracies) -> None:
    cells = {(SMALL, "d:a"): 0.7, (SMALL, "d:b"): 0.6, (LARGE, "d:a"): 0.9, (LARGE, "d:b"): None}
    chart = by_model(make_accuracies(cells), "accuracy", "d:a")
    assert [trace.name for trace in chart.figure.data if trace.name] == ["a", "b"]
    assert chart.figure.layout.yaxis.tickformat == "~%"
    assert chart.figure.layout.yaxis.type is None
    assert chart.title == "Accuracy by number of parameters"
    assert "made:1 on a 70.0% (65.0% to 75.0%), large on a 90.0%" in chart.alt


def test_values_of_many_decades_have_a_logarithmic_axis(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): {"lime": 0.9, "random": 0.02}, (LARGE, "d:a"): ONE}, half=0.01)
    assert by_model(made, "activation", "d:a").figure.layout.yaxis.type == "log"


def test_names_are_words_in_a_figure(make_set: MakeSet) -> None:
    hostile = replace(LARGE, name=HOSTILE, weights=0)
    made = make_set({(SMALL, "d:a"): ONE, (hostile, f"d:{HOSTILE}"): TWO})
    chart = by_model(made, "activation", f"d:{HOSTILE}")
    assert "<script" not in chart.figure.to_json()
    assert "<script>alert" not in chart.on_paper().to_html(include_plotlyjs=False)


def test_weights_are_spelled_short() -> None:
    assert [weights_words(n) for n in (5_356_290, 1_200_000_000, 900_000, 12)] == ["5.36 M", "1.2 B", "900 k", "12"]
