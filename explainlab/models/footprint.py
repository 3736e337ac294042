"""How much memory a batch of passes needs beyond the model, from shapes alone: nothing is computed."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Unpadded
from explainlab.models.replay import Replay


def batch_bytes(outline: Classifier, length: int, rows: int, gradients: bool) -> int:
    """Most bytes that tensors take at once in a pass of ``rows`` texts of ``length`` tokens, beyond the model's own.

    ``outline``: see :func:`explainlab.models.loading.outline`; it has the same shapes as the loaded model. With
    ``gradients`` the pass goes back to the word embeddings. What torch's allocator and kernels take beside is unknown.
    """
    ids = np.zeros(length, dtype=np.int64)
    inputs = outline.inputs([Unpadded(ids, ids)]).repeat(rows)
    live = _Live(outline.model.network)
    with torch.set_grad_enabled(gradients), _Fused(), live:
        embeddings = outline.embed(inputs.ids)
        if gradients:
            embeddings.requires_grad_()
        logits = outline.logits(inputs, embeddings)
        if gradients:
            torch.autograd.grad(logits.sum(), embeddings)
    return live.peak


def replay_bytes(outline: Classifier, length: int, rows: int, layer: int) -> int:
    """As :func:`batch_bytes`, of ``rows`` replays above ``layer`` of one text, with gradients at its attention."""
    ids = np.zeros(length, dtype=np.int64)
    live = _Live(outline.model.network)
    with live:
        replay = Replay(outline, Unpadded(ids, ids))
        points = replay.attention(layer)[:, replay.rows(layer)].repeat(rows, 1, 1, 1).requires_grad_()
        torch.autograd.grad(replay.logits(layer, points).sum(), points)
    return live.peak


class _Fused(TorchFunctionMode):
    """Attention without its probabilities in memory, as on CPUs and GPUs: on the meta device torch would keep them."""

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if func is scaled_dot_product_attention and len(args) == 3 and args[0].shape == args[1].shape == args[2].shape:
            how = {name: named[name] for name in ("is_causal", "attn_mask", "scale") if name in named}
            return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*args, **how)[0]
        return func(*args, **named)


class _Live(TorchDispatchMode):
    """Follows the storages of all tensors that are made inside: ``peak`` is the most bytes at once.

    Views of the parameters and buffers of ``network`` are not counted.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak: int = 0
        self._now: int = 0
        self._sizes: dict[int, int] = {}
        self._own = {own.untyped_storage()._cdata for own in (*network.parameters(), *network.buffers())}

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default:  # a model asks for a number, as whether ids are padding
            return 0
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor):
                self._follow(tensor.untyped_storage())
        return result

    def _follow(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key not in self._sizes and key not in self._own:
            self._sizes[key] = storage.nbytes()
            self._now += storage.nbytes()
            self.peak = max(self.peak, self._now)
            weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self._now -= self._sizes.pop(key)
