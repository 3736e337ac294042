"""The predictions of every row of a data set: their accuracy, their confidence, and their errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from pydantic import Field
from scipy.special import log_softmax

from explainlab import declared
from explainlab.analyses.base import AnalysisResult, Record, Report, Requirements
from explainlab.analyses.data_analysis import DataAnalysis, DataSubject
from explainlab.analyses.errors.result import (
    Accuracy,
    Calibration,
    ClassScores,
    ConfidenceBin,
    PredictionsData,
    verdict,
)
from explainlab.analyses.errors.rows import TOGETHER as WRITTEN
from explainlab.analyses.errors.rows import PredictedRows
from explainlab.analyses.parameters import Sample
from explainlab.analyses.records import Interval, as_interval
from explainlab.analyses.summary import Measure, Number
from explainlab.data import Row
from explainlab.disk_backed import Chosen
from explainlab.errors import RequestError, TextError
from explainlab.models.batching import Batcher
from explainlab.models.context import FORWARD, PassCount
from explainlab.models.reading import next_tokens_of, read_all
from explainlab.models.reading_warnings import is_unreadable, row_warnings
from explainlab.request import digest

MOST_ROWS = 1_000_000
TOGETHER = 512
"""Rows that are tokenised, run and stored together: full batches, and a cancel loses little."""
CHARACTERS = 4.5
"""An estimate of the characters of a token."""
_ACCURACY = Measure("accuracy", "Accuracy", True, ".1%")
_MACRO_F1 = Measure("macro_f1", "Macro F1", True)
_CALIBRATION = Measure("calibration_error", "Calibration error", False, ".1%")
_STORED = "predictions/2"  # part of the storage key: rises when the stored format changes


@dataclass(frozen=True, eq=False)
class Predicted:
    """The n rows that the model could read, in their order.

    ``logits`` float64 [n, classes]; ``tokens`` and ``cut`` int64 [n]: the number of tokens of the text that the model
    read, and of those that it did not.
    """

    rows: Sequence[Row]
    logits: np.ndarray
    tokens: np.ndarray
    cut: np.ndarray

    @property
    def best(self) -> np.ndarray:
        """The predicted class, int64 [n]."""
        best: np.ndarray = self.logits.argmax(axis=1)
        return best

    def gold(self, labels: Sequence[str]) -> np.ndarray:
        """Return int64 [n]: the true class among ``labels``."""
        place: dict[str | None, int] = {label: i for i, label in enumerate(labels)}
        return np.array([place[row.label] for row in self.rows], dtype=np.int64)


class Predictions(DataAnalysis[PredictionsData]):
    """The prediction for every row beside its label.

    ``accuracy`` with Wilson's 95% interval; ``macro_f1`` over the classes that occur, as a label or as a prediction;
    a class's precision, recall or F1 that is 0 / 0 counts 0. Calibration in equal-width bins (low, high] of the
    predicted class's probability. ``confusion``: a row a true class, a column a predicted one. Losses in nats.
    """

    class Parameters(declared.Parameters):
        bins: int = Field(15, ge=1, le=100, description="Equal-width bins of confidence.")
        rows: int = Field(MOST_ROWS, ge=1, le=MOST_ROWS, description="Most rows of a data set.")
        sample: Sample = "first"

    id = "predictions"
    label = "Predictions"
    source = "Guo et al. 2017, Eq. 2 to 5 (calibration); Wilson 1927 (interval); scikit-learn"
    definition = "ECE = Σ_b n_b / n · |accuracy_b - confidence_b|"

    def of_data(self, subject: DataSubject, parameters: Parameters) -> PredictionsData:
        from sklearn.metrics import confusion_matrix, f1_score  # a second to import

        predictions, labels = predicted(subject), subject.classifier.labels
        gold, best = predictions.gold(labels), predictions.best
        rows = PredictedRows.joined(_columns(predictions, gold, labels))
        return PredictionsData(
            labels=list(labels),
            n=len(best),
            accuracy=accuracy_of(int((gold == best).sum()), len(best)),
            macro_f1=float(f1_score(gold, best, average="macro", zero_division=0)),
            per_class=_per_class(gold, best, labels),
            calibration=calibration(rows.column("confidence"), gold == best, parameters.bins),
            confusion=confusion_matrix(gold, best, labels=range(len(labels))).tolist(),
            rows=rows,
        )

    def requirements(self, parameters: Parameters) -> Requirements:
        return Requirements(
            gradients=1, count_passes=lambda text, depth: PassCount(1), labelled=True, guesses_lengths=True
        )

    def report(self, result: Any) -> Report:
        return Report(result, verdict(result.body), _lines, _numbers)


def _lines(result: AnalysisResult[PredictionsData]) -> list[str]:
    body = result.body
    accuracy = body.accuracy
    return [
        f"accuracy  {accuracy.mean:.4f} ({accuracy.low:.4f} to {accuracy.high:.4f}), n = {body.n}",
        f"macro F1  {body.macro_f1:.4f}",
        f"ECE       {body.calibration.ece:.4f}",
        *(
            f"{scores.label}: precision {scores.precision:.4f}, recall {scores.recall:.4f}, F1 {scores.f1:.4f}, "
            f"n = {scores.n}"
            for scores in body.per_class
        ),
    ]


def _numbers(result: AnalysisResult[PredictionsData]) -> list[Number]:
    """Return accuracy, macro F1 and calibration error."""
    body, accuracy = result.body, result.body.accuracy
    share = Interval(mean=accuracy.mean, low=accuracy.low, high=accuracy.high)
    right, rows = 1.0 - body.rows.wrong, body.rows.column("row")
    return [
        Number(_ACCURACY, share, body.n, values=right.tolist(), rows=rows.tolist()),
        Number(_MACRO_F1, as_interval(body.macro_f1), body.n),
        Number(_CALIBRATION, as_interval(body.calibration.ece), body.n),
    ]


def tokens_of(row: Row) -> float:
    """Estimate the number of tokens of ``row`` from its characters."""
    return (len(row.text) + len(row.text_pair or "")) / CHARACTERS + 2


def reading_work(rows: Iterable[Row]) -> float:
    """Return the expected work of predicting ``rows``: see :class:`explainlab.models.context.Receivers`."""
    return FORWARD * sum(map(tokens_of, rows))


def predicted(subject: DataSubject, following: float = 0.0) -> Predicted:
    """Predict every row, the longest texts first; parts that the subject's context remembers do not run again.

    ``following`` estimates the caller's work afterwards, 0 for none. Rows that the model cannot read are added to
    ``subject.skipped``. Raises :class:`RequestError` if none is left.
    """
    rows = subject.rows
    lengths = np.array([len(row.text) + len(row.text_pair or "") for row in rows])
    order = np.argsort(-lengths, kind="stable")
    batcher = Batcher(subject.classifier, subject.context)
    parts = [order[start : start + TOGETHER] for start in range(0, len(rows), TOGETHER)]
    known, left = _known(subject, parts)
    subject.context.progress.expect(left + following, exact=not following)
    read = _Read.of(len(rows), len(subject.classifier.labels))
    waiting = [number for number, (_, is_known) in enumerate(known) if not is_known]
    done = len(rows) - sum(len(parts[number]) for number in waiting)

    def run(number: int) -> None:
        nonlocal done
        part = parts[number]
        read.add(part, _part(subject, batcher, [rows[i] for i in part], known[number][0], done))
        done += len(part)
        if number in waiting:
            waiting.remove(number)

    for number in subject.context.shards.take(digest([key for key, _ in known]), list(waiting)):
        run(number)
    for number, (key, is_known) in enumerate(known):
        body = subject.context.recall(key) if is_known or number in waiting else None
        if body is not None:
            part = _Part.model_validate(body)
            read.add(parts[number], part)
            subject.forward += 0 if is_known else len(part.tokens)  # another worker has just read them
        elif is_known or number in waiting:
            run(number)
    subject.context.progress.report(len(rows), len(rows), "texts")
    subject.skipped += [(rows[i].number, read.refused[i]) for i in sorted(read.refused)]
    subject.forward += batcher.passes
    subject.warnings += batcher.warnings
    kept = np.flatnonzero(read.tokens >= 0)
    if not len(kept):
        raise RequestError("The model can read no text of this data set.", f"Row {rows[0].number}: {read.refused[0]}")
    subject.warnings += row_warnings(len(kept), read.unreadable, read.shares[kept])
    return Predicted(Chosen(rows, kept), read.logits[kept], read.tokens[kept], read.cut[kept])


def _known(subject: DataSubject, parts: Iterable[np.ndarray]) -> tuple[list[tuple[str, bool]], float]:
    """Return each part's key, with True if the subject's context remembers it; and the expected work of the others."""
    known, left = [], 0.0
    for part in parts:
        rows = [subject.rows[i] for i in part]
        key = _key(subject, rows)
        is_known = subject.context.recall(key) is not None
        known.append((key, is_known))
        left += 0.0 if is_known else reading_work(rows)
    return known, left


@dataclass(frozen=True, eq=False)
class _Read:
    """The predictions of n rows, in their order: ``logits`` [n, classes], label ``shares`` [n], ``tokens`` and ``cut``.

    ``tokens`` and ``cut`` are int64 [n], -1 for a row that the model could not read; ``refused`` has these rows with
    the reason.
    """

    logits: np.ndarray
    shares: np.ndarray
    tokens: np.ndarray
    cut: np.ndarray
    refused: dict[int, str] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, n: int, classes: int) -> _Read:
        """Return a record of ``n`` rows, none of them read."""
        nothing = np.full(n, -1, dtype=np.int64)
        return cls(np.empty((n, classes)), np.full(n, np.nan), nothing, nothing.copy())

    @property
    def unreadable(self) -> int:
        """The number of rows with too many unknown tokens."""
        return sum(self.counts)

    def add(self, places: np.ndarray, part: _Part) -> None:
        """Take the predictions in ``part`` for the rows at these ``places``."""
        refused = dict(part.refused)
        self.refused.update((int(places[i]), reason) for i, reason in refused.items())
        good = np.delete(places, [*refused])
        if len(good):
            self.logits[good] = part.logits
        self.shares[good] = np.array(part.shares, dtype=np.float64)
        self.tokens[good], self.cut[good] = part.tokens, part.cut
        self.counts.append(part.unreadable)


class _Part(Record):
    """``logits``, label ``shares``, ``tokens`` and ``cut`` of the readable rows.

    ``unreadable`` counts those with too many unknown tokens; ``refused`` has the places of the other rows with the
    reason.
    """

    logits: list[list[float]]
    shares: list[float | None]
    tokens: list[int]
    cut: list[int]
    unreadable: int
    refused: list[tuple[int, str]]


def _key(subject: DataSubject, rows: Sequence[Row]) -> str:
    """Return the key under which the context remembers these rows."""
    model = [subject.classifier.digest, str(subject.classifier.dtype)]
    return digest([_STORED, model, [(row.text, row.text_pair) for row in rows]])


def _part(subject: DataSubject, batcher: Batcher, rows: Sequence[Row], key: str, done: int) -> _Part:
    """Compute the part of these rows and store it under ``key``; ``done`` rows came before."""
    context, total = subject.context, len(subject.rows)
    context.check_cancelled()
    context.progress.part(reading_work(rows))
    readings = read_all(subject.classifier, [(row.text, row.text_pair) for row in rows])
    good = [reading for reading in readings if not isinstance(reading, TextError)]
    bad = [(i, reading.problem) for i, reading in enumerate(readings) if isinstance(reading, TextError)]
    logits, shares = next_tokens_of(batcher, good, "texts", done + len(bad), total)
    part = _Part(
        logits=logits.tolist(),
        shares=[None if np.isnan(share) else float(share) for share in shares],
        tokens=[len(reading) - reading.prompt for reading in good],
        cut=[reading.cut for reading in good],
        unreadable=sum(is_unreadable(reading.unknown, reading.content) for reading in good),
        refused=bad,
    )
    context.keep(key, part.model_dump(mode="json"))
    context.progress.report(done + len(rows), total, "texts")
    return part


def accuracy_of(right: int, n: int) -> Accuracy:
    """Return the share of ``n`` rows with Wilson's interval, which also holds near 0 and 1."""
    interval = scipy.stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
    return Accuracy(mean=right / n, low=float(interval.low), high=float(interval.high))


