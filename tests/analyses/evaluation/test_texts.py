"""Many texts as columns: each comes back as the record that it was, and their JSON is that of the records."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab.analyses.evaluation.texts import EvaluatedRow, EvaluatedTexts

ROWS = [
    EvaluatedRow(
        row=10**k,
        text=f"text {k}",
        text_pair="second" if k else None,
        label="positive",
        values={name: {"a": 0.1 * k, "b": None if name == "random" else -1e-300} for name in ("gradient", "random")},
        text_seed=k,
        predicted="negative",
        features=k,
        rationale=((0, 2), (3, 4)),
        undefined="cut" if k else None,
    )
    for k in range(3)
]


def test_every_record_comes_back() -> None:
    texts = EvaluatedTexts.of(ROWS)
    assert [*texts] == ROWS
    assert (texts[-1], texts[1:]) == (ROWS[-1], ROWS[1:])
    assert texts == EvaluatedTexts.of(row.model_dump(mode="json") for row in ROWS)
    assert [row.model_dump(mode="json") for row in texts] == [row.model_dump(mode="json") for row in ROWS]
    assert texts != EvaluatedTexts.of(ROWS[:2])
    assert [*EvaluatedTexts.of([])] == []


def test_a_column_and_some_metrics() -> None:
    texts = EvaluatedTexts.of(ROWS)
    np.testing.assert_array_equal(texts.column("gradient", "a"), [0, 0.1, 0.2])
    assert np.isnan(texts.column("random", "b")).all()
    assert [row.values for row in texts.only({"b"})] == [
        {n: {"b": v["b"]} for n, v in row.values.items()} for row in ROWS
    ]


@pytest.mark.parametrize("other", [{"gradient": {"a": 1.0, "b": 1.0}}, {"gradient": {"a": 1.0}, "random": {"a": 1.0}}])
def test_values_of_other_names_are_refused(other: dict) -> None:
    with pytest.raises(ValueError, match="different methods or metrics"):
        EvaluatedTexts.of([ROWS[0], ROWS[1].model_copy(update={"values": other})])
