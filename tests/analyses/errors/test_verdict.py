"""Verdicts on a model's accuracy: every wording, forced by a matrix that allows no other."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab.analyses.errors.analysis import accuracy_of
from explainlab.analyses.errors.result import Calibration, PredictionsData, verdict

LABELS = ["negative", "neutral", "positive"]


def body(*confusion: list[int]) -> PredictionsData:
    matrix = np.array(confusion)
    n = int(matrix.sum())
    return PredictionsData(
        labels=LABELS[: len(confusion)],
        n=n,
        accuracy=accuracy_of(int(matrix.trace()), n),
        macro_f1=0,
        per_class=[],
        calibration=Calibration(ece=0, bins=[]),
        confusion=matrix.tolist(),
        rows=[],
    )


@pytest.mark.parametrize(
    ("confusion", "said"),
    [
        (
            ([450, 63], [40, 447]),
            "The model is right about 89.7% of 1,000 rows (95% interval 87.7% to 91.4%); its most frequent mistake "
            "is to take “negative” for “neutral” (63×).",
        ),
        (
            ([45, 5], [4, 46]),
            "The model is right about 91.0% of 100 rows (95% interval 83.8% to 95.2%); it takes “negative” for "
            "“neutral” (5×) and “neutral” for “negative” (4×).",
        ),
        (
            ([45, 5], [0, 50]),
            "The model is right about 95.0% of 100 rows (95% interval 88.8% to 97.8%); its only kind of mistake is to "
            "take “negative” for “neutral” (5×).",
        ),
        (
            ([30, 2, 2], [2, 30, 2], [1, 1, 30]),
            "The model is right about 90.0% of 100 rows (95% interval 82.6% to 94.5%); no kind of mistake is "
            "clearly the most frequent.",
        ),
        (([5, 0], [0, 5]), "The model is right about 100.0% of 10 rows (95% interval 72.2% to 100.0%)."),
    ],
)
def test_every_matrix_has_its_words(confusion: tuple[list[int], ...], said: str) -> None:
    assert verdict(body(*confusion)) == said


@pytest.mark.parametrize(
    ("confusion", "said"),
    [
        (([80, 5], [10, 5]), ", not clearly better than saying “negative” always (85.0%); "),
        (([20, 70], [5, 5]), ", worse than saying “negative” always (90.0%); "),
        (([20, 10], [0, 0]), ", all of which are “negative”; "),
    ],
)
def test_one_class_for_all_is_held_against_it(confusion: tuple[list[int], ...], said: str) -> None:
    assert said in verdict(body(*confusion))
