"""The classifier: text in, class scores out, whatever model is underneath.

Methods reach everything through this one interface: word embeddings, forward passes from given word embeddings, which
rows reach the head, attention probabilities. None of them names an architecture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
import transformers
from torch import Tensor, nn

from explainlab.errors import ModelError, UnsupportedError
from explainlab.limits import DEFAULT_LIMITS, Limits
from explainlab.models.architectures import Architecture
from explainlab.models.attention import tapped
from explainlab.models.prefix import Prefix
from explainlab.text.encoding import Encoding, encode
from explainlab.text.prompt import Prompt, encode_prompted


class Tokens(Protocol):
    """What a model reads of one text of N tokens: an :class:`Encoding`, or less.

    ``ids`` and ``types`` whole numbers [N]; ``attention`` bool [N].
    """

    ids: Sequence[int] | np.ndarray
    types: Sequence[int] | np.ndarray
    attention: np.ndarray

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Inputs:
    """A batch of B texts, right-padded to N tokens: ``ids`` and ``types`` int64 [B, N], ``attention`` bool [B, N]."""

    ids: Tensor
    types: Tensor
    attention: Tensor
    padded: bool

    @classmethod
    def of(cls, encodings: Sequence[Tokens], pad_id: int, device: torch.device) -> Inputs:
        """Collate ``encodings``; shorter ones are padded on the right."""
        shape = len(encodings), max(len(e) for e in encodings)
        ids, types, attention = np.full(shape, pad_id), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        for row, e in enumerate(encodings):
            real = slice(len(e))
            ids[row, real], types[row, real], attention[row, real] = e.ids, e.types, e.attention
        return cls(
            ids=torch.as_tensor(ids, device=device),
            types=torch.as_tensor(types, device=device),
            attention=torch.as_tensor(attention, device=device),
            padded=not attention.all(),
        )

    def repeat(self, *counts: int) -> Inputs:
        """Each of the B texts as often as ``counts`` [B] says; a single one without copying."""
        tensors = (self.ids, self.types, self.attention)
        if len(counts) == 1:
            return Inputs(*(t.expand(counts[0], -1) for t in tensors), self.padded)
        each = torch.tensor(counts, device=self.ids.device)
        return Inputs(*(t.repeat_interleave(each, dim=0) for t in tensors), self.padded)


@dataclass(frozen=True)
class Prediction:
    """The class with the highest score, and the probability of every class."""

    index: int
    label: str
    probabilities: dict[str, float]


@dataclass(frozen=True, eq=False)
class Classifier:
    """A loaded model with its tokenizer, in evaluation mode, its parameters without gradients.

    ``id`` is the name it was asked for by; ``digest`` identifies the very files; ``max_tokens`` is the longest input it
    reads; ``device`` is that of its inputs (a large model may be spread over several); ``limits`` bound what it is
    asked; ``prompt`` is what it reads around every text, if it is a language model that is asked to go on. A classifier
    belongs to one thread at a time.
    """

    id: str
    source: str
    digest: str
    model: nn.Module
    tokenizer: object
    labels: tuple[str, ...]
    architecture: Architecture
    max_tokens: int
    pad_id: int
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    limits: Limits = DEFAULT_LIMITS
    prompt: Prompt | None = None

    @property
    def dtype(self) -> torch.dtype:
        """The number format of the weights."""
        return self._embedding.weight.dtype

    @property
    def bytes(self) -> int:
        """Memory of the weights."""
        return sum(p.numel() * p.element_size() for p in self.model.parameters())

    def encode(self, text: str, text_pair: str | None = None) -> Encoding:
        """Tokenise for this model; raises :class:`TextError` (see :func:`explainlab.text.encoding.encode`)."""
        limits = (self.max_tokens, self.limits.max_characters)
        if self.prompt:
            return encode_prompted(self.tokenizer, self.prompt, text, text_pair, *limits)
        return encode(self.tokenizer, text, text_pair, *limits)

    def inputs(self, encodings: Sequence[Tokens]) -> Inputs:
        """``encodings`` as one batch on this classifier's device."""
        return Inputs.of(encodings, self.pad_id, self.device)

    def embed(self, ids: Tensor) -> Tensor:
        """Word embeddings [..., d] of token ids [...]: what the model looks up, before positions and normalisation."""
        with torch.no_grad():
            return self._embedding(ids)

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        """float32 [B, classes]: one forward pass, from ``embeddings`` [B, N, d] where given, else from the ids.

        Gradients flow to ``embeddings`` if they ask for them. Where all texts begin with ``prefix``, only what follows
        it is run.
        """
        with self._embedded(embeddings if embeddings is None or prefix is None else embeddings[:, prefix.length :]):
            return self._forward(inputs, prefix)[0].to(self.device, torch.float32)

    def prefix(self, ids: Tensor) -> Prefix:
        """What a causal decoder remembers of the token ids [N] with which texts begin."""
        with torch.no_grad():
            read = transformers.DynamicCache()
            self.model.base_model(input_ids=ids[None], past_key_values=read, use_cache=True)
        return Prefix(len(ids), tuple((layer.keys, layer.values) for layer in read.layers))

    def position_logits(self, inputs: Inputs, embeddings: Tensor | None = None) -> Tensor:
        """float32 [B, N, classes]: one forward pass of a causal decoder, its head at every position.

        At a position it says what it would say of the text that ends there; what it says of padding means nothing.
        Embeddings and gradients as for :meth:`logits`. Raises :class:`UnsupportedError` for any other model.
        """
        if reason := self.architecture.capabilities["causal decoder"]:
            raise UnsupportedError(
                f"A {self.architecture.family} model makes no intermediate predictions: {reason}.",
                "Choose a decoder, such as a GPT-2 model.",
            )
        with self._embedded(embeddings):
            return self.model.score(self._states(inputs).to(self.device)).float()

    def attention_maps(self, inputs: Inputs, embeddings: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        """The attention probabilities [B, heads, N, N] of every layer, bottom first, and the logits of the same pass.

        Row i of a map says how much position i reads of every position. For an encoder-decoder these are the decoder's
        rows over the encoder's positions. From ``embeddings`` [B, N, d] that ask for gradients, maps and logits are
        parts of one graph.
        """
        if self.architecture.attention == "read":
            with torch.set_grad_enabled(embeddings is not None), self._embedded(embeddings):
                logits, maps = self._forward(inputs, output_attentions=True)
            return list(maps), logits.float()
        maps = []
        cross = self.architecture.attention == "cross"

        def read(_: int, module: nn.Module, probabilities: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
            if not cross or module in self._cross_attention:
                maps.append(probabilities.to(self.device))
            return probabilities, values

        with torch.set_grad_enabled(embeddings is not None), self._embedded(embeddings), tapped(self.model, read):
            logits = self._forward(inputs)[0].float()
        return maps, logits

    def head_rows(self, encoding: Encoding) -> np.ndarray:
        """float64 [N]: the weight with which each row of the last layer reaches the head (sums to 1)."""
        pooling, real = self.architecture.pooling, np.flatnonzero(encoding.attention)
        weights = np.zeros(len(encoding))
        if pooling == "mean":
            weights[real] = 1 / len(real)
        else:
            weights[real[0] if pooling == "first" else real[-1]] = 1
        return weights

    def filler_id(self, baseline: str) -> int:
        """The token id that stands for "no information": ``mask``, ``pad`` or ``unk``.

        A tokenizer without a mask token uses the first sentinel (T5) or the last id of ' ...' (decoders). Raises
        :class:`UnsupportedError` where the tokenizer has no such token.
        """
        tokenizer = self.tokenizer
        token_id = {"mask": tokenizer.mask_token_id, "pad": tokenizer.pad_token_id, "unk": tokenizer.unk_token_id}[
            baseline
        ]
        if token_id is None and baseline == "mask":
            sentinel = tokenizer.convert_tokens_to_ids("<extra_id_0>")
            known = sentinel is not None and sentinel != tokenizer.unk_token_id
            token_id = sentinel if known else tokenizer(" ...", add_special_tokens=False)["input_ids"][-1]
        if token_id is None:
            raise UnsupportedError(
                f"The tokenizer of {self.id} has no {baseline} token.",
                "Choose another baseline, for example mask or zero.",
            )
        return int(token_id)

    def prediction(self, logits: np.ndarray) -> Prediction:
        """What float64 [classes] ``logits`` predict; raises :class:`ModelError` if they are not finite."""
        if not np.isfinite(logits).all():
            raise ModelError(f"{self.id} returned scores that are not finite numbers.", self._diagnosis())
        shifted = np.exp(logits - logits.max())
        probabilities = shifted / shifted.sum()
        index = int(logits.argmax())
        named = {label: float(p) for label, p in zip(self.labels, probabilities, strict=True)}
        return Prediction(index, self.labels[index], named)

    def finite(self, logits: Tensor) -> np.ndarray:
        """float64 [B, classes] of ``logits`` [B, classes]; raises :class:`ModelError` if one is not finite."""
        found = logits.cpu().double().numpy()
        broken = ~np.isfinite(found).all(axis=-1)
        if broken.any():
            self.prediction(found[broken][0])
        return found

    def predict(self, encoding: Encoding) -> Prediction:
        """One forward pass over one text."""
        with torch.no_grad():
            return self.prediction(self.logits(self.inputs([encoding]))[0].cpu().double().numpy())

    def bytes_per_token(self, length: int, gradients: bool) -> int:
        """A cautious estimate of the activations that one token of a text of ``length`` tokens needs in a batch."""
        config = self.model.config
        width, heads = config.hidden_size, config.num_attention_heads
        per_layer = 34 * width + 5 * heads * length
        layers = config.num_hidden_layers * (2 if self.architecture.attention == "cross" else 1)
        kept = layers if gradients else 2
        return max(1, kept * per_layer * self._embedding.weight.element_size() // 2)

    def _forward(
        self, inputs: Inputs, prefix: Prefix | None = None, **options
    ) -> tuple[Tensor, tuple[Tensor, ...] | None]:
        if not self.architecture.causal:
            output = self.model(**self._arguments(inputs), **options)
            return output.logits, output.get("attentions")
        states = self._states(inputs, prefix, **options)
        if not inputs.padded:
            return self.model.score(states[:, -1].to(self.device)), None
        last = (inputs.attention.sum(dim=1) - 1 - (prefix.length if prefix else 0)).to(states.device)
        read = states[torch.arange(len(last), device=states.device), last]
        return self.model.score(read.to(self.device)), None

    def _states(self, inputs: Inputs, prefix: Prefix | None = None, **options) -> Tensor:
        """[B, N, d]: the last layer of a causal decoder, which its head reads; only what follows ``prefix``."""
        arguments = {**self._arguments(inputs), "use_cache": prefix is not None, **options}
        if prefix:
            arguments |= {"input_ids": inputs.ids[:, prefix.length :], "past_key_values": prefix.cache(len(inputs.ids))}
        return self.model.base_model(**arguments).last_hidden_state

    def _arguments(self, inputs: Inputs) -> dict[str, Tensor | None]:
        arguments = {"input_ids": inputs.ids, "attention_mask": inputs.attention.long() if inputs.padded else None}
        if self._reads_types:
            arguments["token_type_ids"] = inputs.types
        return arguments

    @contextmanager
    def _embedded(self, embeddings: Tensor | None) -> Iterator[None]:
        """The model looks up ``embeddings`` instead of its own table, in every place where it embeds the text."""
        if embeddings is None:
            yield
            return

        def replace(_, __, output: Tensor) -> Tensor:
            return embeddings

        def replace_shifted(_, __, output: Tensor) -> Tensor:
            return torch.cat([output[:, :1], embeddings[:, :-1]], dim=1)

        shifted = self._decoder_tables
        hooks = [
            table.register_forward_hook(replace_shifted if table in shifted else replace) for table in self._tables
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @cached_property
    def _embedding(self) -> nn.Module:
        return self.model.get_input_embeddings()

    @cached_property
    def _tables(self) -> list[nn.Module]:
        weight = self._embedding.weight.data_ptr()
        return [m for m in self.model.modules() if isinstance(m, nn.Embedding) and m.weight.data_ptr() == weight]

    @cached_property
    def _decoder_tables(self) -> list[nn.Module]:
        """The tables through which an encoder-decoder reads the text a second time, shifted by one."""
        if self.architecture.attention != "cross":
            return []
        decoder = set(self.model.get_decoder().modules())
        return [table for table in self._tables if table in decoder]

    @cached_property
    def _cross_attention(self) -> set[nn.Module]:
        return {layer.layer[1].EncDecAttention for layer in self.model.get_decoder().block}

    @cached_property
    def _reads_types(self) -> bool:
        return (
            "token_type_ids" in self.tokenizer.model_input_names
            and getattr(self.model.config, "type_vocab_size", 0) > 1
        )

    def _diagnosis(self) -> str:
        for name, parameter in self.model.named_parameters():
            if not torch.isfinite(parameter).all():
                return f"Its weight '{name}' is not finite: the file is damaged or its training diverged."
        if self.dtype != torch.float32:
            return f"Try dtype float32 instead of {str(self.dtype).removeprefix('torch.')}."
        return "Its weights are finite, so the numbers overflow inside the model."