def _per_class(gold: np.ndarray, best: np.ndarray, labels: Sequence[str]) -> list[ClassScores]:
    from sklearn.metrics import precision_recall_fscore_support

    columns = precision_recall_fscore_support(gold, best, labels=range(len(labels)), zero_division=0)
    return [
        ClassScores(label=label, precision=float(precision), recall=float(recall), f1=float(f1), n=int(n))
        for label, precision, recall, f1, n in zip(labels, *columns, strict=True)
    ]


def calibration(confidence: np.ndarray, right: np.ndarray, bins: int) -> Calibration:
    """Return the expected calibration error and its equal-width bins (low, high]; an empty bin has no means.

    ``confidence`` float64 [n] in (0, 1] is the probability of the predicted class, ``right`` bool [n]. Source: Guo et
    al. 2017, Eq. 2 to 5.
    """
    edges = np.linspace(0, 1, bins + 1)
    place = np.digitize(np.minimum(confidence, 1), edges, right=True) - 1
    n = np.bincount(place, minlength=bins)
    sums = [np.bincount(place, weights=values, minlength=bins) for values in (confidence, right)]
    sure, accurate = (total / np.maximum(n, 1) for total in sums)
    return Calibration(
        ece=float((n * np.abs(accurate - sure)).sum() / n.sum()),
        bins=[
            ConfidenceBin(
                low=float(edges[i]),
                high=float(edges[i + 1]),
                n=int(n[i]),
                confidence=float(sure[i]) if n[i] else None,
                accuracy=float(accurate[i]) if n[i] else None,
            )
            for i in range(bins)
        ],
    )


def _columns(predictions: Predicted, gold: np.ndarray, labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the columns of :class:`PredictedRows`, some rows at a time."""
    best = predictions.best
    for start in range(0, len(gold), WRITTEN):
        part = slice(start, start + WRITTEN)
        rows, each = predictions.rows[part], np.arange(len(gold[part]))
        logs = log_softmax(predictions.logits[part], axis=1)
        yield {
            "row": [row.number for row in rows],
            "text": [row.text for row in rows],
            "text_pair": [row.text_pair for row in rows],
            "label": [labels[i] for i in gold[part]],
            "predicted": [labels[i] for i in best[part]],
            "confidence": np.exp(logs[each, best[part]]),
            "probability": np.exp(logs[each, gold[part]]),
            "loss": 0 - logs[each, gold[part]],
            "tokens": predictions.tokens[part],
            "cut": predictions.cut[part] > 0,
        }
