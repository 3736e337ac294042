"""Decomposition of a pass: the contribution of every token to every state of a post-norm encoder.

Attention, the norms' deviations and the ratios of activations are those of the pass itself, so every step is linear in
the states, and each token's contribution to a state can be followed. All tensors are of one text of N real tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from explainlab.attribution.passes import recordings
from explainlab.attribution.subject import Subject
from explainlab.models.anatomy import Block, Head
from explainlab.models.replay import Layer

PART = 2**23
"""Numbers in memory for a part of the work."""
_TINY = 1e-12


class Step:
    """A block in the pass of one text: its recorded input, and the states inside it, float32 [N, d] or wider."""

    def __init__(self, block: Block, layer: Layer, row: int, real: Tensor, device: torch.device) -> None:
        """Set up the text at ``row`` of the recorded batch; ``real`` int64 [N] are its tokens without padding."""

        def own(recorded: Tensor) -> Tensor:
            return recorded[row].to(device).float()

        self.block = block
        self.state = own(layer.state)[real]
        self.attention = own(layer.probabilities)[:, real][:, :, real]
        self.values = own(layer.values)[:, real]

    @property
    def length(self) -> int:
        """N."""
        return len(self.state)

    @cached_property
    def summed(self) -> Tensor:
        """The input of the first norm: attention's output, added to the input."""
        read = torch.einsum("hij,hjv->ihv", self.attention, self.values).flatten(1)
        return affine(self.block.attention_output, read) + self.state

    @cached_property
    def middle(self) -> Tensor:
        """The output of the first norm."""
        return _whole_norm(self.block.attention_norm, self.summed)

    @cached_property
    def inner(self) -> Tensor:
        """[N, m]: the input of the activation."""
        return affine(self.block.intermediate, self.middle)

    @cached_property
    def last_summed(self) -> Tensor:
        """The input of the last norm."""
        return affine(self.block.output, self.block.activation(self.inner)) + self.middle

    @property
    def result(self) -> Tensor:
        """The block's output."""
        return _whole_norm(self.block.output_norm, self.last_summed)

    def mixed(self, rows: slice) -> Tensor:
        """Return [rows, N, d]: every token's contribution to ``summed``, without the bias of the output projection."""
        mixed = torch.einsum("hij,hjd->ijd", self.attention[:, rows], self._sent)
        numbers = torch.arange(self.length, device=mixed.device)[rows]
        mixed[numbers - numbers[0], numbers] += self.state[rows]
        return mixed

    @cached_property
    def _sent(self) -> Tensor:
        """[heads, N, d]: every token's value through every head at full attention."""
        weight = matrix(self.block.attention_output, self.values).unflatten(1, (len(self.values), -1))
        return torch.einsum("hjv,dhv->hjd", self.values, weight)


def matrix(part: nn.Linear, like: Tensor) -> Tensor:
    """Return the weights [out, in] of ``part``, in the number format and on the device of ``like``."""
    return part.weight.to(like)


def affine(part: nn.Linear, inputs: Tensor) -> Tensor:
    """Apply ``part`` to ``inputs``, in their number format."""
    return nn.functional.linear(inputs, matrix(part, inputs), None if part.bias is None else part.bias.to(inputs))


def normalised(norm: nn.LayerNorm, vectors: Tensor, whole: Tensor) -> Tensor:
    """Apply ``norm``, without its bias, to the parts ``vectors`` [rows, N, d] of the states ``whole`` [rows, d].

    Each part is centred by its own mean; the deviation is that of the whole.
    """
    scale = (whole.var(dim=-1, correction=0) + norm.eps).rsqrt()
    centred = vectors - vectors.mean(dim=-1, keepdim=True)
    return centred.mul_(scale[:, None, None]).mul_(norm.weight.to(vectors))


def _whole_norm(norm: nn.LayerNorm, states: Tensor) -> Tensor:
    return normalised(norm, states[:, None], states)[:, 0] + norm.bias.to(states)


