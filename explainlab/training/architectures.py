"""Models with random weights: how the tokenizer of each architecture is learned and its network built.

transformers' model code takes seconds to import: only what builds a network does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explainlab.training.settings import SHAPES, TrainingSettings
from explainlab.training.tokenizers import train_byte_bpe, train_untyped_wordpiece, train_wordpiece

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class NewModel:
    """How a model of an architecture begins.

    ``causal``: the head reads every position, and the last position predicts; ``defaults``:
    settings that differ from those of :class:`TrainingSettings`; ``version`` rises where equal settings come to begin
    with other weights.
    """

    build_tokenizer: Callable[[Sequence[str], int, int], PreTrainedTokenizerFast]
    build_network: Callable[[TrainingSettings, PreTrainedTokenizerFast, dict[str, Any]], PreTrainedModel]
    causal: bool
    defaults: dict[str, Any]
    version: int = 1


def _bert(settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]) -> PreTrainedModel:
    """A BERT with random weights; ``classes`` holds ``id2label`` and ``label2id``."""
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.width,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=4 * settings.width,
            max_position_embeddings=settings.max_tokens,
            hidden_dropout_prob=settings.dropout,
            attention_probs_dropout_prob=0.0,
            classifier_dropout=settings.dropout,
            pad_token_id=tokenizer.pad_token_id,
            **classes,
        )
    )


def _gpt2(settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]) -> PreTrainedModel:
    """A GPT-2 with random weights; ``classes`` holds ``id2label`` and ``label2id``."""
    from transformers import GPT2Config, GPT2ForSequenceClassification

    return GPT2ForSequenceClassification(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=settings.width,
            n_layer=settings.layers,
            n_head=settings.heads,
            n_positions=settings.max_tokens,
            resid_pdrop=settings.dropout,
            embd_pdrop=settings.dropout,
            attn_pdrop=0.0,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            **classes,
        )
    )


def _t5_encoder(
    settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]
) -> PreTrainedModel:
    """T5's encoder with random weights, its heads 64 wide as T5's are; ``classes`` as for the others."""
    from explainlab.models.networks.t5_encoder import T5EncoderConfig, T5EncoderForSequenceClassification

    return T5EncoderForSequenceClassification(
        T5EncoderConfig(
            vocab_size=len(tokenizer),
            d_model=settings.width,
            d_ff=4 * settings.width,
            num_layers=settings.layers,
            num_heads=settings.heads,
            dropout_rate=settings.dropout,
            initializer_factor=0.05,  # T5's own, of std 1, is for a step relative to the weights: AdamW hardly moves it
            classifier_dropout=settings.dropout,
            pad_token_id=tokenizer.pad_token_id,
            **classes,
        )
    )


ARCHITECTURES = {
    "bert": NewModel(train_wordpiece, _bert, causal=False, defaults={}),
    "gpt2": NewModel(
        train_byte_bpe,
        _gpt2,
        causal=True,
        defaults={"epochs": 3, "batch_size": 32, "learning_rate": 8e-4, "width": 192, "heads": 6, "max_tokens": 256},
    ),
    "t5_encoder": NewModel(train_untyped_wordpiece, _t5_encoder, causal=False, defaults=SHAPES["tiny"], version=2),
}
"""The architectures that training can begin without weights."""
