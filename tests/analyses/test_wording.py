"""The wording of numbers and names in sentences."""

from __future__ import annotations

import pytest

from explainlab.analyses.records import Interval
from explainlab.analyses.wording import (
    ahead_on_a_text,
    capital,
    counted,
    interval_words,
    joined,
    mean_words,
    quoted,
    whole_percent,
)


def around(mean: float, low: float | None, high: float | None) -> Interval:
    return Interval(mean=mean, low=low, high=high)


@pytest.mark.parametrize(
    ("value", "spec", "ends", "whole"),
    [
        (around(0.5, 0.4, 0.6), ".3f", "0.400 to 0.600", "0.500 (0.400 to 0.600)"),
        (around(-0.5, -0.6, 0.4), "+.1f", "-0.6 to +0.4", "-0.5 (-0.6 to +0.4)"),
        (around(0.5, None, None), ".3f", "none", "0.500"),
    ],
)
def test_intervals_are_spelled_in_one_way(value: Interval, spec: str, ends: str, whole: str) -> None:
    assert (interval_words(value, spec), mean_words(value, spec)) == (ends, whole)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a, 1", "b, 2"], "a, 1 and b, 2"),
        (["a, 1", "b", "c, 2"], "a, 1; b; and c, 2"),
    ],
)
def test_names_are_joined(names: list[str], said: str) -> None:
    assert joined(names) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [(0, "0%"), (1e-6, "under 1%"), (0.734, "73%"), (0.9999, "over 99%"), (1, "100%"), (0.01, "1%")],
)
def test_no_share_is_called_none_or_all_that_is_not(share: float, said: str) -> None:
    assert whole_percent(share) == said


def test_a_long_quote_is_cut_and_counts_have_their_number() -> None:
    assert quoted("so " * 100) == f"“{('so ' * 20).rstrip()}…”"
    assert quoted("so") == "“so”"
    assert capital("aN") == "AN"
    assert (counted(1, "word"), counted(1200, "word")) == ("1 word", "1,200 words")


def test_equal_values_of_a_text_share_the_place() -> None:
    assert ahead_on_a_text({"a": 0.5, "b": 0.5 + 1e-9, "c": 0.1}) == "a and b are ahead with 0.500"
    assert ahead_on_a_text({"a": 0.5, "b": 0.1}, higher=False) == "b is ahead with 0.100"
    assert ahead_on_a_text({"a": 0.0, "b": 1e-9}) == "none is ahead: it is 0.000 for all of them"
    assert ahead_on_a_text({"a": 0.5}) == "a is ahead with 0.500"
