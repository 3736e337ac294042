"""The classifier: text in, class scores out, for any model.

All that methods use of a model: word embeddings, forward passes from them, rows that reach the head, attention
probabilities. No method names an architecture.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from explainlab.errors import ModelError, UnsupportedError
from explainlab.limits import DEFAULT_LIMITS, Limits
from explainlab.models.inputs import Cache, Inputs, Prefix, Tokens
from explainlab.models.model import Architecture, Model
from explainlab.models.modes import own_modes, rounding
from explainlab.models.stored.weights import is_quantised
from explainlab.text.encoding import Encoding, panics_told
from explainlab.text.prompt import Prompt, encode_prompted

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


_LOCKS = ("lock", "tokenizer_lock")


@dataclass(frozen=True)
class Prediction:
    """The class with the highest score, and the probability of every class."""

    index: int
    label: str
    probabilities: dict[str, float]


@dataclass(frozen=True, eq=False)
class Classifier:
    """A loaded model with its tokenizer.

    ``id`` is its name when it was loaded; ``digest`` identifies its files; ``max_tokens`` is its longest input;
    ``pad_id`` is the token that fills up a batch. ``prompt`` is the text around every text: a language model always has
    one, a model with a head only if its training had one. ``pairs``: its training here used pairs of texts. ``notes``
    are warnings that accompany all its results.

    Several threads may use a classifier: they take turns, pass by pass. A thread that changes the model for some
    passes, by a hook or otherwise, holds ``lock`` until it has undone the change. ``tokenizer_lock`` guards the
    tokenizer, because truncation changes it. A pass runs in our modes (:mod:`explainlab.models.modes`), and records
    gradients if its caller does. A classifier can be copied and pickled: a shallow copy shares model and locks with the
    original.
    """

    id: str
    source: str
    digest: str
    model: Model
    tokenizer: PreTrainedTokenizerBase
    labels: tuple[str, ...]
    max_tokens: int
    pad_id: int
    limits: Limits = DEFAULT_LIMITS
    prompt: Prompt | None = None
    pairs: bool = False
    notes: tuple[str, ...] = ()
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    tokenizer_lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __copy__(self) -> Self:
        return replace(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _LOCKS}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, **{name: threading.RLock() for name in _LOCKS})

    @property
    def architecture(self) -> Architecture:
        """Facts about the model."""
        return self.model.architecture

    @property
    def device(self) -> torch.device:
        """The device of the model's inputs (a large model may be spread over several)."""
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        """The number format of the weights."""
        return self.model.word_embeddings.weight.dtype

    @property
    def rounds_to(self) -> str:
        """The format to which torch rounds float32 in matrix products, if the program asked for it; else empty."""
        return rounding(self.device) if self.dtype == torch.float32 else ""

    @property
    def bytes(self) -> int:
        """Memory of the weights."""
        return sum(p.numel() * p.element_size() for p in self.model.network.parameters())

    @property
    def quantised(self) -> bool:
        """True if some weights are packed into 8 or 4 bits."""
        return is_quantised(self.model.network)

    @property
    def spread(self) -> bool:
        """True if the weights are on several devices."""
        return len({own.device for own in self.model.network.parameters()}) > 1

    def encode(self, text: str, text_pair: str | None = None) -> Encoding:
        """Tokenise for this model, up to the token that its head reads last.

        Raises :class:`TextError` as :func:`explainlab.text.encoding.encode`.
        """
        with self.tokenizer_lock, panics_told():
            whole = encode_prompted(self.tokenizer, self.prompt, text, text_pair, self.max_tokens, self.limits)
        return whole.before_padding(self.model.padding_read)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, special tokens included."""
        with self.tokenizer_lock, panics_told():
            return str(self.tokenizer.decode(list(ids)))

    def end_count(self, ids: np.ndarray) -> int:
        """Count the end tokens in ``ids`` [N]: all texts of a batch need the same number if the model reads there."""
        end_id = self.model.end_id
        return 0 if end_id is None else int((ids == end_id).sum())

    def inputs(self, encodings: Sequence[Tokens]) -> Inputs:
        """Return ``encodings`` as one batch on this classifier's device."""
        return Inputs.of(encodings, self.pad_id, self.device)

    def embed(self, ids: Tensor) -> Tensor:
        """Return the word embeddings [..., d] of token ids [...], before positions and normalisation."""
        with own_modes(gradients=False):
            return self.model.word_embeddings.forward(ids)  # without hooks: another thread's pass may have set some

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        """Return logits float32 [B, classes] of one forward pass, from ``embeddings`` [B, N, d] if given, else from the
        ids.

        Gradients flow to ``embeddings`` that require them. If all texts begin with ``prefix``, only the tokens after it
        run.
        """
        with self._pass():
            return self._scores(self.model.logits(inputs, embeddings, prefix))

    def prefix(self, ids: Tensor) -> Prefix:
        """Return the keys and values of the token ids [N] with which texts begin (causal decoders).

        Raises :class:`UnsupportedError` for any other model.
        """
        self._require("causal decoder", "remembers no beginning of a text", "Choose a decoder, such as a GPT-2 model.")
        with self._pass():
            return self.model.prefix(ids)

    def position_logits(self, inputs: Inputs, embeddings: Tensor | None = None) -> Tensor:
        """Return logits float32 [B, N, classes] of one forward pass of a causal decoder with its head at every
        position.

        At a position: the prediction for the text that ends there; at padding it is meaningless. Embeddings and
        gradients as for :meth:`logits`. Raises :class:`UnsupportedError` for any other model.
        """
        self._require("causal decoder", "makes no intermediate predictions", "Choose a decoder, such as a GPT-2 model.")
        with self._pass():
            return self._scores(self.model.position_logits(inputs, embeddings))

    def next_token(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Return the logits [B, classes] and the label share [B] of a language model, both float32.

        The label share is the probability that the next token is one of the label words; class probabilities compare
        these words only with each other. One forward pass without gradients.
        """
        with self._pass(gradients=False):
            logits, share = self.model.next_token(inputs)
        return self._scores(logits), share.to(self.device)

    def next_token_logits(self, ids: Sequence[int], cache: Cache | None = None) -> tuple[np.ndarray, Cache]:
        """Return a language model's logits float64 [V] of the token after ``ids``, which follow the content of
        ``cache``.

        One forward pass; the cache that is returned holds the ids too. Raises :class:`UnsupportedError` for any other
        model, :class:`ModelError` for logits that are not finite.
        """
        self._require("language model", "does not go on with a text", "Choose a language model with a prompt.")
        with self._pass():
            logits, cache = self.model.next_token_logits(torch.tensor(ids, device=self.device), cache)
        return self.finite(self._scores(logits)[None])[0], cache

    def label_share(self, encoding: Encoding) -> float | None:
        """Return the label share of one text, in [0, 1] (see :meth:`next_token`); None without a language model."""
        if not self.architecture.is_generative:
            return None
        return float(self.next_token(self.inputs([encoding]))[1][0])

    def attention_maps(self, inputs: Inputs, embeddings: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        """Return the attention probabilities [B, heads, N, N] of every layer, bottom first, and the logits of the same
        pass.

        Row i of a map has the weights by which position i reads all positions. For an encoder-decoder these are the
        decoder's rows over the encoder's positions. From ``embeddings`` [B, N, d] that require gradients, maps and
        logits are parts of one graph. Raises :class:`UnsupportedError` for a model without attention.
        """
        self._require("attention", "has no attention maps", "Choose a transformer.")
        with self._pass(gradients=embeddings is not None):
            maps, logits = self.model.attention_maps(inputs, embeddings)
        return maps, self._scores(logits)

    def head_rows(self, encoding: Encoding) -> np.ndarray:
        """Return float64 [N]: the weight with which each row of the last layer reaches the head (sums to 1)."""
        pooling, real = self.architecture.pooling, encoding.attention.nonzero()[0]
        weights = np.zeros(len(encoding))
        if pooling == "mean":
            weights[real] = 1 / len(real)
        else:
            weights[real[0] if pooling == "first" else real[-1]] = 1
        return weights

    def filler_id(self, baseline: str) -> int:
        """Return the token id that stands for "no information": see :func:`filler_id`."""
        with self.tokenizer_lock:
            return filler_id(self.tokenizer, self.id, baseline)

    def prediction(self, logits: np.ndarray) -> Prediction:
        """Return the prediction of ``logits`` float64 [classes]; raises :class:`ModelError` if they are not finite."""
        if not np.isfinite(logits).all():
            raise ModelError(f"{self.id} returned scores that are not finite numbers.", self._diagnosis())
        shifted = np.exp(logits - logits.max())
        probabilities = shifted / shifted.sum()
        index = int(logits.argmax())
        named = {label: float(p) for label, p in zip(self.labels, probabilities, strict=True)}
        return Prediction(index, self.labels[index], named)

    def finite(self, logits: Tensor) -> np.ndarray:
        """Return ``logits`` [B, classes] as float64; raises :class:`ModelError` if one is not finite."""
        scores: np.ndarray = logits.cpu().double().numpy()
        broken = ~np.isfinite(scores).all(axis=-1)
        if broken.any():
            self.prediction(scores[broken][0])
        return scores

    def predict(self, encoding: Encoding) -> Prediction:
        """Run one forward pass over one text."""
        with torch.no_grad():
            return self.prediction(self.logits(self.inputs([encoding]))[0].cpu().double().numpy())

    @contextmanager
    def _pass(self, gradients: bool | None = None) -> Iterator[None]:
        """Give the model to this thread alone, in our modes; None records ``gradients`` if the caller does."""
        with own_modes(torch.is_grad_enabled() if gradients is None else gradients), self.lock:
            yield

    def _scores(self, logits: Tensor) -> Tensor:
        return logits.to(self.device, torch.float32)

    def _require(self, capability: str, verdict: str, remedy: str) -> None:
        if reason := self.architecture.capabilities[capability]:
            raise UnsupportedError(f"A {self.architecture.family} model {verdict}: {reason}.", remedy)

    def _diagnosis(self) -> str:
        for name, parameter in self.model.network.named_parameters():
            if not torch.isfinite(parameter).all():
                return f"Its weight '{name}' is not finite: the file is damaged or its training diverged."
        if self.dtype != torch.float32:
            return f"Try dtype float32 instead of {str(self.dtype).removeprefix('torch.')}."
        return "Its weights are finite, so the numbers overflow inside the model."


def filler_id(tokenizer: PreTrainedTokenizerBase, model_id: str, baseline: str) -> int:
    """Return the token id that stands for "no information": ``mask``, ``pad`` or ``unk``.

    A tokenizer without a mask token uses the first sentinel (T5) or the last id of ' ...' (decoders). Raises
    :class:`UnsupportedError` where the tokenizer has no such token.
    """
    token_id = {"mask": tokenizer.mask_token_id, "pad": tokenizer.pad_token_id, "unk": tokenizer.unk_token_id}[baseline]
    if token_id is None and baseline == "mask":
        sentinel = tokenizer.convert_tokens_to_ids("<extra_id_0>")
        known = sentinel is not None and sentinel != tokenizer.unk_token_id
        token_id = sentinel if known else tokenizer(" ...", add_special_tokens=False)["input_ids"][-1]
    if token_id is None:
        raise UnsupportedError(
            f"The tokenizer of {model_id} has no {baseline} token.",
            "Choose another baseline, for example mask or zero.",
        )
    return int(token_id)
