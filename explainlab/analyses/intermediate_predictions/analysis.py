"""The predictions of a causal decoder after every feature of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from explainlab import declared
from explainlab.analyses.base import AnalysisResult, Report, Requirements
from explainlab.analyses.intermediate_predictions.masked import WORDS, apart, mean_apart, read_masked
from explainlab.analyses.intermediate_predictions.result import (
    IntermediatePredictionsData,
    IntermediatePredictionsText,
    Position,
    SettledSummary,
    TextPositions,
)
from explainlab.analyses.parameters import Rows, Sample
from explainlab.analyses.records import text_fields
from explainlab.analyses.summary import interval, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.wording import counted
from explainlab.attribution.methods.progressive import prompt_warning
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.models.context import PassCount

MASKED_TEXTS = 50
"""An estimate of the masked texts of a text, before its length is known."""


class IntermediatePredictions(TextAnalysis[IntermediatePredictionsText, IntermediatePredictionsData]):
    """Every class's score after each feature, special ones included: one pass a text, its last one the prediction.

    ``positions`` belong to ``features`` one by one; ``end`` is the number of characters of the feature's text read
    there. With ``masked``, also the predictions that these stand for: of the text with the rest masked, a pass a
    feature.
    """

    class Parameters(declared.Parameters):
        rows: Rows = 100
        sample: Sample = "first"
        masked: bool = Field(False, description="Also predict the text with all that follows each feature masked.")

    id = "intermediate_predictions"
    label = "Intermediate predictions"
    source = "Kariyappa et al. 2024 (paper 002), section 3 and Eq. 4"
    definition = "pᵢ = head(last layer at the last token of feature i)"

    def requirements(self, parameters: Parameters) -> Requirements:
        return Requirements(
            gradients=MASKED_TEXTS if parameters.masked else 1,
            count_passes=lambda text, depth: PassCount(text.features if parameters.masked else 1),
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[IntermediatePredictionsText]:
        for subject in subjects:
            subject.warnings += prompt_warning(subject.classifier)
        read = _read(subjects)
        masked = read_masked(subjects) if parameters.masked else [None] * len(subjects)
        return [_body(*text) for text in zip(subjects, read, masked, strict=True)]

    def of_rows(
        self, rows: Sequence[Row], bodies: Sequence[IntermediatePredictionsText], parameters: Parameters
    ) -> IntermediatePredictionsData:
        texts = [_text(row, body) for row, body in zip(rows, bodies, strict=True)]
        settled = interval([text.settled for text in texts])
        far = [mean for body in bodies if (mean := mean_apart(body.positions)) is not None]
        summary = SettledSummary(n=len(texts), settled=settled, apart=interval(far) if far else None)
        return IntermediatePredictionsData(texts=texts, summary=summary)

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines)


def _headline(result: AnalysisResult[IntermediatePredictionsText | IntermediatePredictionsData]) -> str:
    body = result.body
    if isinstance(body, IntermediatePredictionsText):
        read, label = _settled(body.positions), body.prediction.label
        words = f"The prediction {label} is settled once {read:.0%} of the features are read."
        return words + apart_words(mean_apart(body.positions))
    settled, n = body.summary.settled, body.summary.n
    between = "" if settled.low is None else f" ({settled.low:.0%} to {settled.high:.0%})"
    mean = f"{settled.mean or 0.0:.0%}{between}"
    words = f"On average of {n:,} texts, the prediction is settled once {mean} of the features are read."
    return words + apart_words(body.summary.apart.mean if body.summary.apart else None)


def _lines(result: AnalysisResult[IntermediatePredictionsText | IntermediatePredictionsData]) -> list[str]:
    """Return after every feature the class predicted and the target's probability; of a data set, when it settles."""
    body = result.body
    if isinstance(body, IntermediatePredictionsData):
        return [f"Mean of {counted(body.summary.n, 'text')}: settled after {body.summary.settled} of the features"]
    label = body.target.label
    rows = [
        {
            "after": feature.text,
            "predicted": max(position.probabilities, key=position.probabilities.__getitem__),
            f"p({label})": f"{position.probabilities[label]:.4f}",
            **({} if (far := apart(position)) is None else {"from masked": f"{far:.4f}"}),
        }
        for feature, position in zip(body.features, body.positions, strict=True)
    ]
    return [table(rows)]


def _read(subjects: Sequence[Subject]) -> list[np.ndarray]:
    """Return float64 [n_features, classes] of each text: logits after every feature. The passes fix the targets."""
    classifier, batcher = subjects[0].classifier, subjects[0].batcher
    order = sorted(range(len(subjects)), key=lambda i: -len(subjects[i].encoding))
    read: dict[int, np.ndarray] = {}

    def run(part: slice) -> Tensor:
        with torch.no_grad():
            return classifier.position_logits(classifier.inputs([subjects[i].encoding for i in order[part]]))

    lengths = np.array([len(subjects[i].encoding) for i in order])
    batches = batcher.over(lengths, run, gradients=False, phase="intermediate predictions")
    for i, logits in zip(order, (row for batch in batches for row in batch), strict=True):
        subject = subjects[i]
        read[i] = classifier.finite(logits[torch.as_tensor(subject.units.ends, device=classifier.device)])
        subject.forward += 1
        subject.see(read[i][-1])
    return [read[i] for i in range(len(subjects))]


def apart_words(mean: float | None) -> str:
    """Say how far intermediate predictions are from masked texts', to follow another sentence; empty for None."""
    return "" if mean is None else f" On the way, predictions are on average {mean:.2f} (of at most 1) {WORDS}."


def _body(subject: Subject, logits: np.ndarray, masked: np.ndarray | None) -> IntermediatePredictionsText:
    return IntermediatePredictionsText(**text_fields(subject), positions=list(_positions(subject, logits, masked)))


def _positions(subject: Subject, logits: np.ndarray, masked: np.ndarray | None) -> Iterator[Position]:
    end, rows = 0, iter([] if masked is None else masked)
    for feature, row in zip(subject.units.features, logits, strict=True):
        end = end if feature.special else feature.end
        other = None if feature.special else next(rows, None)
        yield Position(
            end=end,
            logits=dict(zip(subject.classifier.labels, row.tolist(), strict=True)),
            probabilities=subject.classifier.prediction(row).probabilities,
            masked=None if other is None else subject.classifier.prediction(other).probabilities,
        )


def _text(row: Row, body: IntermediatePredictionsText) -> TextPositions:
    return TextPositions(
        row=row.number,
        text=row.text,
        text_pair=row.text_pair,
        label=row.label,
        settled=_settled(body.positions),
        positions=body.positions,
    )


def _settled(positions: Sequence[Position]) -> float:
    """Return the share of the features after which the predicted class no longer changes."""
    classes = [max(position.logits, key=position.logits.__getitem__) for position in positions]
    others = [i for i, name in enumerate(classes) if name != classes[-1]]
    return (others[-1] + 2 if others else 1) / len(classes)
