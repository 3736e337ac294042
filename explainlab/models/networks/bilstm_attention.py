"""A bidirectional LSTM whose states are averaged by additive attention (Jain & Wallace 2019; paper 003).

A single text: u_i = tanh(W h_i + b), α = softmax(u v) over its words, and one linear layer reads Σ α_i h_i. Of a pair,
u_i = tanh(W h_i + W_y h_y + b), where h_y are the last states of the second text, which an LSTM of its own reads.
Marks of the beginning and the end are read, but not attended to.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import PreTrainedConfig, PreTrainedModel, initialization
from transformers.modeling_outputs import SequenceClassifierOutput


class BiLSTMAttentionConfig(PreTrainedConfig):
    """A configuration: ``embedding_size``: d; ``hidden_size``: of both directions together; ``attention_size``: of u.

    ``second_text``: there is an LSTM for it; token types tell the texts of a pair apart. ``decoder`` of a pair:
    ``plain``, a linear layer of the context (as paper 003 has it), or ``reference``, as its code has it: of
    tanh(W_p c + W_h h_y).
    """

    model_type = "explainlab_bilstm_attention"

    def __init__(
        self,
        vocab_size: int = 1000,
        embedding_size: int = 300,
        hidden_size: int = 256,
        attention_size: int = 128,
        decoder: str = "plain",
        second_text: bool = False,
        mask_token_id: int | None = None,
        **fields: Any,
    ) -> None:
        self.vocab_size, self.embedding_size = vocab_size, embedding_size
        self.hidden_size, self.attention_size = hidden_size, attention_size
        self.decoder, self.second_text = decoder, second_text
        self.mask_token_id = mask_token_id
        self.num_hidden_layers, self.num_attention_heads = 1, 1
        self.type_vocab_size = 1 + second_text
        super().__init__(**fields)


class Read(NamedTuple):
    """The outputs of the LSTM and its attention for B texts of at most N tokens.

    ``context`` [B, 2h]; ``attention`` [B, N] adds up to 1 over each text's words, and is 0 elsewhere; ``second`` [B,
    2h]: the last states of the second texts, None where there are none.
    """

    context: Tensor
    attention: Tensor
    second: Tensor | None = None


class Additive(nn.Module):
    """Attention scores u v with u = tanh(W h + b), or tanh(W h + W_y h_y + b)."""

    def __init__(self, config: BiLSTMAttentionConfig) -> None:
        super().__init__()
        self.states = nn.Linear(config.hidden_size, config.attention_size)
        self.score = nn.Linear(config.attention_size, 1, bias=False)
        if config.second_text:
            self.second = nn.Linear(config.hidden_size, config.attention_size, bias=False)

    def forward(self, states: Tensor, second: Tensor | None) -> Tensor:
        """Return scores [B, N] from ``states`` [B, N, 2h] and ``second`` [B, 2h]."""
        inner = self.states(states)
        if second is not None:
            inner = inner + self.second(second)[:, None]
        scores: Tensor = self.score(torch.tanh(inner))
        return scores.squeeze(-1)


class BiLSTMAttention(nn.Module):
    """Word embeddings, an LSTM for each text, and the attention over the states of the first."""

    def __init__(self, config: BiLSTMAttentionConfig) -> None:
        super().__init__()
        self.config = config
        self.words = nn.Embedding(config.vocab_size, config.embedding_size)
        self.readers = nn.ModuleList(
            nn.LSTM(config.embedding_size, config.hidden_size // 2, batch_first=True, bidirectional=True)
            for _ in range(config.type_vocab_size)
        )
        self.attention = Additive(config)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Read:
        words = self.words(input_ids)
        real = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        real = real.bool().to(words.device)
        first, second = real, None
        if self.config.second_text:
            types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
            first = real & (types == 0)
            second = self._read_second(words, first.sum(dim=1), (real & (types == 1)).sum(dim=1))
        states, _ = _run(cast(nn.LSTM, self.readers[0]), words, first.sum(dim=1))
        scores = self.attention(states, second)
        alphas = scores.masked_fill(~self._attended(input_ids, first), float("-inf")).softmax(dim=-1)
        return Read(torch.einsum("bn,bnh->bh", alphas, states), alphas, second)

    def _read_second(self, words: Tensor, begins: Tensor, lengths: Tensor) -> Tensor:
        """Return [B, 2h]: the last state of each direction over the second text; 0 without one."""
        most = max(1, int(lengths.max()))
        places = (begins[:, None] + torch.arange(most, device=words.device)).clamp(max=words.shape[1] - 1)
        rows = torch.arange(len(words), device=words.device)[:, None]
        _, last = _run(cast(nn.LSTM, self.readers[1]), words[rows, places], lengths.clamp(min=1))
        return last * (lengths > 0)[:, None]

    def _attended(self, ids: Tensor, first: Tensor) -> Tensor:
        """Return bool [B, N]: the words of the first text; the whole first text if it has none."""
        marks = [mark for mark in (self.config.bos_token_id, self.config.eos_token_id) if mark is not None]
        content = first & ~torch.isin(ids, torch.tensor(marks, device=ids.device))
        return torch.where(content.any(dim=1, keepdim=True), content, first)


def _run(reader: nn.LSTM, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the states [B, N, 2h] of the first ``lengths`` [B] of ``words`` [B, N, d], 0 behind; and the last ones [B,
    2h].
    """
    packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
    states, (last, _) = reader(packed)
    padded, _ = pad_packed_sequence(states, batch_first=True, total_length=words.shape[1])
    return padded, last.transpose(0, 1).flatten(1)


class BiLSTMAttentionForSequenceClassification(PreTrainedModel):
    """Class logits [B, classes] from the context."""

    config_class = BiLSTMAttentionConfig
    base_model_prefix = "encoder"

    def __init__(self, config: BiLSTMAttentionConfig) -> None:
        super().__init__(config)
        self.encoder = BiLSTMAttention(config)
        if self._joins:
            self.context = nn.Linear(config.hidden_size, config.attention_size)
            self.second = nn.Linear(config.hidden_size, config.attention_size, bias=False)
        size = config.attention_size if self._joins else config.hidden_size
        self.classifier = nn.Linear(size, cast(int, config.num_labels))
        self.post_init()  # type: ignore[no-untyped-call]

    @property
    def _joins(self) -> bool:
        """True if the second text reaches the classifier itself."""
        return bool(self.config.decoder == "reference" and self.config.second_text)

    def get_input_embeddings(self) -> nn.Module:
        return self.encoder.words

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.encoder.words = cast(nn.Embedding, value)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Draw word embeddings from N(0, 1), 0 for the mask; draw all else as torch does."""
        if isinstance(module, nn.Embedding):
            initialization.normal_(module.weight)
            if self.config.mask_token_id is not None and not getattr(module.weight, "_is_hf_initialized", False):
                module.weight[self.config.mask_token_id] = 0
        elif isinstance(module, nn.LSTM):
            for weights in module.parameters():
                initialization.uniform_(weights, -(module.hidden_size**-0.5), module.hidden_size**-0.5)
        elif isinstance(module, nn.Linear):
            for weights in module.parameters():
                initialization.uniform_(weights, -(module.in_features**-0.5), module.in_features**-0.5)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> SequenceClassifierOutput:
        read = self.encoder(input_ids, attention_mask, token_type_ids)
        context = read.context
        if self._joins:
            context = torch.tanh(self.context(context) + self.second(read.second))
        return SequenceClassifierOutput(logits=self.classifier(context), attentions=(read.attention,))
