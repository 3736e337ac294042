"""Bare model passes by transformers alone: the floor of what a measurement can take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from explainlab.models.anatomy import SCORE
from explainlab.models.classifier import Classifier


def bare_logits(classifier: Classifier, batch: Mapping[str, Tensor | None], last: Any = None) -> Tensor:
    """Return logits [B, classes]; ``last`` indexes the positions of a decoder's head (None: the last of each row)."""
    network: Any = classifier.model.network
    logits: Tensor
    if classifier.architecture.causal:
        states = network.base_model(**batch, use_cache=False).last_hidden_state
        logits = getattr(network, SCORE)(states[:, -1] if last is None else states[last])
    else:
        logits = network(**batch).logits
    return logits
