"""The published numbers: their count, and the papers' own statements about them."""

from __future__ import annotations

import pytest

from explainlab.analyses.evaluation.published import paper_tables
from explainlab.metrics.registry import get_metric


@pytest.mark.parametrize(
    ("name", "rows", "columns"), [("001-2", 40, 15), ("001-4", 24, 10), ("002-2", 9, 7), ("002-3", 9, 7)]
)
def test_a_table_has_a_number_in_every_place(name: str, rows: int, columns: int) -> None:
    table = paper_tables()[name]
    assert len(table.rows) == rows
    assert {len(row.values) for row in table.rows} == {len(table.columns)} == {columns}
    for column in table.columns:
        get_metric(column.metric)


def values(name: str, method: str, data: str = "") -> tuple[float, ...]:
    return next(r.values for r in paper_tables()[name].rows if (r.data, r.method) == (data, method))


def test_a_row_that_the_paper_prints_three_times_is_the_same_here() -> None:
    """Table 2, RTN, BERT, RPI is also in Tables 5, 6 and 7."""
    assert values("001-2", "rpi", "RTN")[10:] == (-0.019, -2.675, 0.622, 0.002, 0.319)
    assert values("001-2", "integrated_gradients", "RTN")[10:] == (0.183, -1.117, 0.278, 0.123, 0.169)
    assert values("001-2", "sequential_integrated_gradients", "RTN")[10:] == (0.157, -1.524, 0.353, 0.109, 0.190)


def test_the_gains_that_paper_002_states_follow_from_its_tables() -> None:
    """At most 10.3% more AUC and 57.5% less inverse AUC than the best prior work: the text above Table 2."""
    prior = ("random", "attention_last", "gae", "input_x_gradient", "lrp", "integrated_gradients", "kernel_shap")
    best = [max(column) for column in zip(*(values("002-2", name) for name in prior), strict=True)]
    gains = [ours / theirs - 1 for ours, theirs in zip(values("002-2", "mp_pi"), best, strict=True)]
    assert max(gains) == pytest.approx(0.103, abs=0.001)
    assert values("002-3", "mp_pi")[:2] == (0.613, 0.431)
