"""Maps under attack, at texts whose word embeddings are moved: token scores, gradients and second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from explainlab.attribution.batch import Batch
from explainlab.attribution.path import nodes
from explainlab.attribution.subject import Subject
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier

_RELUS = {functional.relu, functional.relu_, torch.relu, torch.relu_, Tensor.relu, Tensor.relu_}


class Smooth(TorchFunctionMode):
    """A mode that replaces torch functions of a thread. ``met_relu``: the model called a ReLU (second derivative 0)."""

    def __init__(self, surrogate: float = 0.0) -> None:
        super().__init__()
        self.met_relu = False
        self._surrogate = surrogate

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if function is functional.scaled_dot_product_attention:
            return written_out(*args, **kwargs or {})
        if function in _RELUS:
            self.met_relu = True
            if self._surrogate:
                return functional.softplus(args[0], beta=self._surrogate)
        return function(*args, **kwargs or {})


def written_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Compute torch's scaled dot product attention from parts with second derivatives, without dropout.

    A row that may read nothing reads everything with equal weights; only rows of padding are like that.
    """
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, dim=-3), value.repeat_interleave(groups, dim=-3)
    weights = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(weights.shape[-2:], dtype=torch.bool, device=weights.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        weights = weights.masked_fill(~attn_mask, torch.finfo(weights.dtype).min)
    elif attn_mask is not None:
        weights = weights + attn_mask
    wide = weights.float() if weights.element_size() < 4 else weights
    return wide.softmax(dim=-1).to(value.dtype) @ value


@contextmanager
def second_derivatives(classifier: Classifier) -> Iterator[None]:
    """Raise :class:`UnsupportedError` where torch has no second derivative of a part of the model."""
    try:
        yield
    except RuntimeError as error:
        if "is not implemented" not in str(error) or "derivative" not in str(error):
            raise
        raise UnsupportedError(
            f"A part of {classifier.id} has no second derivative, which an attack follows: {error}.",
            "Choose another model.",
        ) from error


def require_differentiable(classifier: Classifier) -> None:
    """Raise :class:`UnsupportedError` for quantised weights, and for a model that is spread over several devices."""
    parameters = list(classifier.model.network.parameters())
    if not all(parameter.is_floating_point() for parameter in parameters):
        raise UnsupportedError(
            f"The weights of {classifier.id} are quantised, and their rounding has no second derivative.",
            "Load the model in full precision.",
        )
    devices = sorted({str(parameter.device) for parameter in parameters})
    if len(devices) > 1:
        raise UnsupportedError(
            f"{classifier.id} is spread over {', '.join(devices)}, which attacks do not support.",
            "Choose a model that fits on one device.",
        )


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
