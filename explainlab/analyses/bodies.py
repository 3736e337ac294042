"""A result of very many texts as a record and bodies: text that is made, kept and read some at a time."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from explainlab.analyses.registry import read_result
from explainlab.result import Result
from explainlab.spill import Packed

_PACKED = "parquet"
"""In place of the texts of a record whose bodies are Parquet, in base 64; those of others are JSON."""


def in_bodies(result: Result) -> tuple[dict[str, Any], Iterator[str]]:
    """The JSON of ``result``, and the bodies of its texts where these are so many that they are not in it."""
    record = result.in_parts()
    many = _many(record)
    texts = record.get(many)
    if not isinstance(texts, Iterator):
        return record, iter(())
    packed = result.packed()
    record[many] = [] if packed is None else _PACKED
    return record, map(_lines, texts) if packed is None else (b64encode(part).decode() for part in packed)


def of_bodies(record: Mapping[str, Any], bodies: Iterator[str] | None) -> Result:
    """The result of :func:`in_bodies`; ``bodies`` are None where there were none.

    Raises as :func:`explainlab.analyses.registry.read_result`.
    """
    if bodies is None:
        return read_result(record)
    many = _many(record)
    packed = record[many] == _PACKED
    texts = Packed(map(b64decode, bodies)) if packed else chain.from_iterable(map(json.loads, bodies))
    return read_result({**record, many: texts})


def _lines(texts: Any) -> str:
    return json.dumps(texts, allow_nan=False)


def _many(record: Mapping[str, Any]) -> str:
    """Which field of a result has its texts."""
    return "texts" if "texts" in record else "rows"
