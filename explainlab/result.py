"""The result: the answer to a request, with what it cost and all that is needed to repeat it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, TypeVar

from explainlab.disk_backed import Packed
from explainlab.request import Kind, Request

T = TypeVar("T", bound="Result")
PART = 1_000
"""Texts of a data set whose JSON is in memory at once."""
VERDICT = "verdict"
"""Where an exported record has the answer in words. It is no part of the result: an import leaves it out."""


@dataclass(frozen=True)
class Cost:
    """Passes spent, counted per single input (a batch of 8 counts 8, a gradient is one of each), and own seconds."""

    forward: int
    backward: int
    seconds: float

    @classmethod
    def total(cls, costs: Iterable[Cost]) -> Cost:
        """The sum of ``costs``."""
        parts = [(cost.forward, cost.backward, cost.seconds) for cost in costs]
        return cls(*(sum(column) for column in zip(*parts, strict=True))) if parts else cls(0, 0, 0.0)


class StoredPart(NamedTuple):
    """Some ``rows`` of a stored result, in the Parquet file at ``path`` below the folder of parts, and its SHA-256."""

    path: str
    rows: int
    digest: str


UNSTORED = "This result could not be stored yet."
"""Begins the warning of a result that waits for the store; a stored one has no such warning."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(ABC):
    """An answer: the complete ``request``, the ``cost``, ``warnings`` for the reader, and ``versions``.

    An :class:`~explainlab.attribution.records.Attribution` has its scores beside them, an
    :class:`~explainlab.analyses.base.AnalysisResult` a typed body. JSON names the two by their ``kind``.
    """

    request: Request
    cost: Cost
    warnings: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)

    kind: ClassVar[Kind]

    @abstractmethod
    def own_json(self) -> dict[str, Any]:
        """Return the fields of the JSON that only this kind of result has.

        Where a field that all results have stands between them, its name is among them, with None.
        """

    def to_json(self) -> dict[str, Any]:
        """Return the plain record that ``--json`` prints and the store keeps (design: the contract)."""
        return self.framed(self.own_json())

    def in_parts(self) -> dict[str, Any]:
        """Return :meth:`to_json`; of a data set with more than :data:`PART` texts, these are an iterator of lists."""
        return self.to_json()

    def framed(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record with these ``own`` fields, and all those that every result has."""
        request = self.request.to_json(self.kind)
        asked = {"target_asked": request.pop("target")}
        spent = {"cost": asdict(self.cost), "warnings": list(self.warnings), "versions": self.versions}
        return {**request, **own, **asked, **spent}

    @staticmethod
    def frame_of(record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that every result has, from its JSON; raises as :meth:`Request.of_result`, and KeyError."""
        return {
            "request": Request.of_result(record),
            "cost": Cost(**record["cost"]),
            "warnings": tuple(record["warnings"]),
            "versions": record["versions"],
        }

    def packed(self) -> Packed | None:
        """Its rows as packed columns, where it keeps them so."""
        return None

    def rows_in_parts(self) -> Iterator[list[dict[str, Any]]]:
        """The JSON of its rows, some at a time: a text of a data set each, or a feature of a text."""
        yield from ()

    def with_warning(self: T, warning: str) -> T:
        """The same result with one more warning."""
        return replace(self, warnings=(*self.warnings, warning))

    @property
    def as_stored(self: T) -> T:
        """Return the same result without the warning that it is not stored yet."""
        kept = tuple(warning for warning in self.warnings if not warning.startswith(UNSTORED))
        return self if kept == self.warnings else replace(self, warnings=kept)

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook, from :mod:`explainlab.notebook.showing`, which is above results."""
        html: str = import_module("explainlab.notebook.showing").static(self)
        return html

    def answering(self: T, request: Request) -> T:
        """The same result as the answer to ``request``, which may call the model by another name."""
        request = request.model_copy(update={"reader": ""})
        return self if dict(self.request) == dict(request) else replace(self, request=request)


def written(value: Any, **options: Any) -> Iterator[str]:
    """The JSON text of ``value`` in pieces, as ``json.dumps`` writes it.

    An iterator in it, or in a mapping in it, becomes one list: of the items of lists, or of mappings.
    """
    before, between, after = json.dumps([0, 0], **options)[1:-1].split("0")

    def inside(own: Any) -> Iterator[str]:
        return (piece.replace("\n", before) for piece in written(own, **options))

    if isinstance(value, Iterator):
        for number, part in enumerate(value):
            yield between if number else f"[{before}"
            if isinstance(part, list):
                yield json.dumps(part, **options)[1 + len(before) : -1 - len(after)]
            else:
                yield from inside(part)
        yield f"{after}]"
    elif isinstance(value, Mapping) and value:
        for number, (name, own) in enumerate(value.items()):
            key = json.dumps({name: 0}, **{**options, "indent": None})[1:-2]  # numbers and None become strings
            yield f"{between if number else '{' + before}{key}"
            yield from inside(own)
        yield f"{after}}}"
    else:
        yield json.dumps(value, **options)


def with_verdict(record: Mapping[str, Any], verdict: str) -> dict[str, Any]:
    """An exported ``record`` that begins with the answer in words; an empty one is left out."""
    return {VERDICT: verdict, **record} if verdict else dict(record)
