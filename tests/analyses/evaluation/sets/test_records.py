"""A set of evaluations: its measures are metrics, and its flat rows tell more than the headline numbers."""

from __future__ import annotations

from explainlab.analyses.evaluation.sets import set_rows
from tests.analyses.evaluation.sets.conftest import LARGE, SMALL, C, MakeSet, S

FIRST = {"lime": 0.5, "random": 0.1, "reversed:lime": 0.0}


def test_the_rows_tell_every_number_and_why_a_cell_has_none(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): FIRST, (LARGE, "d:b"): None})
    rows = set_rows(made)
    assert len(rows) == 2 * 3 + 1
    assert rows[-1]["reason"] == "It <b>failed</b>."
    assert {row.get("mean") for row in rows} == {0.5, 0.1, 0.0, None}
    assert "told_apart" in rows[0]


def test_its_measures_are_the_metrics_without_reversed_controls(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): FIRST})
    assert list(made.measures) == [C, S]
    assert made.series == {"lime": "LIME", "random": "Random"}
