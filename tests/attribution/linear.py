"""A transformer of attention alone: its scores are linear in the last layer's attention, so that maps are known."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedTokenizerFast
from transformers.modeling_outputs import BaseModelOutput, SequenceClassifierOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from explainlab.models.classifier import Classifier
from explainlab.models.model import Architecture
from explainlab.models.transformer import TransformerModel
from tests.zoo import MAX_TOKENS

WIDTH, HEADS, DEPTH = 8, 2, 2


class Block(nn.Module):
    """Attention and nothing else, so that scores are linear in the last layer's probabilities."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__()
        self.config = config
        self.is_causal = False
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def heads(self, part: nn.Module, states: Tensor) -> Tensor:
        return part(states).unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def forward(self, hidden_states: Tensor) -> Tensor:
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, None)
        read, _ = attend(self, *(self.heads(part, hidden_states) for part in (self.query, self.key, self.value)), None)
        return hidden_states + self.out(read.flatten(2))


class Body(nn.Module):
    """Word embeddings and blocks."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(tokens, WIDTH)
        config = PreTrainedConfig(attn_implementation="sdpa")
        self.blocks = nn.ModuleList([Block(config) for _ in range(DEPTH)])

    def forward(self, input_ids: Tensor) -> BaseModelOutput:
        states = self.embeddings(input_ids)
        for block in self.blocks:
            states = block(states)
        return BaseModelOutput(last_hidden_state=states)


class Linear(nn.Module):
    """A body, and a linear head on its first row."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.config = PreTrainedConfig(
            hidden_size=WIDTH, num_attention_heads=HEADS, num_hidden_layers=DEPTH, attn_implementation="sdpa"
        )
        self.base_model = Body(tokens)
        self.head = nn.Linear(WIDTH, 2)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.base_model.embeddings

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> SequenceClassifierOutput:
        return SequenceClassifierOutput(logits=self.head(self.base_model(input_ids).last_hidden_state[:, 0]))


def attention_only(tokenizer: PreTrainedTokenizerFast) -> Classifier:
    """Two layers of random weights under a linear head on the first row; no special tokens."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = Linear(len(tokenizer)).eval().requires_grad_(False)
    return Classifier(
        id="linear",
        source="directory",
        digest="0" * 64,
        model=TransformerModel(network, Architecture("Toy"), torch.device("cpu")),
        tokenizer=tokenizer,
        labels=("first", "second"),
        max_tokens=MAX_TOKENS,
        pad_id=0,
    )


def slope(classifier: Classifier, ids: Tensor, target: int) -> Tensor:
    """[heads, N, N]: the gradient of a logit with respect to the last layer's attention, for ``ids`` [1, N]."""
    network = classifier.model.network
    below = network.base_model.blocks[0](network.base_model.embeddings(ids))
    last = network.base_model.blocks[1]
    into = (network.head.weight[target] @ last.out.weight).unflatten(0, (HEADS, -1))
    found = torch.zeros(HEADS, ids.shape[1], ids.shape[1])
    found[:, 0] = torch.einsum("hd,hnd->hn", into, last.heads(last.value, below)[0])
    return found
