"""The models that attributions are checked on: tiny and real ones, as we run them and as transformers does."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from itertools import product
from operator import ne
from typing import Any

import pytest
import torch
from torch import nn

from explainlab.models.classifier import Classifier
from tests.attribution.plain import Plain
from tests.conftest import Zoo, loaded
from tests.tiers import full
from tests.toys import toy
from tests.zoo import ZOO

Toys = Callable[[Callable[[], nn.Module]], Classifier]


TINY, TRAINED = ("bert", "gpt2"), ("minilm-sst2", "gpt2-mini-ag-news")
LARGE = "a model of 22 million parameters takes seconds"

_plain = cache(lambda model: Plain(model.id, model.tokenizer))


def on_models(**choices: Collection[Any]) -> pytest.MarkDecorator:
    """Every combination of ``choices`` on the tiny models; on the trained ones only the first of each.

    The first tier has the first of each, and every other choice beside the first ones of the rest.
    """
    every = list(product(*choices.values()))
    cases = [
        (model, *case) if sum(map(ne, case, every[0])) < 2 else full(model, *case, reason="two choices at once")
        for model in TINY
        for case in every
    ]
    cases += [full(TRAINED[0], *every[0], reason=LARGE), (TRAINED[1], *every[0])]
    return pytest.mark.parametrize(("model", *choices), cases, indirect=["model"])


@pytest.fixture(scope="session", params=[*TINY, full(TRAINED[0], reason=LARGE), TRAINED[1]])
def model(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    """An encoder and a decoder, random and trained; the trained ones are skipped where they are missing."""
    if request.param in ZOO:
        return zoo(request.param)
    return loaded(str(request.getfixturevalue("shared_models") / request.param))


@pytest.fixture(scope="session")
def plain(model: Classifier) -> Plain:
    """The same model without any of our code."""
    return _plain(model)


@pytest.fixture
def toys(zoo: Zoo) -> Toys:
    """A classifier with a head of known formula and random weights, by what makes the head; no special tokens."""

    def build(head: Callable[[], nn.Module]) -> Classifier:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return toy(head(), zoo("gpt2").tokenizer)

    return build
