"""A check of a model's mechanism: it reads the planted words of its data, and nothing else reveals the class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.analyses.base import AnalysisResult, Record, Report, Requirements
from explainlab.analyses.data_analysis import DataAnalysis, DataSubject
from explainlab.analyses.errors.analysis import MOST_ROWS, TOGETHER, accuracy_of, predicted, reading_work
from explainlab.analyses.errors.result import Accuracy
from explainlab.analyses.parameters import Sample
from explainlab.analyses.planted.result import PlantedData, failures, reasons, verdict
from explainlab.analyses.wording import capital
from explainlab.data import Row, is_planted
from explainlab.data.plant import best_accuracy
from explainlab.errors import RequestError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.inputs import Unpadded
from explainlab.models.reading import logits_of
from explainlab.request import CompleteRequest, Request, digest
from explainlab.text.units import group, marked_features

CHECKED = 5_000
"""The most rows for the check of a model before another study shows a truth: enough to make chance small."""
_STORED = "planted/1"  # part of the storage key: rises when the stored format changes


class Planted(DataAnalysis[PlantedData]):
    """Two checks of a model on rows with planted words that it was not trained on (see ``plant``).

    Its accuracy is within 2 points of the best possible: 1 for a row with a word, 1 / classes for one without. With
    every planted token masked its accuracy is within 3 points of 1 / classes. Accuracies have Wilson's 95% intervals.
    """

    class Parameters(declared.Parameters):
        rows: int = Field(MOST_ROWS, ge=1, le=MOST_ROWS, description="Most rows of a data set.")
        sample: Sample = "first"

    id = "planted"
    label = "Planted truth"
    source = "Ours; planted words: thesis 004, section 3"
    definition = "|accuracy - (p + (1 - p) / C)| ≤ 0.02 and |accuracy without the words - 1 / C| ≤ 0.03"

    def of_data(self, subject: DataSubject, parameters: Parameters) -> PlantedData:
        marked = [row for row in subject.rows if row.rationale]
        if not marked:
            raise RequestError(
                "No word is planted in these rows: nothing is marked in their column 'rationale'.",
                "Choose a file that `plant` made, with a share above 0.",
            )
        predictions, labels = predicted(subject, following=reading_work(marked)), subject.classifier.labels
        gold, planted = predictions.gold(labels), np.array([bool(row.rationale) for row in predictions.rows])
        masked = _masked(subject, [row for row in predictions.rows if row.rationale])
        without = predictions.best.copy()
        for place, best in zip(np.flatnonzero(planted).tolist(), masked.best, strict=True):
            without[place] = without[place] if best is None else best
        n, share = len(gold), float(planted.mean())
        body = PlantedData(
            labels=list(labels),
            n=n,
            planted=int(planted.sum()),
            best_accuracy=best_accuracy(share, len(labels)),
            accuracy=accuracy_of(int((predictions.best == gold).sum()), n),
            chance=1 / len(labels),
            masked=accuracy_of(int((without == gold).sum()), n),
            unknown=sorted(set(masked.unknown)),
            cut=masked.best.count(None),
            known=True,
            failed=[],
        )
        failed = failures(body)
        return body.model_copy(update={"failed": failed, "known": not failed})

    def requirements(self, parameters: Parameters) -> Requirements:
        return Requirements(gradients=1, labelled=True, extra_columns=["rationale"])

    def report(self, result: Any) -> Report:
        return Report(result, verdict(result.body), _lines)


def _lines(result: AnalysisResult[PlantedData]) -> list[str]:
    """Return both accuracies with their intervals, and their possible reasons."""
    body = result.body
    return [
        f"accuracy              {_spelled(body.accuracy)}, at best {body.best_accuracy:.4f}",
        f"with the words masked {_spelled(body.masked)}, by chance {body.chance:.4f}",
        f"n = {body.n}, {body.planted} with a planted word",
        *map(capital, body.failed),
        *reasons(body),
    ]


def checks_of(request: Request) -> CompleteRequest:
    """Return the two checks of the model of ``request`` on its planted data set, whatever else it asks."""
    fields = request.model_dump(include={"model", "data", "classes", "dtype"})
    parameters = {"rows": CHECKED, "sample": "random"}
    asked = Request(question=Planted.id, **fields, parameters=parameters)
    return Planted().complete(asked).model_copy(update={"reader": request.reader})


def planted_truth(classifier: Classifier, request: CompleteRequest, context: RunContext) -> PlantedData | None:
    """Recall or compute the answer to :func:`checks_of`; None where ``plant`` did not make the data set.

    Raises as :meth:`Planted.run`.
    """
    if not is_planted(request.data or "", request.columns, context.reader):
        return None
    analysis, asked = Planted(), checks_of(request)
    key = analysis.key(asked, classifier.digest, context.reader)
    known = context.results.get_many([key]).get(key)
    if known is not None:
        body: PlantedData = analysis.read(known).body
        return body
    result = analysis.run(classifier, asked, context)
    context.results.put_many({key: result.to_json()})
    return result.body


class _Part(Record):
    """The class predicted for each row with its planted tokens masked (None: they were cut), and ``unknown`` words."""

    best: list[int | None]
    unknown: list[str]


def _masked(subject: DataSubject, rows: Sequence[Row]) -> _Part:
    """Predict all ``rows`` without their planted words, in parts that the subject's context remembers."""
    batcher, parts = Batcher(subject.classifier, subject.context), []
    for start in range(0, len(rows), TOGETHER):
        own = rows[start : start + TOGETHER]
        texts = [(row.text, row.text_pair, row.rationale, row.rationale_pair) for row in own]
        key = digest([_STORED, subject.classifier.digest, str(subject.classifier.dtype), texts])
        known = subject.context.recall(key)
        part = _Part.model_validate(known) if known else _part(batcher, own, start, len(rows))
        if not known:
            subject.context.keep(key, part.model_dump(mode="json"))
        parts.append(part)
        subject.context.progress.report(start + len(own), len(rows), "texts without the words")
    subject.forward += batcher.passes
    return _Part(
        best=[best for part in parts for best in part.best], unknown=[w for part in parts for w in part.unknown]
    )


