"""Every tiny model, every embedded one and a language model with a prompt keep the contract of a classifier."""

from __future__ import annotations

import pytest

from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from explainlab.models.stored.places import embedded_models
from explainlab.testing import check_model
from tests.conftest import Zoo


def test_every_architecture(every_classifier: Classifier) -> None:
    check_model(every_classifier)


@pytest.mark.parametrize("name", embedded_models())
def test_every_embedded_model(name: str) -> None:
    check_model(load_model(name, device="cpu"))


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_language_model_with_a_prompt(speaker: Zoo, name: str) -> None:
    check_model(speaker(name))
