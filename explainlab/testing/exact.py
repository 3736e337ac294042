"""Comparison of two computations of the same quantity, in float64."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from explainlab.models import loading
from explainlab.models.classifier import Classifier
from explainlab.models.model import Model
from explainlab.models.stored.weights import load_weights

RELATIVE = 1e-9
"""Limit on the difference between two float64 computations, as a share of the largest number ..."""
ROUNDING = 1e-12
"""... plus this share of the terms, where the quantity is a small difference of large terms."""


_float32 = torch.float32


@contextmanager
def _no_float32() -> Iterator[None]:
    """Give float64 to all code that names float32, or no type: also to models that normalise in float32, in any thread.

    Only the weights of models that load inside keep their type.
    """
    usual = torch.get_default_dtype()
    with (
        patch.object(torch, "float32", torch.float64),
        patch.object(Tensor, "float", Tensor.double),
        patch.object(loading, "load_weights", _read_as_usual),
    ):
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(usual)


def _read_as_usual(*asked: Any, **named: Any) -> Any:
    inside = torch.get_default_dtype()
    torch.set_default_dtype(_float32)
    try:
        with patch.object(torch, "float32", _float32):
            return load_weights(*asked, **named)
    finally:
        torch.set_default_dtype(inside)


_Weights = tuple[tuple[int, int], ...]
_copies: WeakKeyDictionary[Model, tuple[_Weights, Model]] = WeakKeyDictionary()
"""The copies of models that are still there, each with what tells whether the model's weights have changed since."""


def _float64(model: Model) -> Model:
    weights = tuple((id(own), own._version) for own in model.network.parameters())
    made = _copies.get(model)
    if made is None or made[0] != weights:
        made = weights, copy.deepcopy(model)
        made[1].network.double()
        _copies[model] = made
    return made[1]


@contextmanager
def exact(classifier: Classifier) -> Iterator[Classifier]:
    """Yield a copy of ``classifier`` in float64; inside the block no torch operation rounds to float32.

    The copy takes twice the memory of the classifier's weights, and stays while the classifier's model does. Compare
    only quantities computed inside the block.
    """
    with _no_float32():
        yield replace(classifier, model=_float64(classifier.model))


def assert_equal(actual: np.ndarray, expected: np.ndarray, what: str, terms: float = 0.0) -> None:
    """Assert that two float64 computations of ``what`` agree; ``terms`` is the size of the terms that it sums.

    Raises :class:`AssertionError` with the largest difference.
    """
    actual, expected = np.asarray(actual, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert actual.shape == expected.shape, f"{what}: the shape is {actual.shape}, not {expected.shape}"
    difference = float(np.abs(actual - expected).max(initial=0))
    largest = float(np.abs(expected).max(initial=0))
    limit = RELATIVE * largest + ROUNDING * terms
    assert difference <= limit, f"{what}: differs by {difference:.2g} where the largest number is {largest:.2g}"
