"""The matrix of agreements is symmetric, coloured from -1 to 1, and says whose signs differ."""

from __future__ import annotations

import re

import pytest

from explainlab.analyses.evaluation.figures import agreement_cells, agreement_matrix, pair_of
from explainlab.analyses.evaluation.result import Agreed, Agreement
from tests.analyses.evaluation.conftest import HOSTILE


def agreed(mean: float | None) -> Agreed:
    return Agreed(mean=mean, low=None, high=None, n=10)


@pytest.fixture
def body(table):
    pairs = [("lime", HOSTILE, -0.5, 0.25), ("lime", "random", None, None), (HOSTILE, "random", 0.0, None)]
    made = [
        Agreement(
            first=first,
            second=second,
            tau=agreed(tau),
            sign_conflicts=None if conflicts is None else agreed(conflicts),
            most_apart=[],
        )
        for first, second, tau, conflicts in pairs
    ]
    return table({"auprc": {"lime": 0.5, "random": 0.1}}).model_copy(update={"agreement": made})


def test_every_pair_stands_twice_with_its_tau_and_its_conflicts(body) -> None:
    cells, *texts = agreement_matrix(body).figure.data
    assert [list(row) for row in cells.z] == [[None, -0.5, None], [-0.5, None, 0.0], [None, 0.0, None]]
    assert (cells.zmin, cells.zmax) == (-1, 1)
    words = [re.sub("<span.*?>|</span>", "", text) for text in texts[0].text]
    assert words == ["", "−0.50<br>≠ 25%", "–", "−0.50<br>≠ 25%", "", "0.00", "–", "0.00", ""]
    assert agreement_matrix(body).alt.endswith("lowest: LIME and " + HOSTILE + ", −0.50.")
    assert "<script" not in str(agreement_matrix(body).figure.to_dict())


def test_zero_is_the_page_and_the_ends_are_as_strong(body) -> None:
    low, below, above, high = [color for _, color in agreement_matrix(body).figure.data[0].colorscale]
    assert below.endswith(",0)")
    assert above.endswith(",0)")
    assert low.split(",")[-1] == high.split(",")[-1] == "0.55)"


def test_a_press_names_both_methods_in_either_order(body) -> None:
    spec = agreement_cells(body, first="random", second="lime")
    (records,) = spec["datasets"].values()
    assert len(records) == 9
    framed = [(r["first"], r["second"], r["row"], r["column"]) for r in records if r["framed"]]
    assert framed == [("random", "lime", 2, 0)]
    assert pair_of(body, "random", "lime") is body.agreement[1]
    assert pair_of(body, "lime", "lime") is None


def test_a_real_result_has_a_row_a_pair(evaluated) -> None:
    chart = agreement_matrix(evaluated.body)
    assert len(chart.rows) == 6
    assert {row["sign_conflicts_n"] is None for row in chart.rows if "gradient" in (row["first"], row["second"])} == {
        True
    }