def in_parts(length: int, numbers: int) -> Iterator[slice]:
    """Yield slices of ``length`` rows, ``numbers`` each, with about :data:`PART` numbers together."""
    size = max(1, PART // max(1, numbers))
    for start in range(0, length, size):
        yield slice(start, min(length, start + size))


def steps_of(subjects: Sequence[Subject], read: Callable[[Subject, list[Step]], np.ndarray]) -> list[np.ndarray]:
    """Return ``read(subject, steps)`` of every subject, steps bottom first; one pass each, which fixes the targets."""
    blocks = subjects[0].classifier.model.blocks

    def of_text(subject: Subject, layers: Sequence[Layer], row: int) -> np.ndarray:
        device = subject.classifier.device
        real = torch.as_tensor(np.flatnonzero(subject.encoding.attention), device=device)
        pairs = zip(blocks, layers, strict=True)
        return read(subject, [Step(block, layer, row, real, device) for block, layer in pairs])

    return recordings(subjects, of_text)


def tokens(subject: Subject, real: np.ndarray) -> np.ndarray:
    """Return float64 [N]: scores of the ``real`` tokens, and 0 for padding."""
    scores = np.zeros(len(subject.encoding))
    scores[np.flatnonzero(subject.encoding.attention)] = real
    return scores


def rolled_out(subjects: Sequence[Subject], shares: Callable[[Step, slice], Tensor]) -> list[np.ndarray]:
    """Return the class row of the product of every block's matrix [N, N], top first, as float64 scores of all tokens.

    ``shares(step, rows)`` [rows, N] are rows of the matrix of a block.
    """

    def read(subject: Subject, steps: list[Step]) -> np.ndarray:
        row = subject.classifier.head_rows(subject.encoding)[subject.encoding.attention.astype(bool)]
        for step in reversed(steps):
            rows = in_parts(step.length, step.length * step.state.shape[1])
            whole = torch.cat([shares(step, part) for part in rows])
            row = row @ whole.cpu().double().numpy()
        return tokens(subject, row)

    return steps_of(subjects, read)


# Vectors -------------------------------------------------------------------------------------------------------------


def shared(vectors: Tensor, bias: Tensor | None) -> Tensor:
    """Add ``bias`` [d] to ``vectors`` [..., N, d] in proportion to |⟨v_j, b⟩|; in place."""
    if bias is None:
        return vectors
    bias = bias.to(vectors)
    weights = (vectors @ bias).abs()
    weights /= weights.sum(dim=-1, keepdim=True) + _TINY
    return vectors.add_(weights[..., None] * bias)


def ratio(activation: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    """Return the factor of an activation on its ``inputs``; 0 at 0."""
    return torch.where(inputs == 0, 0, activation(inputs) / inputs)


def through(step: Step, vectors: Tensor | None, biases: bool, rows: slice = slice(None)) -> Tensor:
    """Return [rows, N, d]: every token's contribution to ``rows`` of a block's output, from ``vectors`` [N, N, d] of
    its input.

    ``vectors`` None: the first block, where each token is its own input. ``biases`` are shared out, or left out. The
    sum over tokens is the output (or the output without biases). ``vectors`` stay unchanged.
    """
    block = step.block
    if vectors is None:
        mixed = step.mixed(rows)
        bias: Tensor = block.attention_output.bias
    else:
        mixed = _attended(step, vectors, rows)
        bias = affine(block.attention_output, block.value.bias.to(vectors))
    numbers = step.length * block.intermediate.out_features
    for part in in_parts(len(mixed), numbers):
        whole = [states[rows][part] for states in (step.summed, step.inner, step.last_summed)]
        mixed[part] = _fed(block, mixed[part], whole, bias, biases)
    return mixed


def _attended(step: Step, vectors: Tensor, rows: slice) -> Tensor:
    """Return [rows, N, d]: attention's output of ``vectors``, without biases, added to them."""
    block, heads = step.block, len(step.attention)
    value, output = matrix(block.value, vectors), matrix(block.attention_output, vectors)
    attention, mixed = step.attention[:, rows], vectors[rows].clone()
    for part in in_parts(step.length, vectors.shape[0] * vectors.shape[2]):
        values = (vectors[:, part] @ value.T).unflatten(-1, (heads, -1))  # [N, part, heads, d_h]
        read = attention @ values.permute(2, 0, 1, 3).flatten(2)  # [heads, rows, part * d_h]
        read = read.unflatten(-1, (values.shape[1], -1)).permute(1, 2, 0, 3).flatten(2)
        mixed[:, part] += read @ output.T
    return mixed


def _fed(block: Block, mixed: Tensor, whole: Sequence[Tensor], bias: Tensor | None, biases: bool) -> Tensor:
    """Run the rest of a block after attention: norm, feed-forward maps, norm; ``whole``: the states of these rows."""

    def given(own: Tensor | None) -> Tensor | None:
        return own if biases else None

    summed, inner, last_summed = whole
    middle = shared(
        normalised(block.attention_norm, shared(mixed, given(bias)), summed), given(block.attention_norm.bias)
    )
    wide = shared(middle @ matrix(block.intermediate, middle).T, given(block.intermediate.bias))
    wide *= ratio(block.activation, inner)[:, None]
    fed = shared(wide @ matrix(block.output, wide).T, given(block.output.bias))
    return shared(normalised(block.output_norm, fed.add_(middle), last_summed), given(block.output_norm.bias))


def through_head(head: Head, vectors: Tensor, state: Tensor, biases: bool) -> Tensor:
    """Return [N, classes]: every token's contribution to the logits, from ``vectors`` [N, d] of the class row's
    ``state`` [d].
    """
    dense = vectors @ matrix(head.dense, vectors).T
    dense = shared(dense, head.dense.bias if biases else None)
    dense *= ratio(head.activation, affine(head.dense, state))
    return shared(dense @ matrix(head.classifier, dense).T, head.classifier.bias if biases else None)
