"""The protocol between a classifier and a network, of transformers or not, and what a model declares of itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from explainlab.errors import UnsupportedError
from explainlab.models.anatomy import Anatomy, Block, Head, PostNorm, Unit
from explainlab.models.attention import Tap
from explainlab.models.devices import CPU_BATCH_TOKENS
from explainlab.models.inputs import Cache, Inputs, Prefix

Pooling = Literal["first", "last", "mean", "eos"]


@dataclass(frozen=True)
class Architecture:
    """Facts about a family of models.

    ``family``: its name for a reader. ``pooling``: the rows of the last layer that reach the head: the first token's,
    the last real token's, the mean of all, or the end-of-sequence token's. ``attention``: access to the attention
    probabilities: ``replace`` (read and replaced), ``read`` (only read), ``cross`` (the decoder's attention to the
    encoder; layers do not map the text onto itself), ``pooled`` (the weights of a recurrent network's mean state, shown
    as a map of equal rows), or ``none`` (there is no attention). ``causal``: a decoder; rows see no later rows, and the
    head can be applied at every position. ``rounds``: the weights have 8 bits and every layer rounds its inputs (with
    weights of 4 bits inputs are not rounded, so gradients exist). ``relevance``: the rules of relevance propagation
    cover its layers. ``is_generative``: a language model that classifies by a prompt and can continue any text.
    ``anatomy``: the paths of its parts (None: unknown).
    """

    family: str
    pooling: Pooling = "first"
    attention: Literal["replace", "read", "cross", "pooled", "none"] = "replace"
    causal: bool = False
    rounds: bool = False
    relevance: bool = True
    is_generative: bool = False
    anatomy: Anatomy | None = None

    @property
    def capabilities(self) -> dict[str, str]:
        """Capabilities that a method may need, each with the reason why it is missing (empty: available)."""
        absent = "it has no attention" if self.attention == "none" else ""
        layered = {
            "cross": "it reads the text twice, so its attention layers do not map the text onto itself",
            "pooled": "its only attention averages the states of the text and does not map it onto itself",
        }
        replaced = "" if self.attention == "replace" else "its attention probabilities can be read but not replaced"
        return {
            "gradients": "its 8-bit layers round what they read, which has no gradient" if self.rounds else "",
            "relevance rules": "" if self.relevance else "there are no relevance rules for its layers",
            "attention": absent,
            "layered attention": absent or layered.get(self.attention, ""),
            "replaceable attention": absent or replaced,
            "post-norm blocks": absent or self._undecomposed,
            "language model": ""
            if self.is_generative
            else "it does not classify by a prompt, so it cannot be asked in words",
            "causal decoder": "" if self.causal else "it is not a causal decoder",
        }

    @property
    def _undecomposed(self) -> str:
        if self.anatomy is None:
            return "what its blocks are made of is not known"
        return "" if isinstance(self.anatomy.parts, PostNorm) else self.anatomy.parts

    def missing(self, needs: Sequence[str]) -> list[str]:
        """Return the reasons why ``needs``, names of :attr:`capabilities`, are not met: each reason once, in their
        order.
        """
        return list(dict.fromkeys(self.capabilities[need] for need in needs if self.capabilities[need]))


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
        (:mod:`explainlab.models.prompting`).
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
