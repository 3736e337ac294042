"""Versions of texts: with a share of their tokens masked, masked as in training, or in random order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from explainlab.analyses.masked_distribution.result import Baseline
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Unpadded
from explainlab.models.states import head_states
from explainlab.text.encoding import Encoding
from explainlab.training import TrainingSettings, noted_masks
from explainlab.training.passes import masked, padded

WHOLE = TrainingSettings(mask_share=0.0, heavy_mask=0.0)
HALF = TrainingSettings(mask_share=0.0, heavy_mask=0.0, masking=True)
PHASE = "masked texts"


@dataclass(frozen=True, eq=False)
class Version(Unpadded):
    """A text as the model reads it; the embeddings of the tokens ``replaced`` int64 [k] are those of ``baseline``."""

    replaced: np.ndarray | None = None
    baseline: Baseline | None = None


def training_masks(classifier: Classifier) -> TrainingSettings | None:
    """See :func:`explainlab.training.noted_masks`."""
    return noted_masks(getattr(classifier.model.network, "config", None), classifier.source == "embedded")


def as_in_training(
    classifier: Classifier, texts: Sequence[Encoding], settings: TrainingSettings, seed: int
) -> list[Version]:
    """Mask ``texts`` as a training with these ``settings`` masks them."""
    ids, _ = padded([text.ids.tolist() for text in texts], classifier.pad_id)
    content, _ = padded([text.content.astype(int).tolist() for text in texts], 0)
    generator = torch.Generator().manual_seed(seed)
    found = masked(ids, content.bool(), classifier.filler_id("mask"), settings, generator).numpy()
    return [Version(own[: len(text)], text.types) for own, text in zip(found, texts, strict=True)]


def orders(texts: Sequence[Encoding], seed: int) -> list[np.ndarray]:
    """Return for each text the places of its content tokens in random order: the first are masked first."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(np.flatnonzero(text.content)) for text in texts]


def masked_version(
    classifier: Classifier, text: Encoding, order: np.ndarray, ratio: int, baseline: Baseline
) -> Version:
    """Mask ``ratio`` per cent of the content tokens of ``text``, the first of ``order``, by ``baseline``."""
    hidden = order[: round(ratio / 100 * len(order))]
    if baseline == "delete":
        ids, types = np.delete(text.ids, hidden), np.delete(text.types, hidden)
        nothing = np.array([classifier.filler_id("mask")])  # as metrics read a text of which nothing is left
        return Version(ids, types) if len(ids) else Version(nothing, np.zeros_like(nothing))
    ids = text.ids.copy()
    ids[hidden] = classifier.filler_id("unk" if baseline == "unk" else "mask")
    return Version(ids, text.types, hidden, baseline) if baseline in ("pad", "zero") else Version(ids, text.types)


def shuffled_version(text: Encoding, order: np.ndarray) -> Version:
    """Return ``text`` with its content tokens in this ``order``."""
    ids = text.ids.copy()
    ids[text.content] = text.ids[order]
    return Version(ids, text.types)


def features(batcher: Batcher, versions: Sequence[Version]) -> Tensor:
    """Return the layer outputs of every version (:func:`head_states`), float32 [n, layers, d]."""
    classifier = batcher.classifier
    ends = [classifier.end_count(np.asarray(version.ids)) for version in versions]
    order = sorted(range(len(versions)), key=lambda i: (ends[i], -len(versions[i])))
    found: list[Tensor] = []
    for _, group in groupby(order, key=lambda i: ends[i]):
        own = [versions[i] for i in group]

        def run(part: slice, own: list[Version] = own) -> Tensor:
            inputs = classifier.inputs(own[part])
            replaced = any(version.replaced is not None for version in own[part])
            return head_states(classifier, inputs, _embeddings(classifier, own[part], inputs.ids) if replaced else None)

        lengths = np.array([len(version) for version in own])
        done = sum(map(len, found))
        found += batcher.over(lengths, run, gradients=False, phase=PHASE, done=done, total=len(versions))
    return torch.cat(found)[np.argsort(order)]


def _embeddings(classifier: Classifier, versions: Sequence[Version], ids: Tensor) -> Tensor:
    """Return the word embeddings [B, N, d] of ``ids`` [B, N], with others at the versions' replaced tokens."""
    embeddings = classifier.embed(ids).clone()
    others: dict[Baseline | None, Tensor] = {"zero": torch.zeros_like(embeddings[0, 0])}
    if any(version.baseline == "pad" for version in versions):
        others["pad"] = classifier.embed(torch.tensor(classifier.filler_id("pad"), device=classifier.device))
    for row, version in enumerate(versions):
        if version.replaced is not None:
            embeddings[row, version.replaced] = others[version.baseline]
    return embeddings