def _part(batcher: Batcher, rows: Sequence[Row], done: int, total: int) -> _Part:
    batcher.context.check_cancelled()
    batcher.context.progress.part(reading_work(rows))
    masked, unknown = {}, set()
    for place, row in enumerate(rows):
        ids, known = _without(batcher.classifier, row)
        if ids is not None:
            masked[place] = ids
        if not known:
            unknown |= {row.text[start:end] for start, end in row.rationale or ()}
    best = logits_of(batcher, [*masked.values()], "texts without the words", done, total).argmax(axis=1)
    places = dict(zip(masked, best.tolist(), strict=True))
    return _Part(best=[places.get(place) for place in range(len(rows))], unknown=sorted(unknown))


def _without(classifier: Classifier, row: Row) -> tuple[Unpadded | None, bool]:
    """Mask the planted tokens of ``row`` (None: they were cut), and return whether the tokenizer knows them."""
    encoding = classifier.encode(row.text, row.text_pair)
    units = group(encoding, "token")
    marked = marked_features(encoding, units, (row.rationale, row.rationale_pair))
    if isinstance(marked, str):
        return None, True
    planted = np.append(marked, False)[units.membership]  # padding has the place -1
    ids = np.where(planted, classifier.filler_id("mask"), encoding.ids)
    known = not (encoding.ids[planted] == classifier.tokenizer.unk_token_id).any()
    return Unpadded(ids[encoding.attention], encoding.types[encoding.attention]), known


def _spelled(accuracy: Accuracy) -> str:
    return f"{accuracy.mean:.4f} ({accuracy.low:.4f} to {accuracy.high:.4f})"
