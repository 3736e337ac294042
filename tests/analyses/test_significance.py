"""The groups that a test tells apart, in words; values that share texts are compared text by text."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy

from explainlab.analyses.records import Interval
from explainlab.analyses.significance import Groups, grouped, groups_of, groups_of_intervals
from explainlab.metrics.comparison import bootstrap
from tests.failures import check_each


def around(mean: float, half: float | None = None) -> Interval:
    ends = (None, None) if half is None else (mean - half, mean + half)
    return Interval(mean=mean, low=ends[0], high=ends[1])


@pytest.mark.parametrize(
    ("groups", "winner", "said"),
    [
        (Groups(("a", "b"), (), ("c",)), "", "a and b cannot be distinguished; c is worse"),
        (Groups(("a",), (), ("b", "c")), "a", "a is best; b and c are worse"),
        (Groups(("a", "b", "c")), "", "a, b and c cannot be distinguished"),
        (
            Groups(("a", "b"), ("c",), ("d",)),
            "",
            "a and b cannot be distinguished; c is worse than some of them only; d is worse",
        ),
        (Groups(("a",)), "", "a stands alone"),
    ],
)
def test_groups_in_words(groups: Groups, winner: str, said: str) -> None:
    assert (groups.winner, groups.words()) == (winner, said)
    assert groups.words(lambda name: f"<{name}>").startswith("<a>")


def test_the_values_of_the_same_texts_are_compared_text_by_text() -> None:
    """Texts differ by 1, methods by 0.1: the means' intervals overlap, and the differences have one sign."""
    ease = np.linspace(0, 1, 20)
    values = {"a": ease + 0.1, "b": ease + np.tile([-0.019, 0.021], 10), "c": ease}
    (_, low, _), (_, _, high) = bootstrap(values["a"].tolist()), bootstrap(values["b"].tolist())
    assert low is not None
    assert high is not None
    assert low < high
    assert groups_of(values) == Groups(("a",), (), ("b", "c"))
    assert groups_of(values, higher=False) == Groups(("b", "c"), (), ("a",))


@pytest.mark.parametrize(("better", "worse", "apart"), [(6, 0, True), (5, 0, False), (16, 5, True), (15, 6, False)])
@pytest.mark.parametrize("alike", [0, 50, 5_000])
def test_zeros_and_ones_are_compared_by_mcnemars_test(better: int, worse: int, apart: bool, alike: int) -> None:
    values = {"a": [1] * better + [0] * worse + [1] * alike, "b": [0] * better + [1] * worse + [1] * alike}
    p = scipy.stats.binomtest(better, better + worse).pvalue
    for count in (1, 2, 3):
        assert groups_of(values, of=count).winner == ("a" if p < 0.05 / count else "")
    assert (p < 0.05) == apart
    assert groups_of(values, higher=False).winner == ("b" if apart else "")
    more = {**values, "c": values["b"], "d": values["b"]}
    assert (groups_of(more).winner == "a") == (6 * p < 0.05), "corrected for 6 pairs"


def test_groups_of_few_texts_of_one_name_and_without_a_value() -> None:
    def check(case: tuple[dict[str, list[float]], Groups]) -> None:
        values, expected = case
        assert groups_of(values) == expected

    nan = float("nan")
    check_each(
        check,
        [
            ({"a": [1.0] * 5, "b": [0.0] * 5}, Groups(("a", "b"))),
            ({"a": [1.0] * 6, "b": [0.0] * 6}, Groups(("a",), (), ("b",))),
            ({"a": [1.0] * 30, "b": [1.0] * 30}, Groups(("a", "b"))),
            ({"a": [0.5] * 9}, Groups(("a",))),
            ({"a": [nan] * 9, "b": [0.5] * 9}, Groups(("b",))),
            ({"a": [1.0] * 8 + [nan], "b": [nan] + [0.5] * 8}, Groups(("a",), (), ("b",))),
            ({"a": [1.0] * 3 + [nan] * 6, "b": [0.0] * 9}, Groups(("a", "b"))),
        ],
    )


def test_several_comparisons_together_need_a_smaller_p() -> None:
    values = {"a": [1.0] * 7, "b": [0.0] * 7}
    assert [bool(groups_of(values, of=of).winner) for of in (1, 3, 4)] == [True, True, False], "p is 2 / 128"


def test_what_ranks_contradict_and_what_is_not_tested_is_not_told_apart() -> None:
    means, p = {"a": 0.3, "b": 0.2, "c": 0.1}, np.full((3, 3), 0.01)
    assert grouped(means, p).winner == "a"
    assert grouped(means, p, [2.0, 1.0, 3.0]) == Groups(("a", "b"), (), ("c",))
    p[0, 1] = p[1, 0] = np.nan
    assert grouped(means, p) == Groups(("a", "b"), (), ("c",))
    p[0, 2] = p[2, 0] = 0.06
    assert grouped(means, p) == Groups(("a", "b"), ("c",))


def test_means_without_common_texts_are_compared_by_welchs_t() -> None:
    """Against scipy's test of the values themselves: an interval of resamples says nearly as much as they do."""
    random = np.random.default_rng(0)
    samples = {name: random.normal(mean, 1, n) for name, mean, n in (("a", 0.9, 60), ("b", 0.3, 50), ("c", 0.0, 40))}
    values = {}
    for name, sample in samples.items():
        mean, low, high = bootstrap(sample.tolist())
        values[name] = (Interval(mean=mean, low=low, high=high), len(sample))
    p = {}
    for first, second in combinations(samples, 2):
        p[first, second] = scipy.stats.ttest_ind(samples[first], samples[second], equal_var=False).pvalue
    clear = {pair for pair, own in p.items() if own < 0.05 / 3}
    groups = groups_of_intervals(values)
    assert {(groups.winner, name) for name in groups.worse} == clear == {("a", "b"), ("a", "c")}


def test_intervals_that_say_nothing_and_unknown_means_name_nobody() -> None:
    assert groups_of_intervals({"a": (around(0.9), 1), "b": (around(0.1, 0.01), 9)}) == Groups(("a", "b"))
    assert groups_of_intervals({"a": (around(0.9, 0.01), 2), "b": (around(0.88, 0.01), 2)}) == Groups(("a", "b"))
    unknown = Interval(mean=None, low=None, high=None)
    assert groups_of_intervals({"a": (unknown, 0), "b": (around(0.1, 0.01), 9)}) == Groups(("b",))
    assert groups_of_intervals({"a": (unknown, 0)}) == Groups(())
    assert groups_of_intervals({"a": (around(0.2, 0.1), 9), "b": (around(0.9, 0.1), 9)}, False).winner == "a"
