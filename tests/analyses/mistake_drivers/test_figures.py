"""Charts of mistakes, drawn from what the studies themselves give."""

from __future__ import annotations

import copy
import csv
import io
from typing import Any

import pytest

from explainlab import load_model, study
from explainlab.analyses.mistake_drivers.figures import SHOWN, drivers, reliability_diagram
from explainlab.figures.chart import BLUE, RED

DATA = "embedded:sentiment"


@pytest.fixture(scope="module")
def classifier():
    return load_model("embedded:bert-mini-sst2", device="cpu")


@pytest.fixture(scope="module")
def predictions(classifier) -> dict[str, Any]:
    return study(classifier, "predictions", data=DATA).body


@pytest.fixture(scope="module")
def found(classifier) -> dict[str, Any]:
    return study(classifier, "mistake_drivers", data=DATA, right=20).body


def test_every_chart_says_what_it_shows_and_gives_its_numbers_away(predictions, found) -> None:
    for chart in (reliability_diagram(predictions), drivers(found, "words"), drivers(found, "pairs")):
        assert chart.figure.layout.xaxis.title.text
        assert chart.alt.startswith(chart.title)
        rows = list(csv.DictReader(io.StringIO(chart.to_csv())))
        assert len(rows) == len(chart.rows) > 0
        assert "<html" in chart.to_html()


def test_bars_stand_over_their_bins_with_the_number_of_texts(predictions) -> None:
    bins = [one for one in predictions["calibration"]["bins"] if one["n"]]
    accuracy, confidence, line, counts = reliability_diagram(predictions).figure.data
    assert list(accuracy.y) == [one["accuracy"] for one in bins]
    assert list(confidence.x) == list(confidence.y) == [one["confidence"] for one in bins]
    assert (list(line.x), list(line.y)) == ([0, 1], [0, 1])
    assert list(counts.y) == [one["n"] for one in bins]
    assert list(counts.text) == [f"{one['n']:,}" for one in bins]
    for bar in (accuracy, counts):
        for x, width, one in zip(bar.x, bar.width, bins, strict=True):
            assert (x - width / 2, x + width / 2) == (pytest.approx(one["low"]), pytest.approx(one["high"]))


def test_one_prediction_is_drawn(predictions) -> None:
    one = copy.deepcopy(predictions)
    for i, place in enumerate(one["calibration"]["bins"]):
        full = {"n": 1, "accuracy": 1.0, "confidence": 0.95}
        place.update(full if i == 14 else {"n": 0, "accuracy": None, "confidence": None})
    assert list(reliability_diagram(one).figure.data[0].y) == [1.0]


@pytest.mark.parametrize("kind", ["words", "pairs"])
def test_dots_have_the_intervals_of_wrong_and_correct_rows(found, kind) -> None:
    chart = drivers(found, kind)
    right, wrong = chart.figure.data
    listed = found[kind][:SHOWN]
    assert (right.marker.color, wrong.marker.color) == (BLUE, RED)
    assert list(wrong.x) == [one["mean"] for one in listed]
    assert list(wrong.customdata) == list(range(len(listed)))
    ends = zip(wrong.x, wrong.error_x.array, wrong.error_x.arrayminus, listed, strict=True)
    for mean, above, below, one in ends:
        low, high = (one[end] if one[end] is not None else mean for end in ("low", "high"))
        assert (mean - below, mean + above) == (pytest.approx(low), pytest.approx(high))
    assert list(right.customdata) == [i for i, one in enumerate(listed) if one["right_rows"]]
    assert list(right.x) == [listed[i]["right_mean"] for i in right.customdata]
    assert f"first {SHOWN} of {len(found[kind])}" in chart.notes[-1]
    assert len(chart.rows) == len(found[kind])


def test_words_are_escaped_shortened_and_marked(found) -> None:
    one = {**found["words"][0], "words": ["<b>" + "x" * 50], "once": True, "low": None, "high": None, "rows": 1}
    chart = drivers({**found, "words": [one]}, "words")
    assert chart.figure.layout.yaxis.ticktext[0].startswith("&lt;b&gt;xxx")
    assert "…" in chart.figure.layout.yaxis.ticktext[0]
    assert chart.figure.data[1].marker.symbol == ("circle-open",)
    assert "one row only" in chart.notes[0]


def test_no_mistakes_are_an_empty_chart(found) -> None:
    chart = drivers({**found, "words": [], "n_wrong": 0}, "words")
    assert chart.alt.endswith("There are none.")
    assert not chart.rows
