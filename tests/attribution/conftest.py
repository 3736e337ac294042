"""The models that attributions are checked on: tiny and real ones, as we run them and as transformers does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from tests.attribution.plain import Plain
from tests.conftest import Zoo
from tests.toys import toy
from tests.zoo import ZOO

Toys = Callable[[Callable[[], nn.Module]], Classifier]


@pytest.fixture(scope="session", params=["bert", "gpt2", "minilm-sst2", "gpt2-mini-ag-news"])
def model(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    """An encoder and a decoder, random and trained; the trained ones are skipped where they are missing."""
    if request.param in ZOO:
        return zoo(request.param)
    return load_model(str(request.getfixturevalue("shared_models") / request.param), device="cpu")


@pytest.fixture(scope="session")
def plain(model: Classifier) -> Plain:
    """The same model without any of our code."""
    return Plain(model.id, model.tokenizer)


@pytest.fixture
def toys(zoo: Zoo) -> Toys:
    """A classifier with a head of known formula and random weights, by what makes the head; no special tokens."""

    def build(head: Callable[[], nn.Module]) -> Classifier:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return toy(head(), zoo("gpt2").tokenizer)

    return build
