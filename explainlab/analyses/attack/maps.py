"""Maps under attack, at texts whose word embeddings are moved: token scores with their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from explainlab.analyses.attack.derivatives import Smooth
from explainlab.attribution.batch import Batch
from explainlab.attribution.path import nodes
from explainlab.attribution.subject import Subject

Method = Literal["gradient", "input_x_gradient", "integrated_gradients"]
BASELINE = "mask"
"""Where integrated gradients start, as by default in Explain."""


@dataclass(frozen=True, eq=False)
class Reading:
    """B moved texts: their token ``scores`` [B, N], and the ``logits`` [B, classes] there.

    ``met_relu``: the model has called a ReLU.
    """

    scores: Tensor
    logits: Tensor
    met_relu: bool


class Maps:
    """One method's maps of moved texts; integrated gradients have ``points`` Gauss-Legendre nodes."""

    def __init__(self, method: Method, points: int) -> None:
        self.method = method
        self._points = points if method == "integrated_gradients" else 0
        self._baselines: dict[Subject, Tensor] = {}

    @property
    def inputs(self) -> int:
        """The model inputs that one map takes: integrated gradients read their nodes and the moved text itself."""
        return self._points + 1

    def backward(self, second: bool) -> int:
        """Return the backward passes of one map: one per explained input, with ``second`` one more per input."""
        return (self._points or 1) + (self.inputs if second else 0)

    def read(self, batch: Batch, moved_by: Tensor, *, second: bool, surrogate: float = 0.0) -> Reading:
        """Return the maps of the texts of ``batch`` with word embeddings ``moved_by`` [B, N, d].

        ``second``: scores and logits have gradients with respect to ``moved_by``. A ``surrogate`` above 0 replaces
        ReLUs by softplus with this beta.
        """
        texts = batch.texts()
        ends = (texts.float() + moved_by).to(texts.dtype)
        if not second:
            ends = ends.detach().requires_grad_()
        with Smooth(surrogate) as smooth:
            scores, logits = self._integrated(batch, ends, second) if self._points else self._local(batch, ends, second)
        return Reading(scores, logits, smooth.met_relu)

    def _local(self, batch: Batch, ends: Tensor, second: bool) -> tuple[Tensor, Tensor]:
        """Return the scores from the gradient at the texts themselves, and the logits there."""
        logits = batch.classifier.logits(batch.inputs, ends)
        wide = self._derivative(self._explained(batch, logits, logits).sum(), ends, second).float()
        if self.method == "gradient":
            return _lengths(wide), logits
        return (ends.float() * wide).sum(dim=-1), logits

    def _integrated(self, batch: Batch, ends: Tensor, second: bool) -> tuple[Tensor, Tensor]:
        alphas, weights = nodes("gauss_legendre", self._points)
        places = torch.as_tensor(alphas, dtype=torch.float32, device=ends.device)[:, None, None]
        starts = batch.stacked(
            [self._baseline(part.subject).expand(part.count, -1, -1) for part in batch.parts]
        ).float()
        paths = torch.lerp(starts[:, None], ends.float()[:, None], places).to(ends.dtype)
        inputs, at_end = batch.inputs.repeat(*[self._points] * batch.size), batch.classifier.logits(batch.inputs, ends)
        logits = batch.classifier.logits(inputs, paths.flatten(0, 1)).unflatten(0, (batch.size, self._points))
        explained = [
            weight * self._explained(batch, logits[:, k], at_end).sum() for k, weight in enumerate(weights.tolist())
        ]
        gradients = self._derivative(torch.stack(explained).sum(), paths, second)
        scores = ((ends.float() - starts) * gradients.float().sum(dim=1)).sum(dim=-1)
        return scores, at_end

    def _explained(self, batch: Batch, logits: Tensor, at_end: Tensor) -> Tensor:
        """Return the explained output [B] of ``logits`` [B, classes]; ``at_end`` [B, classes]: logits at the end."""
        return batch.explained(logits)

    def _derivative(self, explained: Tensor, at: Tensor, second: bool) -> Tensor:
        """Return the derivative of ``explained`` with respect to ``at``; ``second`` makes it differentiable in turn."""
        (gradient,) = torch.autograd.grad(explained, at, create_graph=second)
        return gradient

    def _baseline(self, subject: Subject) -> Tensor:
        if subject not in self._baselines:
            self._baselines[subject] = subject.baseline(BASELINE)
        return self._baselines[subject]


def _lengths(gradient: Tensor) -> Tensor:
    """Return the norms over d of [B, N, d]; the derivative of a norm of 0 is 0."""
    squares = gradient.square().sum(dim=-1)
    some = squares != 0  # also where it is no number
    return torch.where(some, torch.where(some, squares, 1.0).sqrt(), 0.0)


def memberships(subjects: Sequence[Subject], device: torch.device) -> dict[Subject, Tensor]:
    """Return [n_features, N] for every subject: 1 where a token belongs to a feature; it sums tokens' scores."""
    found = {}
    for subject in subjects:
        features = torch.arange(len(subject.units.features))[:, None]
        found[subject] = (torch.from_numpy(subject.units.membership)[None] == features).float().to(device)
    return found
