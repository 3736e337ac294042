"""The supported model types of transformers, and ours, with a row each; no other code names a model type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import transformers

from explainlab.declared import installed, skip
from explainlab.errors import ModelError
from explainlab.models import anatomy
from explainlab.models.anatomy import Anatomy
from explainlab.models.model import Architecture
from explainlab.models.transformer import (
    DecoderModel,
    EncoderDecoderModel,
    OutputAttentionModel,
    RecurrentModel,
    StackModel,
    TransformerModel,
)


@dataclass(frozen=True)
class ModelType:
    """A model type: its facts, the adapter from its networks to models, and how it counts positions.

    ``positions_after_padding``: positions begin after the padding id, which uses as many rows of the position table.
    """

    architecture: Architecture
    adapter: type[TransformerModel] = TransformerModel
    positions_after_padding: bool = False


def _roberta(family: str) -> ModelType:
    return ModelType(Architecture(family, anatomy=anatomy.ROBERTA), positions_after_padding=True)


def _decoder(family: str, parts: Anatomy = anatomy.LLAMA) -> ModelType:
    return ModelType(Architecture(family, pooling="last", causal=True, anatomy=parts), DecoderModel)


MODEL_TYPES: dict[str, ModelType] = {
    "bert": ModelType(Architecture("BERT", anatomy=anatomy.BERT)),
    "roberta": _roberta("RoBERTa"),
    "xlm-roberta": _roberta("XLM-RoBERTa"),
    "camembert": _roberta("CamemBERT"),
    "distilbert": ModelType(Architecture("DistilBERT", anatomy=anatomy.DISTILBERT)),
    "electra": ModelType(Architecture("ELECTRA", anatomy=anatomy.ELECTRA)),
    "albert": ModelType(Architecture("ALBERT", anatomy=anatomy.ALBERT)),
    "gpt2": _decoder("GPT-2", anatomy.GPT2),
    "llama": _decoder("Llama"),
    "mistral": _decoder("Mistral"),
    "qwen2": _decoder("Qwen2"),
    "qwen3": _decoder("Qwen3"),
    "deberta-v2": ModelType(
        Architecture("DeBERTa-v2", attention="read", anatomy=anatomy.DEBERTA), OutputAttentionModel
    ),
    "modernbert": ModelType(Architecture("ModernBERT", anatomy=anatomy.MODERNBERT)),
    "t5": ModelType(Architecture("T5", pooling="eos", attention="cross", anatomy=anatomy.T5), EncoderDecoderModel),
    "explainlab_t5_encoder": ModelType(
        Architecture("T5 encoder", pooling="mean", anatomy=anatomy.T5_ENCODER), StackModel
    ),
    "explainlab_bilstm_attention": ModelType(
        Architecture("BiLSTM-attention", attention="pooled", relevance=False, anatomy=anatomy.BILSTM_ATTENTION),
        RecurrentModel,
    ),
}


@cache
def model_types() -> dict[str, ModelType]:
    """Return the row of every model type: ours, then those of packages that are installed beside this one.

    Other objects, and rows for types that have one, are left out with a warning: see
    :func:`explainlab.declared.installed`.
    """
    rows = dict(MODEL_TYPES)
    for name, row in installed("models").items():
        if isinstance(row, ModelType) and name not in rows:
            rows[name] = row
        else:
            skip("models", name, "there is one with its name" if name in rows else "it is no ModelType")
    return rows


def model_type_of(config: transformers.PreTrainedConfig, is_generative: bool = False) -> ModelType:
    """Return the row for a configuration, with its pooling and quantisation; ``is_generative``: it classifies by a
    prompt.

    Raises :class:`ModelError` for a model type that has no row.
    """
    rows = model_types()
    row = rows.get(config.model_type)
    if row is None:
        raise ModelError(
            f"Models of type '{config.model_type}' are not supported.",
            f"Supported types: {', '.join(sorted(rows))}.",
        )
    architecture = replace(row.architecture, is_generative=is_generative)
    if getattr(config, "classifier_pooling", "cls") == "mean":
        architecture = replace(architecture, pooling="mean")
    if quantised := getattr(config, "quantization_config", None):
        assert architecture.anatomy is not None
        parts = replace(architecture.anatomy, parts="its weights are quantised")
        architecture = replace(architecture, anatomy=parts, rounds=bool(quantised.get("load_in_8bit")))
    return replace(row, architecture=architecture)


OURS = "explainlab_"
"""Prefix of the names of our model types."""


@cache
def register_networks() -> None:
    """Make our model types known to transformers. The imports are in the function because they take a second."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from explainlab.models.networks import bilstm_attention, t5_encoder

    networks = (
        (t5_encoder.T5EncoderConfig, t5_encoder.T5EncoderForSequenceClassification),
        (bilstm_attention.BiLSTMAttentionConfig, bilstm_attention.BiLSTMAttentionForSequenceClassification),
    )
    for config, network in networks:
        AutoConfig.register(config.model_type, config)
        AutoModelForSequenceClassification.register(config, network)
