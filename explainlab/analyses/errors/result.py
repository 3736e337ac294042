"""The result of the analysis ``predictions``: its fields are its JSON."""

from __future__ import annotations

from typing import ClassVar

from explainlab.analyses.base import Record
from explainlab.analyses.errors.rows import PredictedRows


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
