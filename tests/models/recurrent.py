"""A BiLSTM with attention computed by a plain loop over the words, for one text without padding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from explainlab.models.networks.bilstm_attention import BiLSTMAttentionForSequenceClassification


class ByHand(nn.Module):
    """Logits and attention with the weights of ``ours``, from the equations of an LSTM and of additive attention."""

    def __init__(self, ours: BiLSTMAttentionForSequenceClassification) -> None:
        super().__init__()
        self.config = ours.config
        self.weights = dict(ours.state_dict())

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """The first and the last position of ``inputs_embeds`` [1, N, d] are no words."""
        if inputs_embeds is None:
            assert input_ids is not None
            inputs_embeds = self.weights["encoder.words.weight"][input_ids]
            marked = [int(i) in (self.config.bos_token_id, self.config.eos_token_id) for i in input_ids[0]]
        else:
            marked = [i in (0, inputs_embeds.shape[1] - 1) for i in range(inputs_embeds.shape[1])]
        words, weights = inputs_embeds[0], self.weights
        types = token_type_ids[0] if self.config.second_text and token_type_ids is not None else None
        first = words if types is None else words[types == 0]
        states = torch.stack(self._both(first, "encoder.readers.0"))
        inner = states @ weights["encoder.attention.states.weight"].T + weights["encoder.attention.states.bias"]
        last = torch.zeros(states.shape[1]).to(states)
        if types is not None and types.any():
            behind = self._both(words[types == 1], "encoder.readers.1")
            half = states.shape[1] // 2
            last = torch.cat([behind[-1][:half], behind[0][half:]])
        if self.config.second_text:
            inner = inner + weights["encoder.attention.second.weight"] @ last
        scores = torch.tanh(inner) @ weights["encoder.attention.score.weight"][0]
        scores[torch.tensor(marked[: len(first)])] = float("-inf")
        alphas = torch.softmax(scores, dim=0)
        context = sum(alpha * state for alpha, state in zip(alphas, states, strict=True))
        if self.config.second_text and self.config.decoder == "reference":
            context = torch.tanh(
                weights["context.weight"] @ context + weights["context.bias"] + weights["second.weight"] @ last
            )
        logits = weights["classifier.weight"] @ context + weights["classifier.bias"]
        whole = torch.cat([alphas, torch.zeros(len(words) - len(alphas)).to(alphas)])
        return SequenceClassifierOutput(logits=logits[None], attentions=(whole.expand(1, 1, len(words), -1),))

    def _both(self, words: Tensor, reader: str) -> list[Tensor]:
        """The states [2h] at every word, forward beside backward."""
        forward = self._states(words, f"{reader}.", "_l0")
        backward = self._states(words.flip(0), f"{reader}.", "_l0_reverse")[::-1]
        return [torch.cat(pair) for pair in zip(forward, backward, strict=True)]

    def _states(self, words: Tensor, before: str, behind: str) -> list[Tensor]:
        w_x, w_h = (self.weights[f"{before}weight_{kind}{behind}"] for kind in ("ih", "hh"))
        bias = sum(self.weights[f"{before}bias_{kind}{behind}"] for kind in ("ih", "hh"))
        state = cell = torch.zeros(w_h.shape[1]).to(words)
        states = []
        for word in words:
            write, keep, new, read = (w_x @ word + w_h @ state + bias).chunk(4)
            cell = torch.sigmoid(keep) * cell + torch.sigmoid(write) * torch.tanh(new)
            state = torch.sigmoid(read) * torch.tanh(cell)
            states.append(state)
        return states
