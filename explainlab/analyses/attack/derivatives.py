"""Passes whose gradients have gradients: attention is written out, and ReLUs are made smooth on request.

torch's fused attention has no second derivative. All replacements live in a context of the thread that runs the model:
torch passes every function call to it. The model itself does not change, so other threads see none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

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
