"""Scores as bars: every bar in its place on one axis, whatever its sign, and a difference of classes has bars too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explainlab.attribution.records import Completeness, Target
from explainlab.figures.bars import first_bars, sorted_bars, waterfall_bars


def test_bars_share_an_axis_that_holds_zero(attribution) -> None:
    bars = sorted_bars(attribution("good bad", [9, 0.25, -0.5, 9]))
    assert [(bar.name, bar.kind, bar.value) for bar in bars.bars] == [
        ("bad", "negative", "−0.500"), ("good", "positive", "+0.250")
    ]  # fmt: skip
    assert bars.zero == pytest.approx(2 / 3)
    assert [pytest.approx(place[1:]) for place in bars.places] == [(0, 2 / 3), (2 / 3, 1 / 3)]


def test_the_waterfall_of_a_difference_knows_only_the_change(attribution) -> None:
    between = attribution("a b", [0, 0.25, 0.5, 0], target=Target(1, "POSITIVE over negative"))
    bars = waterfall_bars(replace(between, completeness=Completeness(0.75, 0.75, 0.0)))
    assert bars.axis == "Probability, from the start, of POSITIVE over negative"
    assert [(bar.name, bar.start, bar.size) for bar in bars.bars] == [
        ("Start", 0, 0), ("b", 0, 0.5), ("a", 0.5, 0.25), ("Change of the output", 0, 0.75)
    ]  # fmt: skip


def test_the_first_bars_are_sorted_scores_where_no_sum_is_promised(attribution) -> None:
    result = attribution("a b")
    assert first_bars(result) == waterfall_bars(result)
    for other in (replace(result, completeness=None), replace(result, signed=False)):
        assert first_bars(other) == sorted_bars(other)


def test_no_scores_have_no_axis_but_zero(attribution) -> None:
    bars = sorted_bars(attribution("a b", [0, 0, 0, 0]))
    assert bars.zero == 0
    assert [place[1:] for place in bars.places] == [(0, 0), (0, 0)]
