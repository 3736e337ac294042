"""T5's encoder as a classifier: the mean of the real positions, dropout and one linear layer.

The encoder computes the same as transformers' ``T5EncoderModel`` (Raffel et al., JMLR 2020); its layers return hidden
states alone, so that :class:`explainlab.models.replay.Replay` can run some of them.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import T5Config, initialization
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_outputs import BaseModelOutput, SequenceClassifierOutput
from transformers.models.t5.modeling_t5 import T5Block, T5PreTrainedModel, T5Stack


class T5EncoderConfig(T5Config):
    """T5's configuration; ``classifier_dropout`` is that before the linear layer."""

    model_type = "explainlab_t5_encoder"

    def __init__(self, **fields: Any) -> None:
        super().__init__(**{**fields, "is_encoder_decoder": False, "is_decoder": False, "use_cache": False})


class _Block(T5Block):
    """A layer from hidden states [B, N, d] to hidden states."""

    def forward(self, hidden_states: Tensor, *rest: Any, **named: Any) -> Tensor:
        states: Tensor = super().forward(hidden_states, *rest, **named)[0]
        return states


class _Stack(T5Stack):
    """The layers. The bias of relative positions is the first layer's, for all."""

    def __init__(self, config: T5EncoderConfig) -> None:
        super().__init__(config)
        self.block = nn.ModuleList(_Block(config, number == 0, number) for number in range(config.num_layers))
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> BaseModelOutput:
        states = self.dropout(self.embed_tokens(input_ids))
        mask = create_bidirectional_mask(self.config, states, attention_mask)
        length = input_ids.shape[1]
        bias = cast(Any, self.block[0]).layer[0].SelfAttention.compute_bias(length, length)
        for block in self.block:
            states = block(states, attention_mask=mask, position_bias=bias)
        return BaseModelOutput(self.dropout(self.final_layer_norm(states)))


class T5EncoderForSequenceClassification(T5PreTrainedModel):
    """Class logits [B, classes] from the mean over the real positions, special tokens included, padding not."""

    config_class = T5EncoderConfig
    base_model_prefix = "encoder"

    def __init__(self, config: T5EncoderConfig) -> None:
        super().__init__(config)
        self.encoder = _Stack(config)
        self.dropout = nn.Dropout(config.classifier_dropout)
        self.classifier = nn.Linear(config.d_model, cast(int, config.num_labels))
        self.post_init()  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if module is self.classifier:
            initialization.normal_(self.classifier.weight, std=self.config.d_model**-0.5)
            initialization.zeros_(self.classifier.bias)
        else:
            super()._init_weights(module)  # type: ignore[no-untyped-call]

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> SequenceClassifierOutput:
        states = self.encoder(input_ids, attention_mask).last_hidden_state
        real = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        pooled = torch.einsum("bn,bnd->bd", real.to(states), states) / real.sum(dim=1, keepdim=True)
        return SequenceClassifierOutput(logits=self.classifier(self.dropout(pooled)))
