"""The cells of a set: grouped by seed, means over texts or over models, flat rows."""

from __future__ import annotations

import pytest

from explainlab.analyses.evaluation.sets.records import set_rows
from tests.analyses.evaluation.sets.conftest import LARGE, SEED, SMALL, C, MakeSet

FIRST, SECOND = {"lime": 0.5, "random": 0.1}, {"lime": 0.3, "random": 0.2}


def test_models_that_differ_in_their_seed_alone_are_one_mean_over_models(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): FIRST, (SEED, "d:a"): SECOND, (LARGE, "d:a"): FIRST})
    seeds, large = made.groups
    assert (seeds.name, large.name) == ("BERT, 2 seeds", "large")
    mean = made.mean(seeds, "d:a", "lime", C)
    assert mean is not None
    assert (mean.value.mean, mean.over, mean.n) == (pytest.approx(0.4), "models", 2)
    assert mean.value.low == pytest.approx(0.3)
    assert mean.value.high == pytest.approx(0.5)
    alone = made.mean(large, "d:a", "lime", C)
    assert alone is not None
    assert (alone.value.mean, alone.value.low, alone.over, alone.n) == (0.5, 0.45, "texts", 10)


def test_a_seed_that_failed_is_left_out_of_the_mean(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): FIRST, (SEED, "d:a"): None})
    mean = made.mean(made.groups[0], "d:a", "lime", C)
    assert mean is not None
    assert (mean.value.mean, mean.value.low, mean.n) == (0.5, None, 1)


def test_the_rows_tell_every_number_and_why_a_cell_has_none(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): FIRST, (LARGE, "d:b"): None})
    rows = set_rows(made)
    assert len(rows) == 2 * 2 + 1
    assert rows[-1]["reason"] == "It <b>failed</b>."
    assert {row.get("mean") for row in rows} == {0.5, 0.1, None}
    assert [cell.status for cell in made.cells] == ["done", "failed"]
    assert made.methods == ["lime", "random"]
