"""Observation of a model: the passes that a computation makes, and the changes that it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

from explainlab.models.classifier import Classifier


@dataclass
class Passes:
    """Counts of texts that passed the model ``forward`` and ``backward``, of ``calls``, and of the ``widest`` batch."""

    forward: int = 0
    backward: int = 0
    calls: int = 0
    widest: int = 0


@contextmanager
def watched(classifier: Classifier, limit: int | None = None) -> Iterator[Passes]:
    """Count the passes of ``classifier`` inside the block; a batch of more than ``limit`` texts does not fit."""
    passes = Passes()

    def before(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        rows = len(args[0] if args else kwargs["input_ids"])
        if limit is not None and rows > limit:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB.")
        passes.calls += 1
        passes.forward += rows
        passes.widest = max(passes.widest, rows)

    def after(_: nn.Module, __: tuple[Any, ...], output: Any) -> None:
        if output.last_hidden_state.requires_grad:
            output.last_hidden_state.register_hook(count)

    def count(gradient: Tensor) -> None:
        passes.backward += len(gradient)

    network: nn.Module = classifier.model.base_model  # type: ignore[assignment]
    hooks = [
        network.register_forward_pre_hook(before, with_kwargs=True),
        network.register_forward_hook(after),
    ]
    try:
        yield passes
    finally:
        for hook in hooks:
            hook.remove()


def traces(classifier: Classifier) -> dict[str, object]:
    """The state of a model that a computation must not change: hooks, attributes, modes, weights, gradients."""
    state: dict[str, object] = {"grad mode": torch.is_grad_enabled()}
    state["global hooks"] = [
        len(v) for k, v in vars(torch_module).items() if k.startswith("_global") and k.endswith("hooks")
    ]
    for name, module in classifier.model.named_modules():
        state[f"{name}: attributes"] = set(vars(module))
        state[f"{name}: hooks"] = {key: len(value) for key, value in vars(module).items() if key.endswith("_hooks")}
        state[f"{name}: class"] = (type(module), {key: id(value) for key, value in vars(type(module)).items()})
        state[f"{name}: training"] = module.training
        state[f"{name}: attention"] = getattr(getattr(module, "config", None), "_attn_implementation", None)
    for name, parameter in classifier.model.named_parameters():
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
