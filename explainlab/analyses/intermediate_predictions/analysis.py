"""The predictions of a causal decoder after every feature of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from explainlab import declared
from explainlab.analyses.base import AnalysisResult
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
from explainlab.models.context import FORWARD


class IntermediatePredictions(TextAnalysis[IntermediatePredictionsText, IntermediatePredictionsData]):
    """Every class's score after each feature, special ones included: one pass a text, its last one the prediction.

    ``positions`` belong to ``features`` one by one; ``end`` is how many characters of the feature's text were read.
    """

    class Parameters(declared.Parameters):
        rows: Rows = 100
        sample: Sample = "first"

    id = "intermediate_predictions"
    label = "Intermediate predictions"
    source = "Kariyappa et al. 2024 (paper 002), section 3 and Eq. 4"
    TextBody = IntermediatePredictionsText
    DataBody = IntermediatePredictionsData
    definition = "pᵢ = head(last layer at the last token of feature i)"

    def evaluations(self, parameters: Parameters) -> int:
        return 1

    def work(self, parameters: Parameters, n: int, depth: int) -> float:
        """See :meth:`Analysis.work`."""
        return FORWARD

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[IntermediatePredictionsText]:
        for subject in subjects:
            subject.warnings += prompt_warning(subject.classifier)
        return [_body(subject, logits) for subject, logits in zip(subjects, _read(subjects), strict=True)]

    def of_rows(
        self, rows: Sequence[Row], bodies: Sequence[IntermediatePredictionsText], parameters: Parameters
    ) -> IntermediatePredictionsData:
        texts = [_text(row, body) for row, body in zip(rows, bodies, strict=True)]
        settled = interval([text.settled for text in texts])
        return IntermediatePredictionsData(texts=texts, summary=SettledSummary(n=len(texts), settled=settled))

    def headline(self, result: AnalysisResult[IntermediatePredictionsText | IntermediatePredictionsData]) -> str:
        body = result.body
        if isinstance(body, IntermediatePredictionsText):
            read, label = _settled(body.positions), body.prediction.label
            return f"The prediction {label} is settled once {read:.0%} of the features are read."
        settled, n = body.summary.settled, body.summary.n
        between = "" if settled.low is None else f" ({settled.low:.0%} to {settled.high:.0%})"
        mean = f"{settled.mean or 0.0:.0%}{between}"
        return f"On average of {n:,} texts, the prediction is settled once {mean} of the features are read."

    def lines(self, result: AnalysisResult[IntermediatePredictionsText | IntermediatePredictionsData]) -> list[str]:
        """After every feature the class predicted and the target's probability; of a data set, when it settles."""
        body = result.body
        if isinstance(body, IntermediatePredictionsData):
            return [f"Mean of {counted(body.summary.n, 'text')}: settled after {body.summary.settled} of the features"]
        label = body.target.label
        rows = [
            {
                "after": feature.text,
                "predicted": max(position.probabilities, key=position.probabilities.__getitem__),
                f"p({label})": f"{position.probabilities[label]:.4f}",
            }
            for feature, position in zip(body.features, body.positions, strict=True)
        ]
        return [table(rows)]


def _read(subjects: Sequence[Subject]) -> list[np.ndarray]:
    """float64 [n_features, classes] of each text: logits after every feature. The passes fix the targets."""
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


def _body(subject: Subject, logits: np.ndarray) -> IntermediatePredictionsText:
    return IntermediatePredictionsText(**text_fields(subject), positions=list(_positions(subject, logits)))


def _positions(subject: Subject, logits: np.ndarray) -> Iterator[Position]:
    end = 0
    for feature, row in zip(subject.units.features, logits, strict=True):
        end = end if feature.special else feature.end
        yield Position(
            end=end,
            logits=dict(zip(subject.classifier.labels, row.tolist(), strict=True)),
            probabilities=subject.classifier.prediction(row).probabilities,
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
    """The share of the features after which the predicted class no longer changes."""
    classes = [max(position.logits, key=position.logits.__getitem__) for position in positions]
    others = [i for i, name in enumerate(classes) if name != classes[-1]]
    return (others[-1] + 2 if others else 1) / len(classes)
