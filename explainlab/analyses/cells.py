"""A set of studies: one question to several models and data sets, a cell for each, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar

from explainlab.analyses.base import Analysis, AnalysisResult
from explainlab.analyses.parameters import EACH
from explainlab.analyses.registry import complete, get_analysis, request_key
from explainlab.analyses.wording import counted
from explainlab.errors import Cancelled, DataError, ExplainLabError, RequestError, TextError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from explainlab.reader import ANYBODY, Reader

REFUSED = (RequestError, UnsupportedError, DataError, TextError)
"""Errors of the request; any other is an error of its computation."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One model and one data set: its ``result``, kept under its own ``key``, or the ``reason`` why there is none."""

    model: str
    data: str
    status: Literal["done", "failed", "refused"]
    reason: str = ""
    key: str | None = None
    result: AnalysisResult[Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the record of this cell, with the ``body`` of its result; ``parts`` locate its rows in the store."""
        return self._record(None if self.result is None else self.result.body_json())

    def in_parts(self) -> dict[str, Any]:
        """Return :meth:`to_json`, with very many texts as :meth:`explainlab.result.Result.in_parts` has them."""
        return self._record(None if self.result is None else self.result.body_in_parts())

    def _record(self, body: dict[str, Any] | None) -> dict[str, Any]:
        return {
            "model": self.model,
            "data": self.data,
            "status": self.status,
            "reason": self.reason or None,
            "key": self.key,
            "body": body,
            **({} if self.result is None else self.result.named_parts),
        }

    def lines(self) -> list[str]:
        """Return the answer for a reader, or the reason why there is none."""
        head = f"{self.model}, {self.data}: "
        if self.result is None:
            return [f"{head}{self.status}. {self.reason}", ""]
        report = get_analysis(self.result.request.question).report(self.result)
        return [head + report.headline, *report.lines, ""]


D = TypeVar("D")
Answer = Callable[[str, str], AnalysisResult[Any]]


def cells(models: Sequence[str], data: Sequence[str], answer: Answer, reader: Reader = ANYBODY) -> Iterator[Cell]:
    """Yield the cell of every model and data set, in the order of ``models``, then of ``data``, each when it is done.

    ``answer`` gives the result of a model and a data set. A cell that fails or is refused stops no other; only
    :class:`explainlab.errors.Cancelled` does.
    """
    for model in models:
        for source in data:
            try:
                result = answer(model, source)
            except Cancelled:
                raise
            except ExplainLabError as error:
                status: Literal["failed", "refused"] = "refused" if isinstance(error, REFUSED) else "failed"
                yield Cell(model=model, data=source, status=status, reason=str(error))
            else:
                key = request_key(complete(result.request), result.versions["model"], reader)
                yield Cell(model=model, data=source, status="done", key=key, result=result)


def parameters_on(analysis: Analysis, parameters: Mapping[str, Any], place: int, several: int) -> dict[str, Any]:
    """Return the ``parameters`` for one of ``several`` data sets, which has this ``place`` from 0 on.

    Parameters that are declared as :data:`explainlab.analyses.parameters.EACH` may name one for each of them.
    """
    own = dict(parameters)
    for name, field in analysis.Parameters.model_fields.items():
        given = own.get(name) if EACH in field.metadata else None
        each = given.split(",") if isinstance(given, str) and several > 1 else given
        if isinstance(each, list | tuple):
            if len(each) not in (1, several):
                problem = f"{name} names {counted(len(each), 'data set')} for {several}."
                raise RequestError(problem, "Name one for all, or one for each in the same order.")
            own[name] = each[place if len(each) == several else 0]
    return own


def require_data(text: str | None, data: D | None) -> D:
    """Return the ``data`` sets of a set of studies; raises :class:`RequestError` for a text in their place."""
    if text is not None or not data:
        raise RequestError("Several models are studied on data sets, not on a text.", "Name a data set instead.")
    return data


def cells_of(
    models: Classifier | str | Sequence[Classifier | str],
    data: str | Sequence[str],
    study: Callable[[Classifier, str], AnalysisResult[Any]],
) -> list[Cell]:
    """Return the :func:`cells` of ``models`` that are loaded, or are ids of models to be loaded in their turn."""
    several = [models] if isinstance(models, Classifier | str) else models
    loaded = {model.id: model for model in several if not isinstance(model, str)}
    load = lru_cache(maxsize=1)(load_model)

    def answer(model: str, source: str) -> AnalysisResult[Any]:
        return study(loaded.get(model) or load(model), source)

    ids = [model if isinstance(model, str) else model.id for model in several]
    return list(cells(ids, [data] if isinstance(data, str) else data, answer))
