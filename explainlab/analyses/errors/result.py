"""A model's predictions for a file: the fields of the result, which are its JSON, and the answer in words."""

from __future__ import annotations

from typing import ClassVar

import scipy

from explainlab.analyses.base import Record
from explainlab.analyses.errors.rows import PredictedRows
from explainlab.analyses.wording import counted, joined, quoted


class Accuracy(Record):
    """The share of rows with a right prediction, and Wilson's 95% interval from ``low`` to ``high``."""

    mean: float
    low: float
    high: float


class ClassScores(Record):
    """The scores of the class ``label``, which ``n`` rows have; 0 / 0 counts 0."""

    label: str
    precision: float
    recall: float
    f1: float
    n: int


class ConfidenceBin(Record):
    """The ``n`` rows with a confidence in (low, high]: mean confidence and accuracy, None where there is no row."""

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


class Calibration(Record):
    """The expected calibration error, from 0 to 1, and the bins of equal width that it is a mean over."""

    ece: float
    bins: list[ConfidenceBin]


class PredictionsData(Record):
    """The predictions of ``n`` rows of a data set in ``labels``, the model's classes.

    ``confusion`` [classes, classes] counts rows by true class (outer) and predicted class; ``per_class`` is in the
    order of ``labels``; ``macro_f1`` is over the classes that occur; ``rows`` are in the order of the file.
    """

    many: ClassVar[str] = "rows"

    labels: list[str]
    n: int
    accuracy: Accuracy
    macro_f1: float
    per_class: list[ClassScores]
    calibration: Calibration
    confusion: list[list[int]]
    rows: PredictedRows

    def without_rows(self) -> PredictionsData:
        """Return the result without the rows, which are most of it."""
        return self.model_copy(update={"rows": PredictedRows.of([])})


DIFFERENT = 0.05
"""Two counts of mistakes differ if fair coins would differ as much in fewer cases than this share."""


def verdict(body: PredictionsData) -> str:
    """Say the accuracy with its interval, a comparison with a constant answer, and the most frequent mistake."""
    accuracy = body.accuracy
    rows = counted(body.n, "row")
    between = f"95% interval {100 * accuracy.low:.1f}% to {100 * accuracy.high:.1f}%"
    words = f"The model is right about {100 * accuracy.mean:.1f}% of {rows} ({between}){_against_one_class(body)}"
    return f"{words}; {_mistakes(body)}." if accuracy.mean < 1 else f"{words}."


def _against_one_class(body: PredictionsData) -> str:
    counts = [sum(row) for row in body.confusion]
    most, share = counts.index(max(counts)), max(counts) / body.n
    if share == 1:
        return f", all of which are {quoted(body.labels[most])}"
    if body.accuracy.low > share:
        return ""
    clearly = "worse" if body.accuracy.high < share else "not clearly better"
    return f", {clearly} than saying {quoted(body.labels[most])} always ({100 * share:.1f}%)"


def _mistakes(body: PredictionsData) -> str:
    cells = [(count, i, j) for i, row in enumerate(body.confusion) for j, count in enumerate(row) if i != j and count]
    ordered = sorted(cells, key=lambda cell: -cell[0])
    first = ordered[0][0]
    near = [cell for cell in ordered if _alike(first, cell[0])]
    if len(ordered) == 1:
        return f"its only kind of mistake is to take {_told(body, near[0])}"
    if len(near) == 1:
        return f"its most frequent mistake is to take {_told(body, near[0])}"
    if len(near) > 3:
        return "no kind of mistake is clearly the most frequent"
    return f"it takes {joined([_told(body, cell) for cell in near])}"


def _alike(first: int, second: int) -> bool:
    return bool(scipy.stats.binomtest(first, first + second).pvalue > DIFFERENT)


def _told(body: PredictionsData, cell: tuple[int, int, int]) -> str:
    count, true, predicted = cell
    return f"{quoted(body.labels[true])} for {quoted(body.labels[predicted])} ({count:,}×)"
