"""Two ways to compute one quantity are compared where rounding hides no difference."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from explainlab.models.classifier import Classifier

RELATIVE = 1e-9
"""Two float64 computations of one quantity differ by less than this share of its largest number ..."""
ROUNDING = 1e-12
"""... or by less than this share of the numbers that it is the small difference of."""


class _NoFloat32(TorchFunctionMode):
    """Whoever asks torch for float32 gets float64, also inside a model that normalises in float32."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        function = Tensor.double if func is Tensor.float else func
        return function(*map(_wide, args), **{name: _wide(value) for name, value in (kwargs or {}).items()})


def _wide(argument: Any) -> Any:
    return torch.float64 if argument is torch.float32 else argument


@contextmanager
def exact(classifier: Classifier) -> Iterator[Classifier]:
    """A copy of ``classifier`` in float64; inside the block no operation of torch rounds to float32.

    The copy takes twice the memory of the classifier's weights. Compare only what is computed inside the block: the
    same quantity in float32 differs by the rounding of a whole pass.
    """
    with _NoFloat32():
        model = copy.deepcopy(classifier.model)
        model.network.double()
        yield replace(classifier, model=model)


def assert_equal(found: np.ndarray, expected: np.ndarray, what: str, terms: float = 0.0) -> None:
    """Two float64 computations of ``what`` agree; ``terms`` is the size of the numbers that it is a difference of.

    Raises :class:`AssertionError` with the largest difference.
    """
    values, wanted = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    assert values.shape == wanted.shape, f"{what}: the shape is {values.shape}, not {wanted.shape}"
    difference = float(np.abs(values - wanted).max(initial=0))
    largest = float(np.abs(wanted).max(initial=0))
    limit = RELATIVE * largest + ROUNDING * terms
    assert difference <= limit, f"{what}: differs by {difference:.2g} where the largest number is {largest:.2g}"
