"""The Benchmark page's list of results, from small bodies made by hand."""

from __future__ import annotations

import pytest

from explainlab.analyses.evaluation.result import (
    Agreed,
    Agreement,
    EvaluationData,
    MethodMetric,
    TextAgreement,
)
from explainlab.analyses.evaluation.texts import EvaluatedRow
from explainlab.app.pages.benchmark import texts as listing
from explainlab.app.pages.benchmark.texts import (
    behind,
    cell_records,
    pair_records,
    pairs_records,
    text_records,
    value_records,
)
from explainlab.metrics.registry import parse_metric

COMP, SUFF = parse_metric("comprehensiveness"), parse_metric("sufficiency")
VALUES = {1: (0.2, 0.5), 2: (0.7, None), 3: (0.2, 0.1)}
"""By row: comprehensiveness and sufficiency of the gradient."""


@pytest.fixture
def body() -> EvaluationData:
    known = {"mean": 0.1, "low": None, "high": None, "n": 3, "counted": 3}
    rows = [MethodMetric(method=name, **m.facts, **known) for name in ("gradient", "random") for m in (COMP, SUFF)]
    texts = [
        EvaluatedRow(
            row=row,
            text=f"text {row}",
            label="positive",
            predicted="negative",
            features=row,
            values={"gradient": {COMP.name: comp, SUFF.name: suff}, "random": {COMP.name: 0.0, SUFF.name: 0.0}},
            text_seed=row,
        )
        for row, (comp, suff) in VALUES.items()
    ]
    tau = Agreed(mean=0.5, low=None, high=None, n=2)
    apart = [TextAgreement(row=3, tau=-0.2), TextAgreement(row=1, tau=0.4)]
    pair = Agreement(first="gradient", second="random", tau=tau, sign_conflicts=None, most_apart=apart)
    return EvaluationData(n=3, rows=rows, cost_by_method={}, texts=texts, agreement=[pair])


def test_a_cells_texts_are_in_the_order_of_their_values_and_equal_ones_as_in_the_file(body: EvaluationData) -> None:
    assert [text.row for text in behind(body, "gradient", COMP.name, "best")] == [2, 1, 3]
    assert [text.row for text in behind(body, "gradient", COMP.name, "worst")] == [1, 3, 2]
    assert [text.row for text in behind(body, "gradient", SUFF.name, "best")] == [3, 1], "lower is better"


def test_of_very_many_texts_the_first_are_listed(body: EvaluationData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_LISTED", 2)
    assert [text.row for text in behind(body, "gradient", COMP.name, "worst")] == [1, 3]
    assert [record["Row"] for record in text_records(body)] == [1, 2]
    assert [record["Row"] for record in pair_records(body, "gradient", "random")] == [3, 1]


def test_a_cells_values_stand_beside_those_of_random_maps(body: EvaluationData) -> None:
    first, *_ = cell_records(body, "gradient", COMP.name, "best")
    assert (first["Value"], first["Random"], first["Text"], first["True"]) == (0.7, 0.0, "text 2", "positive")
    assert "Random" not in cell_records(body, "random", COMP.name, "best")[0]
    assert "Second text" not in first


def test_two_methods_in_either_order_list_where_they_disagree_most(body: EvaluationData) -> None:
    for pair in (("gradient", "random"), ("random", "gradient")):
        assert [record["Row"] for record in pair_records(body, *pair)] == [3, 1]
    assert pair_records(body, "gradient", "gradient") == []
    assert pairs_records(body)[0]["Kendall's τ"] == 0.5


def test_a_text_and_all_texts_have_every_value(body: EvaluationData) -> None:
    gradient, random = value_records(body, body.texts[1])
    assert gradient["Method"] == "Gradient"
    assert [value for name, value in gradient.items() if name != "Method"] == [0.7, None]
    assert random["Method"] == "Random"
    assert [record[f"Gradient, {SUFF.label}"] for record in text_records(body)] == [0.5, None, 0.1]
