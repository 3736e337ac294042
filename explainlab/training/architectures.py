"""Models with random weights: the tokenizer and the network of each architecture.

transformers' model code takes seconds to import: only what builds a network does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from explainlab.models.stored.directory import OF_PAIRS
from explainlab.training.settings import OF_WORDS, SHAPES, TrainingSettings
from explainlab.training.tokenizers import train_byte_bpe, train_untyped_wordpiece, train_wordpiece, train_words
from explainlab.training.vectors import read_vectors

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_Tokenizing: TypeAlias = "Callable[[Sequence[str], TrainingSettings], PreTrainedTokenizerFast]"


@dataclass(frozen=True)
class NewModel:
    """The start of a model of an architecture.

    ``causal``: the head reads every position, and the last position predicts; ``defaults``: its own values of
    :class:`TrainingSettings`; ``unused``: settings of other architectures; ``recipe``: the usual one; ``version`` rises
    when equal settings give other initial weights.
    """

    build_tokenizer: _Tokenizing
    build_network: Callable[[TrainingSettings, PreTrainedTokenizerFast, dict[str, Any]], PreTrainedModel]
    causal: bool
    defaults: dict[str, Any]
    unused: tuple[str, ...] = OF_WORDS
    recipe: str = "embedded"
    version: int = 1


def _bert(settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]) -> PreTrainedModel:
    """Return a BERT with random weights; ``classes`` holds ``id2label`` and ``label2id``."""
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
    """Return a GPT-2 with random weights; ``classes`` holds ``id2label`` and ``label2id``."""
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
    """Return T5's encoder with random weights, its heads 64 wide as T5's are; ``classes`` as for the others."""
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


def _bilstm_attention(
    settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]
) -> PreTrainedModel:
    """Return a BiLSTM with attention, for pairs if ``classes`` says so. Words with a vector in the settings' file start
    with it.

    The configuration has their number as ``words_with_vectors``.
    """
    from explainlab.models.networks.bilstm_attention import (
        BiLSTMAttentionConfig,
        BiLSTMAttentionForSequenceClassification,
    )

    ids = tokenizer.get_vocab()
    words = ids.keys() - set(tokenizer.all_special_tokens)
    vectors = read_vectors(settings.embeddings, words) if settings.embeddings else {}
    network = BiLSTMAttentionForSequenceClassification(
        BiLSTMAttentionConfig(
            vocab_size=len(tokenizer),
            embedding_size=len(next(iter(vectors.values()))) if vectors else settings.embedding_size,
            hidden_size=settings.width,
            attention_size=settings.width // 2,
            second_text=bool(classes.get(OF_PAIRS)),
            decoder=settings.decoder,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            mask_token_id=tokenizer.mask_token_id,
            **classes,
        )
    )
    if vectors:
        network.config.words_with_vectors = len(vectors)
    with torch.no_grad():
        for word, vector in vectors.items():
            network.encoder.words.weight[ids[word]] = torch.from_numpy(vector)
    return network


def _sized(train: Callable[[Sequence[str], int, int], PreTrainedTokenizerFast]) -> _Tokenizing:
    """Return a trainer for a tokenizer of the settings' size."""
    return lambda texts, settings: train(texts, settings.vocabulary, settings.max_tokens)


ARCHITECTURES = {
    "bert": NewModel(_sized(train_wordpiece), _bert, causal=False, defaults={}),
    "gpt2": NewModel(
        _sized(train_byte_bpe),
        _gpt2,
        causal=True,
        defaults={"epochs": 3, "batch_size": 32, "learning_rate": 8e-4, "width": 192, "heads": 6, "max_tokens": 256},
    ),
    "t5_encoder": NewModel(
        _sized(train_untyped_wordpiece), _t5_encoder, causal=False, defaults=SHAPES["tiny"], version=2
    ),
    "bilstm_attention": NewModel(
        lambda texts, settings: train_words(texts, settings.vocabulary, settings.max_tokens, settings.min_count),
        _bilstm_attention,
        causal=False,
        defaults={"vocabulary": 50_000, "max_tokens": 512},
        unused=("size", "layers", "heads", "dropout", "prompt"),
        recipe="bilstm",
    ),
}
"""The architectures of models with random weights."""
