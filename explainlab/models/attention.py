"""The attention tap, which reads or replaces the attention probabilities and values of every layer in a forward pass.

transformers looks up its attention function by name in every forward pass. We register a name for the process; a model
uses it only inside :func:`tapped`, which restores the model's own name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from explainlab.errors import UnsupportedError

NAME = "explainlab_tap"

Tap = Callable[[int, nn.Module, Tensor, Tensor], tuple[Tensor, Tensor]]
"""Called with (number of the attention call in this pass, attention module, probabilities [B, heads, N, M], values [B,
heads, M, d_h]). The model continues with the probabilities and values that it returns; values of one text may serve all
texts.
"""

_current: ContextVar[_Listener | None] = ContextVar("attention_tap", default=None)


class _Listener:
    def __init__(self, tap: Tap) -> None:
        self.tap = tap
        self.calls = 0

    def __call__(self, module: nn.Module, probabilities: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        self.calls += 1
        return self.tap(self.calls - 1, module, probabilities, values)


@contextmanager
def tapped(model: nn.Module, tap: Tap) -> Iterator[None]:
    """Route every attention of ``model`` through ``tap``, in the order of the calls, for one forward pass.

    Raises :class:`UnsupportedError` at the end if the model never called it (its attention ignores the interface).
    """
    _register()
    modules: Iterable[Any] = model.modules()
    configs = {id(module.config): module.config for module in modules if hasattr(module, "config")}.values()
    before = [(config, config._attn_implementation) for config in configs]
    listener = _Listener(tap)
    token = _current.set(listener)
    try:
        for config in configs:
            config._attn_implementation = NAME
        yield
    finally:
        _current.reset(token)
        for config, name in before:
            config._attn_implementation = name
    if not listener.calls:
        raise UnsupportedError(f"The attention of {type(model).__name__} cannot be tapped.")


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    position_bias: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Compute attention in transformers' convention; the probabilities pass through the tap."""
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    weights = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    for bias in (position_bias, attention_mask):
        if bias is not None:
            weights = weights + bias
    probabilities = torch.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
    listener = _current.get()
    if listener is not None:
        probabilities, value = listener(module, probabilities, value)
    read = torch.einsum("bhnm,bhmd->bnhd", probabilities, value)  # copies no values that texts share
    return read.contiguous(), probabilities


@cache
def _register() -> None:
    """Register the name once a model is loaded: transformers' model code takes seconds to import."""
    transformers.AttentionInterface.register(NAME, _attend)
    transformers.AttentionMaskInterface.register(NAME, transformers.masking_utils.eager_mask)
