"""Hidden states of a model's layers at the rows that its head reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from explainlab.errors import UnsupportedError
from explainlab.models.anatomy import blocks_of
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Inputs


def head_states(classifier: Classifier, inputs: Inputs, embeddings: Tensor | None = None) -> Tensor:
    """Return float32 [B, layers, d] on the CPU: the row of every block's output that the head reads, bottom block
    first.

    This is the row of the first token, of the last one, or the mean of all (:class:`Architecture`). Runs one forward
    pass without gradients, from ``embeddings`` [B, N, d] if given, else from the ids. Raises :class:`UnsupportedError`
    for a network whose blocks are unknown.
    """
    anatomy, pooling = classifier.architecture.anatomy, classifier.architecture.pooling
    if anatomy is None:
        raise UnsupportedError(
            f"Where the layers of {classifier.id} are is not known, so what they make of texts cannot be read.",
            "Choose a model of transformers.",
        )
    blocks = [block for blocks in blocks_of(classifier.model.network, anatomy) for block in blocks]
    rows: list[Tensor] = []

    def hear(states: Tensor) -> None:
        if pooling == "first":
            own = states[:, 0]
        elif pooling == "mean":
            real = inputs.attention.to(states.device)[..., None]
            own = (states * real).sum(dim=1) / real.sum(dim=1)
        else:
            own = states[torch.arange(len(states)), inputs.last.to(states.device)]
        rows.append(own.float().cpu())

    with classifier.lock, torch.no_grad(), _heard(blocks, hear):
        classifier.logits(inputs, embeddings)
    return torch.stack(rows, dim=1)


@contextmanager
def _heard(blocks: Sequence[nn.Module], hear: Callable[[Tensor], None]) -> Iterator[None]:
    """Call ``hear`` with the states [B, N, d] of each of ``blocks``, in the order of their calls."""

    def forward(_: nn.Module, __: Any, output: Any) -> None:
        states = output if isinstance(output, Tensor) else output[0]
        hear(pad_packed_sequence(states, batch_first=True)[0] if isinstance(states, PackedSequence) else states)

    hooks = [block.register_forward_hook(forward) for block in blocks]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
