"""Faithfulness by hand (Eq. 3 of paper 003), verdicts on both sides of the line, leaks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from explainlab.analyses.roar.grid import Grid, GridCell
from explainlab.analyses.roar.judging import Judge, estimated, verdict
from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.analyses.roar.result import Faithfulness

RATIOS = [0, 20, 50, 100]


def judge(random: list[list[float | None]], own: list[list[float | None]], clip: bool = False) -> Judge:
    """Return the judge of curves with the performance at each ratio, one a seed; they begin and end together."""
    parameters = RoarParameters.model_validate(
        {"test": "t", "measures": ["gradient"], "ratios": RATIOS, "seeds": len(random)}
    )
    performance: dict[GridCell, float | None] = {}
    for seed, (b, p) in enumerate(zip(random, own, strict=True)):
        for ratio, value, other in zip(RATIOS, b, p, strict=True):
            performance[GridCell(seed, "random", False, ratio)] = value
            if ratio not in (0, 100):
                performance[GridCell(seed, "gradient", True, ratio)] = other
    return Judge(Grid(parameters, 0), performance, clip)


def whole(judged: Judge) -> Faithfulness:
    return judged.faithfulness()[-1]


RANDOM = [0.9, 0.8, 0.7, 0.5]


def test_a_measure_that_is_random_has_no_area() -> None:
    found = whole(judge([RANDOM], [RANDOM]))
    assert found.mean == pytest.approx(0)
    assert found.verdict is None  # one seed
    assert (found.low, found.high) == (None, None)


def test_a_measure_that_falls_to_the_bound_at_once_has_all_but_the_first_half_step() -> None:
    bound = RANDOM[-1]
    own = [RANDOM[0], bound, bound, bound]
    areas = [0.5 * 20 * (0.4 + 0.3), 0.5 * 30 * (0.3 + 0.2), 0.5 * 50 * 0.2]
    expected = (sum(areas) - 0.5 * 20 * 0.4) / sum(areas)
    assert whole(judge([RANDOM], [own])).mean == pytest.approx(expected)


def test_a_measure_above_random_is_negative_and_clipped_only_if_asked() -> None:
    flat, high = [0.51, 0.505, 0.5, 0.5], [0.51, 0.9, 0.9, 0.5]
    assert (whole(judge([flat], [high])).mean or 0) < -1
    assert whole(judge([flat], [high], clip=True)).mean == -1


def test_up_to_a_ratio_only_what_is_before_counts() -> None:
    own = [0.9, 0.6, 0.7, 0.5]
    first = judge([RANDOM], [own]).faithfulness()[0]
    assert first.upto == 20
    assert first.mean == pytest.approx((0.5 * 20 * 0.2) / (0.5 * 20 * (0.4 + 0.3)))


def test_a_curve_with_a_model_missing_has_no_faithfulness_and_the_others_count() -> None:
    found = whole(judge([RANDOM, RANDOM], [[0.9, None, 0.6, 0.5], [0.9, 0.7, 0.6, 0.5]]))
    assert found.seeds[0] is None
    assert found.mean == found.seeds[1]


def test_no_bound_below_random_is_no_faithfulness() -> None:
    assert whole(judge([[0.5] * 4], [[0.5, 0.4, 0.4, 0.5]])).mean is None


def test_the_interval_is_bca_and_needs_three_seeds() -> None:
    values = [0.1, 0.2, 0.25, 0.6]
    found = estimated(values)
    expected = stats.bootstrap((values,), np.mean, n_resamples=9_999, rng=np.random.default_rng(0), method="BCa")
    assert (found.low, found.high) == tuple(expected.confidence_interval)
    assert found.mean == pytest.approx(0.2875)
    assert estimated([0.1, 0.2]).low is None
    assert estimated([0.3, 0.3, 0.3]).low is None
    assert estimated([None, 0.2]).mean == 0.2
    assert estimated([None]).mean is None


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([0.1, 0.12, 0.09], "below random"),
        ([-0.1, -0.12, -0.09], "above random"),
        ([0.1, -0.12, 0.03], "not told apart"),
        ([0.2, 0.2, 0.2], "below random"),
        ([0.0, 0.0, 0.0], "not told apart"),
        ([0.2, 0.3], None),
        ([None, None, None], None),
    ],
)
def test_the_verdict_is_that_of_the_interval(differences: list[float | None], expected: str | None) -> None:
    assert verdict(estimated(differences)) == expected


def test_points_say_where_they_are_beside_random_and_ends_say_nothing() -> None:
    shifts = [0.0, 0.01, 0.02]
    random = [[value + shift for value in RANDOM] for shift in shifts]
    own = [[0.9 + shift, 0.5 + shift, 0.71, 0.5 + shift] for shift in shifts]
    points = {(p.measure, p.ratio): p for p in judge(random, own).curves()}
    assert points["gradient", 20].verdict == "below random"
    assert points["gradient", 50].verdict == "not told apart"
    assert points["random", 20].verdict is points["gradient", 0].verdict is points["gradient", 100].verdict is None
    difference = points["gradient", 20].difference
    assert difference is not None
    assert difference.seeds == pytest.approx([0.3] * 3)


def test_a_rise_beyond_twice_its_standard_error_is_a_leak() -> None:
    steady = [[0.9, 0.6, 0.7 + shift, 0.5] for shift in (0.0, 0.01, 0.02)]
    found = judge([RANDOM] * 3, steady).leaks()
    assert [(leak.measure, leak.before, leak.ratio) for leak in found] == [("gradient", 20, 50)]
    assert found[0].rise == pytest.approx(0.11)
    noisy = [[0.9, 0.6, 0.7 + shift, 0.5] for shift in (-0.4, 0.0, 0.2)]
    assert not judge([RANDOM] * 3, noisy).leaks()
    assert not judge([RANDOM], steady[:1]).leaks()  # no standard error
