"""Networks of our own, which transformers' automatic classes build and load as if they were theirs."""

from __future__ import annotations

from functools import cache

OURS = "explainlab_"
"""How the names of our model types begin."""


@cache
def register_networks() -> None:
    """Make our model types known to transformers; importing their networks takes a second."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from explainlab.models.networks import bilstm_attention, t5_encoder

    networks = (
        (t5_encoder.T5EncoderConfig, t5_encoder.T5EncoderForSequenceClassification),
        (bilstm_attention.BiLSTMAttentionConfig, bilstm_attention.BiLSTMAttentionForSequenceClassification),
    )
    for config, network in networks:
        AutoConfig.register(config.model_type, config)
        AutoModelForSequenceClassification.register(config, network)
