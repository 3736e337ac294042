"""Captum's versions of our methods, set up as in its documentation and timed on the same task.

The task is that of `explain`: from a text to the predicted class, its scores and, for Integrated Gradients, the
convergence delta. A rival therefore also tokenises, predicts the class that is its target, and returns Captum's delta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from captum.attr import FeatureAblation, IntegratedGradients, KernelShap, Lime
from torch import Tensor

from benchmarks.bare import bare_logits
from explainlab.attribution.records import Attribution
from explainlab.models.classifier import Classifier


@dataclass(frozen=True)
class Rival:
    """A method in another library: ``run`` returns its scores float64 [N]; ``same``: they should equal ours."""

    name: str
    run: Callable[[], np.ndarray]
    same: bool

    def difference(self, result: Attribution) -> float | None:
        """Return the largest difference between content scores, relative to our largest; None unless ``same``."""
        if not self.same:
            return None
        content = result.content
        ours, theirs = result.scores[content], self.run()[content]
        return float(np.abs(ours - theirs).max() / np.abs(ours).max())


def setting(classifier: Classifier, text: str) -> tuple[Tensor, Tensor, Tensor, int]:
    """Return ids [1, N], masked ids [1, N], features [1, N] and the predicted class.

    Special tokens share a feature.
    """
    encoding = classifier.encode(text)
    ids = classifier.inputs([encoding]).ids
    content = torch.as_tensor(encoding.content, device=ids.device)[None]
    masked = torch.where(content, classifier.filler_id("mask"), ids)
    features = torch.where(content, content.cumsum(1) - 1, content.sum())
    return ids, masked, features, classifier.predict(encoding).index


def probability_of(classifier: Classifier) -> Callable[..., Tensor]:
    """Return a function from ids or word embeddings of unpadded texts to probabilities, by transformers alone."""

    def forward(points: Tensor) -> Tensor:
        name = "inputs_embeds" if points.is_floating_point() else "input_ids"
        return bare_logits(classifier, {name: points}).softmax(-1)

    return forward


def integrated_gradients(classifier: Classifier, text: str, size: int) -> Rival:
    """Return Captum's method: 50 Gauss-Legendre steps from the mask baseline, in batches of ``size`` points."""
    explainer = IntegratedGradients(probability_of(classifier))

    def run() -> np.ndarray:
        ids, masked, _, target = setting(classifier, text)
        points, baseline = classifier.embed(ids), classifier.embed(masked)
        options = {"n_steps": 50, "internal_batch_size": size, "return_convergence_delta": True}
        scores, delta = explainer.attribute(points, baseline, target=target, **options)
        delta.item()
        return _array(scores[0].sum(-1))

    return Rival("captum IntegratedGradients", run, same=True)


def _array(scores: Tensor) -> np.ndarray:
    return np.asarray(scores.detach().cpu(), dtype=np.float64)


def _perturbation(kind: type, name: str, samples: Callable[[int], dict[str, int]], same: bool) -> Callable[..., Rival]:
    def make(classifier: Classifier, text: str, size: int) -> Rival:
        explainer = kind(probability_of(classifier))

        def run() -> np.ndarray:
            ids, masked, features, target = setting(classifier, text)
            options = {"target": target, "baselines": masked, "feature_mask": features, "perturbations_per_eval": size}
            options |= samples(int(features.max()))
            with torch.no_grad():
                return _array(explainer.attribute(ids, **options)[0])

        return Rival(name, run, same)

    return make


RIVALS: dict[str, Callable[[Classifier, str, int], Rival]] = {
    "integrated_gradients": integrated_gradients,
    "occlusion": _perturbation(FeatureAblation, "captum FeatureAblation", lambda n: {}, same=True),
    "lime": _perturbation(Lime, "captum Lime", lambda n: {"n_samples": 200}, same=False),
    "kernel_shap": _perturbation(KernelShap, "captum KernelShap", lambda n: {"n_samples": 2 * n + 2}, same=False),
}
