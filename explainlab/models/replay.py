"""Replay of a text with one layer's attention replaced; only the changed layers run.

The layers below the replaced layer are skipped: their outputs were recorded. Where the head reads a single row, the
last layer computes that row only: its attention to all values, its projection, its feed-forward part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

from explainlab.errors import UnsupportedError
from explainlab.models.attention import Tap
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Inputs, Tokens
from explainlab.models.model import Architecture


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer with its input [B, N, d], its attention probabilities [B, heads, N, N] and values [B, heads, N, d_h]."""

    module: nn.Module
    state: Tensor
    probabilities: Tensor
    values: Tensor


class _Reached(Exception):
    """The signal that stops a pass at the attention of the last layer."""


def record(classifier: Classifier, inputs: Inputs) -> tuple[list[Layer], Tensor]:
    """Record all layers in one pass of B texts, bottom first, and its logits float32 [B, classes].

    Raises :class:`UnsupportedError` where attention cannot be tapped.
    """
    layers: list[Layer] = []

    def read(_: int, __: nn.Module, probabilities: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        module, state = entered[-1]
        layers.append(Layer(module, state, probabilities, values))
        return probabilities, values

    model = classifier.model
    with classifier.lock, torch.no_grad(), _entering(model.layers) as entered, model.tapped(read):
        return layers, classifier.logits(inputs)


def rows_read(architecture: Architecture, layer: int, depth: int, length: int) -> slice:
    """Return the rows of the attention of ``layer``, of ``depth``, that reach the head, for a text of ``length``
    tokens.
    """
    row = {"first": 0, "last": length - 1}.get(architecture.pooling)
    return slice(0, length) if row is None or layer < depth else slice(row, row + 1)


class Replay:
    """One recorded pass of a text of N real tokens (padding is left out), and the passes that start from it.

    Layers are counted from 1, the bottom one first, by the order of their calls; ``depth`` is their number.
    ``original`` float32 [classes] are the logits of the recorded pass.
    """

    def __init__(self, classifier: Classifier, encoding: Tokens) -> None:
        """Run the text once. Raises :class:`UnsupportedError` where attention cannot be replaced."""
        architecture = classifier.architecture
        if reason := architecture.capabilities["replaceable attention"]:
            raise UnsupportedError(
                f"A {architecture.family} model cannot be replayed: {reason}.", "Choose another model."
            )
        self._classifier = classifier
        length = int(encoding.attention.sum())
        self._inputs = _part(classifier.inputs([encoding]), slice(length))
        self._row = {"first": 0, "last": length - 1}.get(architecture.pooling)
        self._layers, logits = record(classifier, self._inputs)
        self.original = logits[0]

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self._layers)

    def attention(self, layer: int) -> Tensor:
        """Return [heads, N, N]: the recorded attention probabilities of ``layer``."""
        return self._layers[layer - 1].probabilities[0].to(self._classifier.device)

    def rows(self, layer: int) -> slice:
        """Return the rows of ``layer``'s attention that reach the head: a single row of the last layer, or all N."""
        return rows_read(self._classifier.architecture, layer, self.depth, self._inputs.ids.shape[1])

    def logits(self, layer: int, probabilities: Tensor) -> Tensor:
        """Return logits float32 [B, classes] with ``probabilities`` [B, heads, rows, N] as the attention of ``layer``.

        Their rows are those of :meth:`rows`, or all N. Gradients flow to ``probabilities`` only. They are used
        unchanged: a position that the model masks may have weight.
        """
        with self._classifier.lock:
            return self._logits(layer, probabilities.to(self._classifier.dtype))

    def _logits(self, layer: int, probabilities: Tensor) -> Tensor:
        if self._row is None:
            return self._from(layer, len(probabilities), _replacing(probabilities))
        if layer < self.depth:
            return self._last_row(*self._below_last(layer, probabilities))
        last = self._layers[-1]
        if probabilities.shape[2] > 1:
            probabilities = probabilities[:, :, self.rows(layer)]
        return self._last_row(last.state[:, self.rows(layer)], probabilities, last.values)

    def _from(self, layer: int, size: int, tap: Tap) -> Tensor:
        """Return the logits of ``size`` texts from the recorded input of ``layer`` on, with all attention through
        ``tap``.
        """
        state = self._layers[layer - 1].state.expand(size, -1, -1)
        return self._run(self._inputs.repeat(size), layer, state, tap)

    def _below_last(self, layer: int, probabilities: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return state [B, 1, d], probabilities [B, heads, 1, N] and values [B, heads, N, d_h] of the last layer's
        single row.
        """
        rows, replace = self.rows(self.depth), _replacing(probabilities)
        reached: list[tuple[Tensor, Tensor]] = []

        def stop(call: int, module: nn.Module, own: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
            if call < self.depth - layer:
                return replace(call, module, own, values)
            reached.append((own[:, :, rows], values))
            raise _Reached

        with _entering([self._layers[-1].module]) as entered, suppress(_Reached):
            self._from(layer, len(probabilities), stop)
        return entered[-1][1][:, rows], *reached[0]

    def _last_row(self, state: Tensor, probabilities: Tensor, values: Tensor) -> Tensor:
        """Return the logits from the last layer's single row, run as a text of one token, first and last in one."""
        size = len(probabilities)
        inputs = _part(self._inputs, self.rows(self.depth)).repeat(size)
        own = (probabilities.to(values.device), values)
        return self._run(inputs, self.depth, state.expand(size, -1, -1), lambda *_: own)

    def _run(self, inputs: Inputs, layer: int, state: Tensor, tap: Tap) -> Tensor:
        numbers = count(1)

        def enter(_: nn.Module, own: Callable[..., Tensor], hidden_states: Tensor, *rest: Any, **named: Any) -> Tensor:
            number = next(numbers)
            if number < layer:
                return hidden_states
            return own(state if number == layer else hidden_states, *rest, **named)

        modules = [recorded.module for recorded in self._layers]
        with _diverted(modules, enter), self._classifier.model.tapped(tap):
            return self._classifier.logits(inputs)


def _part(inputs: Inputs, rows: slice) -> Inputs:
    """Return real tokens of a text as a text of their own."""
    return Inputs(inputs.ids[:, rows], inputs.types[:, rows], inputs.attention[:, rows], padded=False)


def _replacing(probabilities: Tensor) -> Tap:
    """Return the tap that puts ``probabilities`` into the first attention of a pass."""
    return lambda call, _, own, values: (own if call else probabilities.to(own.device), values)


@contextmanager
def _diverted(modules: Iterable[nn.Module], forward: Callable[..., Tensor]) -> Iterator[None]:
    """Redirect calls of ``modules`` to ``forward(module, its own forward, hidden_states, ...)``."""
    before = {module: vars(module).get("forward") for module in modules}
    try:
        for module in before:
            module.forward = partial(forward, module, module.forward)
        yield
    finally:
        for module, own in before.items():
            vars(module).pop("forward", None)
            if own is not None:
                module.forward = own


@contextmanager
def _entering(modules: Iterable[nn.Module]) -> Iterator[list[tuple[nn.Module, Tensor]]]:
    """Yield the list of all calls of ``modules``, each with its hidden state [B, N, d]; it grows with the calls."""
    entered: list[tuple[nn.Module, Tensor]] = []

    def enter(module: nn.Module, own: Callable[..., Tensor], hidden_states: Tensor, *rest: Any, **named: Any) -> Tensor:
        entered.append((module, hidden_states))
        return own(hidden_states, *rest, **named)

    with _diverted(modules, enter):
        yield entered
