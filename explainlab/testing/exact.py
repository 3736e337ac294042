"""Comparison of two computations of the same quantity, in float64."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from explainlab.models.classifier import Classifier
from explainlab.models.model import Model

RELATIVE = 1e-9
"""Limit on the difference between two float64 computations, as a share of the largest number ..."""
ROUNDING = 1e-12
"""... plus this share of the terms, where the quantity is a small difference of large terms."""


class _NoFloat32(TorchFunctionMode):
    """Replaces float32 by float64 in all calls of torch, also inside models that normalise in float32."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        function: Callable[..., Any] = Tensor.double if func is Tensor.float else func
        wide = [torch.float64 if own is torch.float32 else own for own in args]
        if not kwargs:
            return function(*wide)
        named = {name: torch.float64 if own is torch.float32 else own for name, own in kwargs.items()}
        return function(*wide, **named)


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
    """A copy of ``classifier`` in float64; inside the block no torch operation rounds to float32.

    The copy takes twice the memory of the classifier's weights, and stays while the classifier's model does. Compare
    only quantities computed inside the block.
    """
    with _NoFloat32():
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
