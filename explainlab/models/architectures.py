"""Facts that a model declares about itself; methods and metrics depend on them, not on the kind of network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from explainlab.models.anatomy import Anatomy, PostNorm

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
