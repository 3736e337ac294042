"""How much memory passes need beyond the model, from shapes alone: nothing is computed."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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

_TINY, _SPREAD = 1e-30, 1e-4


@contextmanager
def followed(outline: Classifier) -> Iterator[Live]:
    """Follows the tensors that are made inside by passes of ``outline`` (:func:`explainlab.models.loading.outline`).

    It has the same shapes as the loaded model. Numbers that are read from its tensors are all but 0. No other thread
    uses it meanwhile. What torch's allocator and kernels take beside is unknown.
    """
    live = Live(outline.model.network)
    with outline.lock, _Shapes(), live:
        yield live


def batch_bytes(outline: Classifier, length: int, rows: int, gradients: bool) -> int:
    """Most bytes that tensors take at once in a pass of ``rows`` texts of ``length`` tokens, beyond the model's own.

    ``outline``: see :func:`followed`. With ``gradients`` the pass goes back to the word embeddings.
    """
    ids = np.zeros(length, dtype=np.int64)
    inputs = outline.inputs([Unpadded(ids, ids)]).repeat(rows)
    with torch.set_grad_enabled(gradients), followed(outline) as live:
        embeddings = outline.embed(inputs.ids)
        if gradients:
            embeddings.requires_grad_()
        logits = outline.logits(inputs, embeddings)
        if gradients:
            torch.autograd.grad(logits.sum(), embeddings)
    return live.peak


class _Shapes(TorchFunctionMode):
    """What torch's meta device lacks: numbers. Those that choose choose all; others are all but 0 and all but equal.

    Equal numbers would rank tokens in one way, and make one text of those that lack the highest scores of several maps;
    with very different ones, adaptive methods would go on to their last round.

    Also attention without its probabilities in memory, as CPUs and GPUs compute it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._numbers = np.random.default_rng(0)

    def _read(self, tensor: Tensor) -> np.ndarray:
        kind = torch.empty(0, dtype=tensor.dtype).numpy().dtype
        if not tensor.is_floating_point():
            return np.full(tensor.shape, tensor.dtype == torch.bool, kind)
        return (_TINY * (1 + _SPREAD * self._numbers.random(tensor.shape))).astype(kind)

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if args and isinstance(args[0], Tensor) and args[0].is_meta:
            if func is Tensor.cpu:
                return args[0]
            if func in (Tensor.numpy, Tensor.tolist):
                read = self._read(args[0])
                return read if func is Tensor.numpy else read.tolist()
            if func is Tensor.nonzero:
                places = torch.empty((args[0].numel(), args[0].ndim), dtype=torch.int64, device="meta")
                return places.unbind(1) if named.get("as_tuple") else places
            if func is Tensor.__getitem__ and isinstance(args[1], Tensor) and args[1].dtype == torch.bool:
                every = args[0].flatten(0, args[1].ndim - 1)
                return func(every, torch.arange(len(every), device="meta"))
        if func is scaled_dot_product_attention and len(args) == 3 and args[0].shape == args[1].shape == args[2].shape:
            how = {name: named[name] for name in ("is_causal", "attn_mask", "scale") if name in named}
            return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*args, **how)[0]
        return func(*args, **named)


class Live(TorchDispatchMode):
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
        if func is torch.ops.aten._local_scalar_dense.default and args[0].is_meta:  # as whether ids are padding
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
