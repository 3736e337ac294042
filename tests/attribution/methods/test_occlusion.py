"""Occlusion against a slow loop and against Captum."""

from __future__ import annotations

import numpy as np
import torch
from captum.attr import FeatureAblation

from explainlab import explain
from explainlab.attribution.subject import Subject
from explainlab.models.classifier import Classifier
from tests.attribution.conftest import on_models

TEXT = "A funny film. It isn't good!"


@on_models(unit=["token", "word", "sentence"], baseline=["mask", "zero"])
def test_equals_a_loop_over_the_features(model: Classifier, unit: str, baseline: str) -> None:
    found = explain(model, TEXT, "occlusion", unit=unit, baseline=baseline)
    subject = Subject(model, model.encode(TEXT), unit=unit)
    expected = np.zeros(len(found.scores))
    for feature in subject.units.content:
        gone = torch.as_tensor(subject.units.membership == feature)[:, None]
        point = torch.where(gone, subject.baseline(baseline), subject.embeddings)
        expected[feature] = subject.scalar(subject.original) - subject.values(point[None])[0]
    np.testing.assert_allclose(found.scores, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    assert found.cost.forward == len(subject.units.content) + 1


def test_agrees_with_captum(model: Classifier) -> None:
    subject = Subject(model, model.encode(TEXT))
    content = subject.units.content

    def forward(keep: torch.Tensor) -> torch.Tensor:
        point = torch.where(
            torch.as_tensor(subject.units.token_mask(keep.numpy() > 0.5))[..., None],
            subject.embeddings,
            subject.baseline("mask"),
        )
        return torch.as_tensor(subject.values(point))

    captum = FeatureAblation(forward).attribute(torch.ones(1, len(content)), perturbations_per_eval=4)[0].numpy()
    found = explain(model, TEXT, "occlusion").scores[content]
    np.testing.assert_allclose(found, captum, rtol=0, atol=1e-4 * np.abs(captum).max())
