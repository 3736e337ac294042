"""Radii of attacks: numbers, or multiples of the standard deviation of the model's word table."""

from __future__ import annotations

import math
import re
from collections.abc import MutableMapping
from typing import Annotated, Any

import torch
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from explainlab.models.classifier import Classifier

LARGEST = 1e6
MOST_RADII = 20
BOUNDLESS = 3.0
"""The radius, in standard deviations of the word table, that hardly restricts an attack."""
_NUMBER = re.compile(r"(\d{1,9}(\.\d{0,9})?|\.\d{1,9})(e[+-]?\d{1,2})?")
_ROWS = 4096


def _listed(value: Any) -> Any:
    """Split radii at commas, and write numbers as texts."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        parts = [parts]
    plain = (int, float)
    return [f"{part:g}" if isinstance(part, plain) and not isinstance(part, bool) else part for part in parts]


def _radii(values: list[str]) -> list[str]:
    """Return the radii in canonical form, each once."""
    radii = [_canonical(value.strip()) for value in values]
    if not radii or len(set(radii)) < len(radii):
        raise PydanticCustomError("radii", "Give one or more radii, each once, as in 0.03s,0.1s")
    return radii


def _canonical(value: str) -> str:
    number = value.removesuffix("s")
    if not _NUMBER.fullmatch(number) or float(number) > LARGEST:
        raise PydanticCustomError(
            "radius", "A radius is a number from 0 to {most}, with s for standard deviations", {"most": f"{LARGEST:g}"}
        )
    return f"{float(number):g}{'s' if value.endswith('s') else ''}"


Radii = Annotated[Annotated[list[str], Field(max_length=MOST_RADII)], BeforeValidator(_listed), AfterValidator(_radii)]
"""Radii: a number, or with ``s`` a number of standard deviations of the word table; as a list, or with commas."""


_DEVIATIONS: MutableMapping[Tensor, tuple[int, float]] = WeakTensorKeyDictionary()
"""Version and standard deviation of word tables; a table with a newer version is measured again."""


def radius(written: str, deviation: float) -> float:
    """Return the radius in the unit of word embeddings, whose table has this standard ``deviation``."""
    return float(written.removesuffix("s")) * (deviation if written.endswith("s") else 1.0)


def table_deviation(classifier: Classifier) -> float:
    """Return the standard deviation of all numbers of the model's word table (float64, n in the denominator).

    The value is cached as long as the table exists unchanged.
    """
    table = classifier.model.word_embeddings.weight
    version, deviation = _DEVIATIONS.get(table, (-1, 0.0))
    if version != table._version:
        mean = _sum(table.detach(), 0.0, 1) / table.numel()
        deviation = math.sqrt(_sum(table.detach(), mean, 2) / table.numel())
        _DEVIATIONS[table] = table._version, deviation
    return deviation


def _sum(table: Tensor, mean: float, power: int) -> float:
    """Return the sum of the powers of the deviations from ``mean``, by groups of rows, without a copy of the table."""
    wide = torch.float32 if table.device.type == "mps" else torch.float64
    return sum(float((rows.to(wide) - mean).pow(power).sum()) for rows in table.split(_ROWS))
