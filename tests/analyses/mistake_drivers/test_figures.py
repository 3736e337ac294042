"""Charts of mistakes, drawn from real results of the studies."""

from __future__ import annotations

import csv
import io

import pytest

from explainlab.analyses.mistake_drivers.figures import SHOWN, UNCLEAR, drivers, drivers_of, places
from explainlab.analyses.mistake_drivers.result import MistakeDriversData
from explainlab.figures.chart import BLUE, RED


@pytest.fixture(scope="module")
def body(result) -> MistakeDriversData:
    """Return a body in which all words and pairs with an interval are clear, so that there are many to draw."""
    body = result.body
    words, pairs = (
        [driver.model_copy(update={"clear": not driver.once}) for driver in drivers_of(body, kind)]
        for kind in ("words", "pairs")
    )
    return body.model_copy(update={"words": words, "pairs": pairs})


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
    whole, kept = drivers_of(body, kind), places(body, kind)[:SHOWN]
    listed = [whole[i] for i in kept]
    assert (right.marker.color, wrong.marker.color) == (BLUE, RED)
    assert list(wrong.x) == [driver.mean for driver in listed]
    assert list(wrong.customdata) == kept
    ends = zip(wrong.x, wrong.error_x.array, wrong.error_x.arrayminus, listed, strict=True)
    for mean, above, below, driver in ends:
        assert (mean - below, mean + above) == (pytest.approx(driver.low or mean), pytest.approx(driver.high or mean))
    assert list(right.customdata) == [i for i in kept if whole[i].right_rows]
    assert list(right.x) == [whole[i].right_mean for i in right.customdata]
    more = len(places(body, kind)) - SHOWN
    assert list(chart.notes) == (
        [f"The first {SHOWN} of {SHOWN + more} are drawn; the table has all."] if more > 0 else []
    )
    assert len(chart.rows) == len(whole)


def test_what_is_unclear_or_grammar_is_folded(body) -> None:
    first, second, third = (
        body.words[0].model_copy(update={"words": [word], "word": word, "clear": clear})
        for word, clear in (("dull", True), ("the", True), ("slow", False))
    )
    some = body.model_copy(update={"words": [first, second, third]})
    assert places(some, "words") == [0, 1]
    assert places(some, "words", hide_function_words=True) == [0]
    assert UNCLEAR not in drivers(some, "words").notes
    assert drivers(body.model_copy(update={"words": [third]}), "words").notes == (UNCLEAR,)
    assert len(drivers(some, "words", True).figure.data[1].x) == 1


def test_words_are_escaped_shortened_and_marked(body) -> None:
    words = {"words": ["<b>" + "x" * 50], "low": None, "high": None, "clear": True}
    driver = body.words[0].model_copy(update=words)
    chart = drivers(body.model_copy(update={"words": [driver]}), "words")
    assert chart.figure.layout.yaxis.ticktext[0].startswith("&lt;b&gt;xxx")
    assert "…" in chart.figure.layout.yaxis.ticktext[0]
    assert chart.figure.data[1].marker.symbol == ("circle-open",)


def test_no_mistakes_are_an_empty_chart(body) -> None:
    chart = drivers(body.model_copy(update={"words": [], "n_wrong": 0}), "words")
    assert chart.alt.endswith("There are none.")
    assert not chart.rows
