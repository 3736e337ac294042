"""Observation of a run: its passes, its progress, and the changes that it leaves behind on the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

from explainlab.errors import Cancelled
from explainlab.models.classifier import Classifier
from explainlab.models.context import Receivers, RunContext


@dataclass
class Passes:
    """Counts of texts that passed the model ``forward`` and ``backward``, of ``calls``, and of the ``widest`` batch."""

    forward: int = 0
    backward: int = 0
    calls: int = 0
    widest: int = 0


@contextmanager
def watched(classifier: Classifier, limit: int | None = None) -> Iterator[Passes]:
    """Count the passes of ``classifier`` inside the block; a batch of more than ``limit`` texts runs out of memory.

    A pass is a call of :attr:`explainlab.models.model.Model.body`.
    """
    passes = Passes()

    def before(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        rows = len(next(_tensors((args, kwargs))))
        if limit is not None and rows > limit:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB.")
        passes.calls += 1
        passes.forward += rows
        passes.widest = max(passes.widest, rows)

    def after(_: nn.Module, __: tuple[Any, ...], output: Any) -> None:
        differentiable = next((tensor for tensor in _tensors(output) if tensor.requires_grad), None)
        if differentiable is not None:
            differentiable.register_hook(count)

    def count(gradient: Tensor) -> None:
        passes.backward += len(gradient)

    body = classifier.model.body
    hooks = [body.register_forward_pre_hook(before, with_kwargs=True), body.register_forward_hook(after)]
    try:
        yield passes
    finally:
        for hook in hooks:
            hook.remove()


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in ``value``, in the order of nested sequences and mappings."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from _tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)


def traces(classifier: Classifier) -> dict[str, object]:
    """Return the state of a model that a computation must not change: hooks, attributes, modes, weights, gradients."""
    state: dict[str, object] = {"grad mode": torch.is_grad_enabled()}
    state["global hooks"] = [
        len(v) for k, v in vars(torch_module).items() if k.startswith("_global") and k.endswith("hooks")
    ]
    for name, module in classifier.model.network.named_modules():
        state[f"{name}: attributes"] = set(vars(module))
        state[f"{name}: hooks"] = {key: len(value) for key, value in vars(module).items() if key.endswith("_hooks")}
        state[f"{name}: class"] = (type(module), {key: id(value) for key, value in vars(type(module)).items()})
        state[f"{name}: training"] = module.training
        state[f"{name}: attention"] = getattr(getattr(module, "config", None), "_attn_implementation", None)
    for name, parameter in classifier.model.network.named_parameters():
        state[f"{name}: weights"] = (parameter.data_ptr(), float(parameter.detach().double().sum()))
        state[f"{name}: gradient"] = (parameter.requires_grad, parameter.grad)
    return state


@contextmanager
def unchanged(classifier: Classifier, what: str) -> Iterator[None]:
    """Assert that the block does not change ``classifier``; raises :class:`AssertionError` with what changed."""
    before = traces(classifier)
    yield
    after = traces(classifier)
    left = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    assert not left, f"{what} leaves something behind on the model: {', '.join(left[:5])}"


class Recorder:
    """A recorder of the progress that a run in its ``context`` reports: ``seen`` has done, total and phase of each.

    It cancels the run at check number ``last``.
    """

    def __init__(self, last: int = 10**9) -> None:
        self.context = RunContext(progress=Receivers(self._report), check_cancelled=self._check)
        self.seen: list[tuple[int, int, str]] = []
        self.checks, self.last = 0, last

    def _report(self, done: int, total: int, phase: str) -> None:
        self.seen.append((done, total, phase))

    def _check(self) -> None:
        self.checks += 1
        if self.checks == self.last:
            raise Cancelled
