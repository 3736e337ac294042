"""A set of studies: its cells and models, and means over models that differ in their training's seed alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.records import Interval
from explainlab.analyses.registry import get_analysis
from explainlab.analyses.summary import Measure, Number, interval

Over = Literal["texts", "models"]


@dataclass(frozen=True)
class SetModel:
    """A model of the set: its ``id``, its shown ``name``, its ``family``, and how many ``weights`` it has.

    0 weights: not known. ``alike`` is equal for models that differ in the seed of their training alone.
    """

    id: str
    name: str
    family: str
    weights: int
    alike: str


@dataclass(frozen=True)
class SetCell:
    """A model on a data set, called ``data_name``: its ``result``, or the ``reason`` why there is none.

    Neither where it is still to be computed.
    """

    model: SetModel
    data: str
    data_name: str
    result: AnalysisResult[Any] | None = None
    reason: str = ""

    @property
    def status(self) -> Literal["done", "failed", "waiting"]:
        """The state of the cell; a refused one has ``failed``."""
        return "done" if self.result else "failed" if self.reason else "waiting"

    @property
    def facts(self) -> dict[str, object]:
        """The subject and the state of the cell, as a plain record."""
        return {
            "model": self.model.id,
            "architecture": self.model.family,
            "weights": self.model.weights or None,
            "data": self.data_name,
            "status": self.status,
            "reason": self.reason or None,
        }

    @property
    def numbers(self) -> Sequence[Number]:
        """The headline numbers that its analysis declares; none without a result."""
        return get_analysis(self.result.request.question).report(self.result).numbers if self.result else ()


@dataclass(frozen=True)
class Group:
    """Models that differ in the seed of their training alone, under one ``name``; mostly one model."""

    name: str
    models: tuple[SetModel, ...]

    @property
    def weights(self) -> int:
        """The number of weights of each model; 0: not known."""
        return self.models[0].weights


@dataclass(frozen=True)
class Mean:
    """A headline ``number`` of models on a data set: over the texts of a cell, or over the means of several models."""

    group: Group
    data: str
    number: Number
    over: Over

    @property
    def value(self) -> Interval:
        """The mean with its interval."""
        return self.number.value

    @property
    def merit(self) -> float:
        """The mean with the sign that makes larger ones better."""
        return self.number.measure.sign * (self.value.mean or 0.0)


@dataclass(frozen=True)
class StudySet:
    """The cells of all models on all data sets, in the order of the models, then of the data sets."""

    cells: tuple[SetCell, ...]

    @cached_property
    def done(self) -> list[SetCell]:
        """The cells with a result."""
        return [cell for cell in self.cells if cell.result]

    @cached_property
    def data(self) -> dict[str, str]:
        """The names of the data sets by their sources."""
        return {cell.data: cell.data_name for cell in self.cells}

    @cached_property
    def groups(self) -> list[Group]:
        """The models, those that differ in their seed alone together."""
        alike: dict[str, dict[str, SetModel]] = {}
        for cell in self.cells:
            alike.setdefault(cell.model.alike, {})[cell.model.id] = cell.model
        return [_group(list(models.values())) for models in alike.values()]

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """The measures by key, in the order of the analysis."""
        return {number.measure.key: number.measure for numbers in self._numbers.values() for number in numbers}

    @cached_property
    def series(self) -> dict[str, str]:
        """The series with their names for readers, random last; a single one where the numbers are of the model."""
        names = {number.of: number.label for numbers in self._numbers.values() for number in numbers}
        return {of: names[of] for of in sorted(names, key=lambda of: of == RANDOM)}

    def series_of(self, measure: str) -> dict[str, str]:
        """Return the entries of :attr:`series` that have a number of the measure (its key)."""
        known = {number.of for numbers in self._numbers.values() for number in numbers if number.measure.key == measure}
        return {of: label for of, label in self.series.items() if of in known}

    def mean(self, group: Group, data: str, of: str, measure: str) -> Mean | None:
        """Return the mean of a measure (its key); None without a value."""
        numbers = [number for model in group.models for number in self._numbers.get((model.id, data), ())]
        known = [n for n in numbers if (n.of, n.measure.key) == (of, measure) and n.value.mean is not None]
        if not known:
            return None
        if len(group.models) == 1:
            return Mean(group, data, known[0], "texts")
        values = [number.value.mean or 0.0 for number in known]
        number = replace(known[0], value=interval(values), n=len(known), values=values, rows=())
        return Mean(group, data, number, "models")

    def means(self, measure: str, data: str | None = None) -> list[Mean]:
        """Return all means of a measure (on ``data`` alone, unless None): by data set, then series, then model."""
        means = (
            self.mean(group, source, of, measure)
            for source in self.data
            if data in (None, source)
            for of in self.series
            for group in self.groups
        )
        return [mean for mean in means if mean is not None]

    def place(self, group: Group, data: str) -> str:
        """Name the models, and the data set where there are several."""
        return group.name if len(self.data) == 1 else f"{group.name} on {self.data[data]}"

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], Sequence[Number]]:
        return {(cell.model.id, cell.data): cell.numbers for cell in self.done}


def _group(models: list[SetModel]) -> Group:
    names = models[0].name if len(models) == 1 else f"{models[0].family or models[0].name}, {len(models)} seeds"
    return Group(names, tuple(models))
