"""Generic attention explainability: attention relevant to the output, accumulated through the layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from torch import Tensor

from explainlab import declared
from explainlab.attribution.method import BatchedMethod, Outcome
from explainlab.attribution.passes import attention_gradients
from explainlab.attribution.subject import Subject
from explainlab.request import Output


class GAE(BatchedMethod):
    """Attention times its gradient, where positive; read at the rows that reach the head.

    A row's relevance to itself is left out, so its own token, a decoder's last, scores 0.
    """

    id: ClassVar = "gae"
    label: ClassVar = "Generic attention explainability"
    plain: ClassVar = "Shows which words the model looks at, as far as looking there supports the prediction."
    good_for: ClassVar = "A quick map of what supports a class; it shows nothing that speaks against it."
    family: ClassVar = "Attention"
    source: ClassVar = "Chefer et al. 2021 (ICCV), Eq. 5 and 6"
    definition: ClassVar = "φ = class row of R, its own entry 0; R = I, then R += mean over heads of (∂F/∂A · A)⁺ R"
    signed: ClassVar = False
    needs: ClassVar = ("gradients", "attention", "layered attention")
    output: ClassVar[Output] = "logit"

    def attribute_many(self, subjects: Sequence[Subject], parameters: declared.Parameters) -> list[Outcome]:
        return attention_gradients(subjects, _positive, self._read)

    def _read(self, subject: Subject, weights: np.ndarray) -> Outcome:
        real = slice(np.count_nonzero(subject.encoding.attention))  # padding is on the right
        shares = subject.classifier.head_rows(subject.encoding)[real]
        read = np.flatnonzero(shares)
        relevance = self.combine(weights[:, real, real], (read[:, None] == np.arange(len(shares))).astype(float))
        relevance[np.arange(len(read)), read] = 0
        tokens = np.zeros(len(subject.encoding))
        tokens[real] = shares[read] @ relevance
        return Outcome(subject.units.sum_tokens(tokens))

    def combine(self, layers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return float64 [k, N]: ``rows`` [k, N] times R, from the head means [layers, N, N] of (∂F/∂A · A)⁺, bottom
        first.
        """
        for layer in layers[::-1]:
            rows = rows + rows @ layer
        return rows


def _positive(attention: Tensor, gradient: Tensor) -> Tensor:
    """Return [B, N, N]: the mean over heads of (∂F/∂A · A)⁺, both [B, heads, N, N]."""
    return (attention.float() * gradient.float()).clamp(min=0).mean(dim=1)
