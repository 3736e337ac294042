"""Verdicts on the steps that are needed: every wording, forced by errors that allow no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from explainlab.analyses.integration.result import (
    AdaptiveMeans,
    ErrorSummary,
    IntegrationErrorData,
    IntegrationErrorText,
    RuleRow,
)
from explainlab.analyses.integration.verdict import data_verdict, still_from, text_verdict
from explainlab.analyses.records import Interval
from tests.analyses.bodies import integration_body

SPENT = "adaptive took 17 evaluations"
MOVING = "the colours of right Riemann sums still move at 70"


def body(ideal: dict[str, int | None], still: int | None = None, **fields: Any) -> IntegrationErrorText:
    """Return a text tried at 10, 20 and 70 steps, whose colours stand still from ``still`` steps on."""
    whole = integration_body(steps=(10, 20, 70))
    exact = np.array(whole.adaptive.scores)
    rows = [
        RuleRow(
            rule=rule,
            steps=steps,
            evaluations=steps,
            approximation_error=0.1,
            scores=(exact if still is not None and steps >= still else -exact).tolist(),
        )
        for rule in ideal
        for steps in (10, 20, 70)
    ]
    last = whole.adaptive.trace[-1].model_copy(update={"evaluations": 17})
    adaptive = whole.adaptive.model_copy(update={"trace": [last]})
    return whole.model_copy(update={"ideal_steps": ideal, "rows": rows, "adaptive": adaptive, **fields})


@pytest.mark.parametrize(
    ("ideal", "still", "said"),
    [
        (
            {"right": 70, "left": 20, "gauss_legendre": 10},
            20,
            "Right Riemann sums need 70 steps for this text, Gauss-Legendre at most 10, adaptive took 17 evaluations; "
            "the colours of right Riemann sums stop moving at 20.",
        ),
        ({"right": None}, None, f"Right Riemann sums need more than 70 steps for this text, {SPENT}; {MOVING}."),
        (
            {"right": None, "left": 70, "midpoint": 20, "trapezoid": None},
            10,
            f"Right Riemann sums need more than 70 steps for this text, midpoint sums 20, {SPENT}; "
            "the colours of right Riemann sums stop moving at 10 or before.",
        ),
        (
            {"gauss_legendre": 20},
            70,
            f"Gauss-Legendre needs 20 steps for this text, {SPENT}; the colours of Gauss-Legendre stop moving at 70.",
        ),
    ],
)
def test_every_text_has_its_words(ideal: dict[str, int | None], still: int | None, said: str) -> None:
    assert text_verdict(body(ideal, still)) == said


def test_no_steps_are_enough_where_the_scores_cancel() -> None:
    said = text_verdict(body({"right": None}, cancels=True))
    assert said.startswith("The output hardly changes")
    assert said.endswith(f"; {SPENT}.")


def test_colours_stand_still_only_from_the_last_move_on() -> None:
    still = body({"right": 70}, 20)
    assert still_from(still, "right") == 20
    again = [*still.rows[:2], still.rows[2].model_copy(update={"scores": [0.0] * len(still.features)})]
    assert still_from(still.model_copy(update={"rows": again}), "right") is None


def data(n: int, ideal: dict[str, dict[str, int]], evaluations: Interval) -> IntegrationErrorData:
    adaptive = AdaptiveMeans(evaluations=evaluations, approximation_error=evaluations)
    return IntegrationErrorData(
        texts=[],
        summary=ErrorSummary(n=n, cancelled=0, mean={}, ideal_steps=ideal, within_1000={}, adaptive=adaptive),
    )


def test_a_data_set_is_told_by_its_median_and_by_intervals() -> None:
    around, alone = Interval(mean=17.25, low=15, high=19.5), Interval(mean=17, low=None, high=None)
    ideal = {"right": {"10": 1, "70": 1, "200": 1, "none": 1}, "gauss_legendre": {"10": 3, "70": 0, "none": 1}}
    assert data_verdict(data(4, ideal, around)) == (
        "Right Riemann sums need 70 steps for at least half of the 4 texts, Gauss-Legendre at most 10; adaptive took "
        "17.2 evaluations on average (15.0 to 19.5)."
    )
    most = data_verdict(data(3, {"right": {"10": 1, "70": 0, "none": 2}}, around))
    assert most.startswith("Right Riemann sums need more than 70 steps for at least half of the 3 texts; ")
    one = data_verdict(data(1, {"right": {"10": 0, "70": 1, "none": 0}}, alone))
    assert one == "Right Riemann sums need 70 steps for the text; adaptive took 17.0 evaluations."
    assert data_verdict(data(0, {}, alone)).startswith("No text")
