"""The cells of a set: grouped by seed, means over texts or over models."""

from __future__ import annotations

import pytest

from tests.analyses.sets.conftest import LARGE, SEED, SMALL, MakeSet

FIRST, SECOND = {"lime": 0.5, "random": 0.1}, {"lime": 0.3, "random": 0.2}


def test_models_that_differ_in_their_seed_alone_are_one_mean_over_models(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): FIRST, (SEED, "d:a"): SECOND, (LARGE, "d:a"): FIRST})
    seeds, large = made.groups
    assert (seeds.name, large.name) == ("BERT, 2 seeds", "large")
    mean = made.mean(seeds, "d:a", "lime", "activation")
    assert mean is not None
    assert (mean.value.mean, mean.over, mean.number.n) == (pytest.approx(0.4), "models", 2)
    assert mean.value.low == pytest.approx(0.3)
    assert mean.value.high == pytest.approx(0.5)
    alone = made.mean(large, "d:a", "lime", "activation")
    assert alone is not None
    assert (alone.value.mean, alone.value.low, alone.over, alone.number.n) == (0.5, 0.45, "texts", 10)


def test_a_seed_that_failed_is_left_out_of_the_mean(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): FIRST, (SEED, "d:a"): None})
    mean = made.mean(made.groups[0], "d:a", "lime", "activation")
    assert mean is not None
    assert (mean.value.mean, mean.value.low, mean.number.n) == (0.5, None, 1)


def test_random_comes_last(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): {"random": 0.1, "lime": 0.5}})
    assert list(made.series) == ["lime", "random"]
    assert [cell.status for cell in made.cells] == ["done"]
