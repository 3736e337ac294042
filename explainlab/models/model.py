"""The protocol between a classifier and a network, of transformers or not."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import torch
from torch import Tensor, nn

from explainlab.errors import UnsupportedError
from explainlab.models.anatomy import Block, Head, Unit
from explainlab.models.architectures import Architecture
from explainlab.models.attention import Tap
from explainlab.models.devices import CPU_BATCH_TOKENS
from explainlab.models.inputs import Cache, Inputs, Prefix


class Model(Protocol):
    """A network that classifies texts from token ids or word embeddings.

    ``network`` is in evaluation mode and its parameters require no gradients; ``device`` is that of its inputs (a large
    network may span several). Everything that depends on the kind of network is here or in ``architecture``.

    Subclass it. The members of the second part have a default for networks that lack the capability; they are used only
    where :attr:`Architecture.capabilities` declares it. :func:`explainlab.testing.models.check_model` checks the whole.
    """

    network: nn.Module
    architecture: Architecture
    device: torch.device

    # Every network --------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def body(self) -> nn.Module:
        """The module that every pass runs once; its first tensor argument and its outputs have B rows."""

    @property
    @abstractmethod
    def word_embeddings(self) -> nn.Embedding:
        """The table from ids [...] to word embeddings [..., d]."""

    @abstractmethod
    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        """Return logits [B, classes] of one forward pass, from ``embeddings`` [B, N, d] if given, else from the ids.

        A text's logits do not depend on its padding. Gradients flow to ``embeddings`` that require them. ``prefix``,
        for causal decoders only, is the common beginning of all texts; only the tokens after it run.
        """

    @abstractmethod
    def bytes_per_token(self, length: int, gradients: bool) -> int:
        """Estimate, cautiously, the bytes of activations per token of a text of ``length`` tokens in a batch."""

    def work_per_token(self, length: int) -> int:
        """Estimate the floating-point operations per token of a text of ``length`` tokens in a pass with gradients.

        This base counts two for each weight forward and four backward.
        """
        weights = sum(weight.numel() for weight in self.network.parameters())
        return max(1, 6 * (weights - self.word_embeddings.weight.numel()))

    @property
    def cpu_batch_tokens(self) -> int:
        """Number of tokens of the fastest batches on a CPU."""
        return CPU_BATCH_TOKENS

    @property
    def padding_read(self) -> int | None:
        """The token that the head takes for padding at the end of a text (None: there is none)."""
        return None

    # Some networks --------------------------------------------------------------------------------------------------

    @property
    def end_id(self) -> int | None:
        """The token of which all texts of a batch must hold the same number (None: there is none)."""
        return None

    @property
    def activations(self) -> Sequence[nn.Module]:
        """The modules that are activation functions (capability ``relevance rules``)."""
        return ()

    @property
    def layers(self) -> Sequence[nn.Module]:
        """Modules called with a hidden state [B, N, d], the layers among them (``replaceable attention``)."""
        return ()

    @property
    def depth(self) -> int:
        """Number of layers of a pass: a shared layer counts each time."""
        return len(self.layers)

    @property
    def units(self) -> Sequence[Unit]:
        """Parts of the network, top first; every parameter is in exactly one. Unknown parts: a single unit."""
        return (Unit("model", (self.network,)),)

    @property
    def blocks(self) -> Sequence[Block]:
        """The parts of every block, bottom first (``post-norm blocks``)."""
        raise self._lacks()

    @property
    def head(self) -> Head:
        """The parts of the head (``post-norm blocks``)."""
        raise self._lacks()

    def fresh(self, seed: int) -> nn.Module:
        """Return a network of this kind with new weights on the CPU, drawn from ``seed`` by its own initialisers.

        Torch's random states stay as they are. Raises :class:`UnsupportedError` where no network can be built anew.
        """
        raise UnsupportedError(
            f"How a {self.architecture.family} model draws new weights is not known.", "Draw them with init=normal01."
        )

    def tapped(self, tap: Tap) -> AbstractContextManager[None]:
        """Route all attention through ``tap`` for one forward pass (``replaceable attention``)."""
        raise self._lacks()

    def attention_maps(self, inputs: Inputs, embeddings: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        """Return the attention probabilities [B, heads, N, N] of every layer, and logits [B, classes] (``attention``).

        Gradients of the logits flow to the probabilities, each on the device of its layer.
        """
        raise self._lacks()

    def position_logits(self, inputs: Inputs, embeddings: Tensor | None = None) -> Tensor:
        """Return logits [B, N, classes] with the head at every position (``causal decoder``)."""
        raise self._lacks()

    def prefix(self, ids: Tensor) -> Prefix:
        """Return the keys and values of the token ids [N] with which texts begin (``causal decoder``)."""
        raise self._lacks()

    def next_token(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Return the logits [B, classes], and the share [B] of the next token that the label words together hold.

        Only for a language model whose head has the rows of label words
        (:mod:`explainlab.models.prompting.completion`).
        """
        raise self._lacks()

    def next_token_logits(self, ids: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        """Return the logits [V] of the token after ``ids`` [N], and the ``cache``; the ids follow its content and join
        it.

        Capability ``language model``.
        """
        raise self._lacks()

    def _lacks(self) -> UnsupportedError:
        return UnsupportedError(f"A {self.architecture.family} model cannot do this.", "Choose another model.")
