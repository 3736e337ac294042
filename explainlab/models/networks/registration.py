"""Networks of our own, which transformers' automatic classes build and load as if they were theirs."""

from __future__ import annotations

from functools import cache

OURS = "explainlab_"
"""How the names of our model types begin."""


@cache
def register_networks() -> None:
    """Make our model types known to transformers; importing their networks takes a second."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from explainlab.models.networks.t5_encoder import T5EncoderConfig, T5EncoderForSequenceClassification

    AutoConfig.register(T5EncoderConfig.model_type, T5EncoderConfig)
    AutoModelForSequenceClassification.register(T5EncoderConfig, T5EncoderForSequenceClassification)
