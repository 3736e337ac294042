"""Estimates of jobs: the recorded work of real ones, told again, and small ones made up.

``recorded_jobs.json`` has the work of jobs of the embedded models on the embedded examples, as ``JobContext`` heard of
it: by name a list of [seconds of one processor, what, work, exact]. The jobs called "earlier" ask the same about fewer
rows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explainlab.service.estimate import Estimate, Pace

RECORDED: dict[str, list[list[Any]]] = json.loads(Path(__file__).with_name("recorded_jobs.json").read_text())
JOBS = [name for name in RECORDED if not name.endswith(" earlier")]
DATA = [name for name in JOBS if not name.startswith("text_")]
NOISE = 0.15
"""The largest growth of the time left over its minimum, as a share of the whole job."""


def told(name: str, pace: Pace | None = None) -> tuple[list[tuple[float, float, float | None]], Estimate]:
    """Seconds, share and time left after every event of a recorded job, and its estimate at the end."""
    estimate, snapshots = Estimate(pace), []
    for now, what, work, *exact in RECORDED[name]:
        if what == "end":
            break
        getattr(estimate, what)(now, work, *exact)
        snapshots.append((now, estimate.share, estimate.seconds_left))
    return snapshots, estimate


def seconds(name: str) -> float:
    return float(RECORDED[name][-1][0])


def pace_of(name: str) -> Pace:
    pace = told(name)[1].taken(seconds(name))
    assert pace is not None
    return pace


def earlier(name: str) -> Pace | None:
    """The pace of the job that asked the same about fewer rows, if there was one."""
    return pace_of(f"{name} earlier") if f"{name} earlier" in RECORDED else None


@pytest.mark.parametrize("name", JOBS)
def test_a_bar_never_goes_back_and_a_time_left_does_not_grow(name: str) -> None:
    for pace in (None, earlier(name)):
        snapshots, _ = told(name, pace)
        shares = [share for _, share, _ in snapshots]
        assert shares == sorted(shares)
        assert 0 <= shares[0] <= shares[-1] <= 1
        least = float("inf")
        for _, _, left in snapshots:
            if left is not None:
                assert 0 <= left <= least + NOISE * seconds(name)
                least = min(least, left)


@pytest.mark.parametrize("name", DATA)
def test_the_first_estimate_of_a_data_set_is_within_a_factor_of_two(name: str) -> None:
    for pace in (None, earlier(name)):
        first = next(((now, left) for now, _, left in told(name, pace)[0] if left is not None), None)
        if first is None:
            assert seconds(name) < 1, "so short a job needs no estimate"
        else:
            now, left = first
            assert 0.5 <= left / (seconds(name) - now) <= 2


def test_the_recorded_jobs_are_ten_and_most_have_an_estimate() -> None:
    assert len(DATA) >= 10
    assert sum(any(left for *_, left in told(name)[0]) for name in DATA) >= 8


def test_a_job_that_ends_early_counts_toward_its_most() -> None:
    estimate = Estimate()
    estimate.expect(0.0, 1000.0, False)
    for batch in range(1, 21):
        estimate.spend(float(batch), 10.0)
        assert estimate.seconds_left is None, "nobody knows when it will end"
    assert estimate.share == pytest.approx(0.2)
    assert estimate.taken(20.0) == Pace(0.02, 0.2, work=1000.0)
    again = Estimate(estimate.taken(20.0))
    again.expect(0.0, 1000.0, False)
    assert again.seconds_left == pytest.approx(20)
    again.spend(5.0, 50.0)
    assert (again.share, again.seconds_left) == (pytest.approx(0.25), pytest.approx(15))


def test_a_first_text_that_is_not_finished_has_an_estimate() -> None:
    estimate = Estimate()
    estimate.expect(0.0, 1000.0, True)
    estimate.part(0.0, 100.0)
    for batch in (1, 2, 3):
        estimate.spend(float(batch), 10.0)
    assert (estimate.share, estimate.seconds_left) == (pytest.approx(0.03), pytest.approx(97))


def test_more_work_than_expected_takes_the_bar_neither_back_nor_beyond() -> None:
    estimate = Estimate()
    estimate.expect(0.0, 100.0, True)
    estimate.part(0.0, 50.0)
    estimate.spend(1.0, 500.0)
    assert estimate.share < 0.5
    estimate.part(1.0, 50.0)
    assert estimate.share == pytest.approx(0.5)
    estimate.spend(1.5, 250.0)
    assert estimate.share == pytest.approx(0.75), "the first part tells how much work is behind what was expected"
    before = estimate.share
    estimate.expect(2.0, 1000.0, True)
    assert estimate.share == before


def test_a_pause_and_a_job_without_work_count_for_nothing() -> None:
    estimate = Estimate()
    estimate.pause(5.0)
    assert estimate.taken(9.0) is None
    estimate.expect(10.0, 10.0, True)
    assert (estimate.share, estimate.seconds_left, estimate.taken(11.0)) == (0, None, None)
    estimate.spend(12.0, 10.0)
    estimate.pause(3.0)
    assert estimate.taken(15.0) == Pace(0.2, 1.0, work=10.0)


def test_a_unit_of_work_takes_a_little_less_in_a_larger_job_and_more_in_a_smaller_one() -> None:
    pace = Pace(0.02, 1.0, work=1000.0)
    assert pace.whole(1000.0) == pytest.approx(20.0)
    assert pace.whole(5000.0) == pytest.approx(100 * 5**-0.15)
    assert pace.whole(200.0) == pytest.approx(4 * 5**0.15)
    assert pace.whole(1e6) == pytest.approx(0.75 * 20_000), "full batches gain no more"
    assert pace.whole(1.0) == pytest.approx(0.02 / 0.75)
    assert pace.whole(0.0) == 0
    estimate = Estimate(pace)
    estimate.expect(0.0, 5000.0, True)
    assert estimate.seconds_left == pytest.approx(pace.whole(5000.0))


def test_work_that_turns_out_to_be_known_is_not_in_the_time_left() -> None:
    """Ten texts of 100, of which 75 each are known; computing takes a second for ten."""
    for pace in (None, Pace(0.1, 1.0)):
        estimate = Estimate(pace)
        estimate.expect(0.0, 1000.0, True)
        now = 0.0
        for _ in range(5):
            estimate.part(now, 100.0)
            estimate.skip(now, 75.0)
            for _ in range(3):
                now += 2.5 / 3
                estimate.spend(now, 25 / 3)
        assert estimate.seconds_left == pytest.approx(12.5, rel=0.1)
        assert estimate.share == pytest.approx(0.5, abs=0.01)
        taken = estimate.taken(now)
        assert taken is not None
        assert taken.seconds == pytest.approx(12.5 / (1000 - 375))


def test_a_part_without_any_work_was_known() -> None:
    estimate = Estimate()
    estimate.expect(0.0, 300.0, True)
    estimate.part(0.0, 100.0)
    estimate.part(0.1, 100.0)
    assert estimate.share == pytest.approx(1 / 3)
    for batch in range(1, 4):
        estimate.spend(float(batch), 25.0)
    assert estimate.share == pytest.approx(175 / 300)
    left = estimate.seconds_left
    assert left is not None
    assert left < 0.75 * 125 * 3 / 75, "of the last part too, half is taken to be known"


def test_seconds_tell_nothing_of_hours() -> None:
    """A long job whose first steps take ten times as long as all others."""
    estimate, now, first = Estimate(), 0.0, None
    estimate.expect(now, 100_000, True)
    for step in range(2_000):
        now += 1.0 if step < 10 else 0.1
        estimate.spend(now, 1)
        first = first or estimate.seconds_left
    assert first is not None
    assert first < 1.3 * 0.1 * 100_000
    soon = Estimate()
    soon.expect(0, 100, True)
    for step in range(3):
        soon.spend(step + 1.0, 1)
    assert soon.seconds_left == pytest.approx(97), "a short job is told at once"
