"""Charts of mistakes, drawn from what the studies themselves give."""

from __future__ import annotations

import csv
import io

import pytest

from explainlab import load_model, study
from explainlab.analyses.mistake_drivers.figures import SHOWN, drivers, drivers_of
from explainlab.analyses.mistake_drivers.result import MistakeDriversData
from explainlab.figures.chart import BLUE, RED

DATA = "embedded:sentiment"


@pytest.fixture(scope="module")
def classifier():
    return load_model("embedded:bert-mini-sst2", device="cpu")


@pytest.fixture(scope="module")
def body(classifier) -> MistakeDriversData:
    return study(classifier, "mistake_drivers", data=DATA, right=20).body


def test_every_chart_says_what_it_shows_and_gives_its_numbers_away(body) -> None:
    for chart in (drivers(body, "words"), drivers(body, "pairs")):
        assert chart.figure.layout.xaxis.title.text
        assert chart.alt.startswith(chart.title)
        rows = list(csv.DictReader(io.StringIO(chart.to_csv())))
        assert len(rows) == len(chart.rows) > 0
        assert "<html" in chart.to_html()


@pytest.mark.parametrize("kind", ["words", "pairs"])
def test_dots_have_the_intervals_of_wrong_and_correct_rows(body, kind) -> None:
    chart = drivers(body, kind)
    right, wrong = chart.figure.data
    whole = drivers_of(body, kind)
    listed = whole[:SHOWN]
    assert (right.marker.color, wrong.marker.color) == (BLUE, RED)
    assert list(wrong.x) == [driver.mean for driver in listed]
    assert list(wrong.customdata) == list(range(len(listed)))
    ends = zip(wrong.x, wrong.error_x.array, wrong.error_x.arrayminus, listed, strict=True)
    for mean, above, below, driver in ends:
        low, high = (end if end is not None else mean for end in (driver.low, driver.high))
        assert (mean - below, mean + above) == (pytest.approx(low), pytest.approx(high))
    assert list(right.customdata) == [i for i, driver in enumerate(listed) if driver.right_rows]
    assert list(right.x) == [listed[i].right_mean for i in right.customdata]
    assert f"first {SHOWN} of {len(whole)}" in chart.notes[-1]
    assert len(chart.rows) == len(whole)


def test_words_are_escaped_shortened_and_marked(body) -> None:
    words = {"words": ["<b>" + "x" * 50], "once": True, "low": None, "high": None, "rows": 1}
    driver = body.words[0].model_copy(update=words)
    chart = drivers(body.model_copy(update={"words": [driver]}), "words")
    assert chart.figure.layout.yaxis.ticktext[0].startswith("&lt;b&gt;xxx")
    assert "…" in chart.figure.layout.yaxis.ticktext[0]
    assert chart.figure.data[1].marker.symbol == ("circle-open",)
    assert "one row only" in chart.notes[0]


def test_no_mistakes_are_an_empty_chart(body) -> None:
    chart = drivers(body.model_copy(update={"words": [], "n_wrong": 0}), "words")
    assert chart.alt.endswith("There are none.")
    assert not chart.rows
