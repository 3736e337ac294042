"""The result of the analysis ``predictions``: its fields are its JSON."""

from __future__ import annotations

from typing import Any

from pydantic import model_serializer, model_validator

from explainlab.analyses.base import Record


class PredictedRows(Record):
    """The n rows that the model could read, in columns of n values, in the order of the file.

    ``row`` is a row's number in the file, ``label`` its true class. ``confidence`` is the probability of the predicted
    class, ``probability`` that of the true one, ``loss`` its cross entropy in nats. ``tokens`` is how many tokens the
    model read; ``cut`` tells whether it read only the beginning. The JSON is a list of n objects, one a row.
    """

    row: list[int]
    text: list[str]
    text_pair: list[str | None]
    label: list[str]
    predicted: list[str]
    confidence: list[float]
    probability: list[float]
    loss: list[float]
    tokens: list[int]
    cut: list[bool]

    @classmethod
    def empty(cls) -> PredictedRows:
        """No rows."""
        return cls(**{name: [] for name in cls.model_fields})

    def records(self) -> list[dict[str, Any]]:
        """One plain record a row."""
        columns = [getattr(self, name) for name in PredictedRows.model_fields]
        return [dict(zip(PredictedRows.model_fields, values, strict=True)) for values in zip(*columns, strict=True)]

    @model_validator(mode="before")
    @classmethod
    def _of_records(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        try:
            return {name: [record[name] for record in value] for name in cls.model_fields}
        except (KeyError, TypeError) as error:
            raise ValueError(f"a row is no record of a prediction: {error}") from error

    @model_serializer
    def _to_records(self) -> list[dict[str, Any]]:
        return self.records()


class Accuracy(Record):
    """The share of rows that are predicted right, and Wilson's 95% interval from ``low`` to ``high``."""

    mean: float
    low: float
    high: float


class ClassScores(Record):
    """How well the class ``label``, which ``n`` rows have, is predicted; 0 / 0 counts 0."""

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
    """How ``n`` rows of a data set are predicted, in ``labels``, the model's classes.

    ``confusion`` [classes, classes] counts rows by true class (outer) and predicted class; ``per_class`` is in the
    order of ``labels``; ``macro_f1`` is over the classes that occur.
    """

    labels: list[str]
    n: int
    accuracy: Accuracy
    macro_f1: float
    per_class: list[ClassScores]
    calibration: Calibration
    confusion: list[list[int]]
    rows: PredictedRows

    def without_rows(self) -> PredictionsData:
        """The same but for the rows, which are most of it."""
        return self.model_copy(update={"rows": PredictedRows.empty()})
