"""Attributions by attention probabilities: the last layer's, their average, or their product through the layers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.attribution.method import BatchedMethod, Outcome, TextSize
from explainlab.attribution.passes import attention_maps
from explainlab.attribution.subject import Subject
from explainlab.models.context import PassCount

Reading = Literal["class_row", "received"]
READING_HELP = (
    "Which attention is read: that of the rows that reach the head, or what each token "
    "receives on average over all rows."
)


class _AttentionMethod(BatchedMethod):
    """Base class of the attention methods: unsigned and independent of the target, as they show reading, not
    conclusions.
    """

    family: ClassVar = "Attention"
    signed: ClassVar = False
    needs: ClassVar[tuple[str, ...]] = ("attention",)

    @classmethod
    def passes(cls, parameters: Any, text: TextSize, depth: int) -> PassCount:
        return PassCount.recorded(1)

    def attribute_many(self, subjects: Sequence[Subject], parameters: Any) -> list[Outcome]:
        return attention_maps(subjects, lambda subject, maps: self._read(subject, maps, parameters))

    def _read(self, subject: Subject, maps: np.ndarray, parameters: Any) -> Outcome:
        real = slice(np.count_nonzero(subject.encoding.attention))  # padding is on the right
        if parameters.reading == "class_row":
            rows = subject.classifier.head_rows(subject.encoding)[real]
        else:
            rows = np.full(real.stop, 1 / real.stop)
        tokens = np.zeros(len(subject.encoding))
        tokens[real] = self.combine(maps[:, real, real], rows, parameters)
        return Outcome(subject.units.sum_tokens(tokens))

    @abstractmethod
    def combine(self, maps: np.ndarray, rows: np.ndarray, parameters: Any) -> np.ndarray:
        """Return float64 [..., N]: attention of ``rows`` [..., N] through head means [layers, N, N], bottom first."""


class AttentionLast(_AttentionMethod):
    """The last layer's attention, averaged over its heads."""

    class Parameters(declared.Parameters):
        reading: Reading = Field("class_row", description=READING_HELP)

    id: ClassVar = "attention_last"
    label: ClassVar = "Attention, last layer"
    plain: ClassVar = "Shows which words the model's last layer looks at."
    good_for: ClassVar = "Seeing what the model reads, which need not be what it decides by."
    source: ClassVar = "Hollenstein & Beinborn 2021; read at the classification row"
    definition: ClassVar = "φⱼ = mean over heads of A^L at (class row, j)"

    def combine(self, maps: np.ndarray, rows: np.ndarray, parameters: Parameters) -> np.ndarray:
        last: np.ndarray = rows @ maps[-1]
        return last


class AttentionAverage(_AttentionMethod):
    """The attention of all layers and heads, averaged."""

    class Parameters(declared.Parameters):
        reading: Reading = Field("received", description=READING_HELP)

    id: ClassVar = "attention_average"
    label: ClassVar = "Attention, average"
    plain: ClassVar = "Shows which words the model looks at, averaged over all its layers."
    good_for: ClassVar = "Seeing what the model reads, which need not be what it decides by."
    source: ClassVar = "Oxford thesis on the interpretability of large language models (paper 004)"
    definition: ClassVar = "φⱼ = mean over layers, heads and rows i of A at (i, j)"

    def combine(self, maps: np.ndarray, rows: np.ndarray, parameters: Parameters) -> np.ndarray:
        mean: np.ndarray = (rows @ maps).mean(axis=0)
        return mean


class AttentionRollout(_AttentionMethod):
    """Attention multiplied through the layers, half of every layer's weight kept by the residual connection."""

    class Parameters(declared.Parameters):
        residual: bool = Field(True, description="Mix every layer half and half with the identity (Abnar & Zuidema).")
        reading: Reading = Field("class_row", description=READING_HELP)

    id: ClassVar = "attention_rollout"
    label: ClassVar = "Attention rollout"
    plain: ClassVar = "Follows through all layers which words the model looks at."
    good_for: ClassVar = "Seeing what the model reads when one layer is too little."
    source: ClassVar = "Abnar & Zuidema 2020, Eq. 1"
    definition: ClassVar = "φ = class row of Ã^L ⋯ Ã¹, with Ã = (A + I) / 2"
    needs: ClassVar = ("attention", "layered attention")

    def combine(self, maps: np.ndarray, rows: np.ndarray, parameters: Parameters) -> np.ndarray:
        for layer in maps[::-1]:
            below = rows @ layer
            rows = (below + rows) / 2 if parameters.residual else below
        return rows
