"""A metric over models: by size where sizes differ, else bars; one line a method, in a band."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explainlab.analyses.evaluation.sets.figures import by_model, weights_words
from tests.analyses.evaluation.conftest import HOSTILE
from tests.analyses.evaluation.sets.conftest import LARGE, SEED, SMALL, C, MakeSet

ONE, TWO = {"lime": 0.5, "random": 0.1}, {"lime": 0.3, "random": 0.2}


def test_models_of_different_sizes_are_on_a_logarithmic_axis(make_set: MakeSet) -> None:
    chart = by_model(make_set({(SMALL, "d:a"): ONE, (SEED, "d:a"): TWO, (LARGE, "d:a"): ONE}), C, "d:a")
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


def test_models_of_one_size_or_of_an_unknown_one_are_bars(make_set: MakeSet) -> None:
    unknown = replace(LARGE, weights=0, family="T5")
    chart = by_model(make_set({(SMALL, "d:a"): ONE, (unknown, "d:a"): TWO}), C, "d:a")
    lime, random = chart.figure.data
    assert (lime.type, list(lime.x), list(lime.y)) == ("bar", [0, 1], [0.5, 0.3])
    assert random.marker.pattern.shape == "/"
    assert list(chart.figure.layout.xaxis.ticktext) == ["made:1 (BERT)", "large (T5)"]


def test_a_single_model_is_shown_by_data_set(make_set: MakeSet) -> None:
    chart = by_model(make_set({(LARGE, "d:a"): ONE, (LARGE, "d:b"): TWO}), C, "d:b")
    assert list(chart.figure.layout.xaxis.ticktext) == ["a", "b"]
    assert [row["data"] for row in chart.rows] == ["a", "a", "b", "b"]


def test_names_are_words_in_a_figure(make_set: MakeSet) -> None:
    hostile = replace(LARGE, name=HOSTILE, weights=0)
    chart = by_model(make_set({(SMALL, "d:a"): ONE, (hostile, f"d:{HOSTILE}"): TWO}), C, f"d:{HOSTILE}")
    assert "<script" not in chart.figure.to_json()
    assert "<script>alert" not in chart.on_paper().to_html(include_plotlyjs=False)


def test_weights_are_spelled_short() -> None:
    assert [weights_words(n) for n in (5_356_290, 1_200_000_000, 900_000, 12)] == ["5.36 M", "1.2 B", "900 k", "12"]
