"""A set of evaluations: its cells and models, and means over models that differ in their training's seed alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.result import REVERSED, EvaluationData, MethodMetric
from explainlab.analyses.evaluation.table import best_row
from explainlab.analyses.evaluation.truth import kind_of, said_by
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.records import Interval
from explainlab.analyses.summary import interval

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
    result: AnalysisResult[EvaluationData] | None = None
    reason: str = ""

    @property
    def status(self) -> Literal["done", "failed", "waiting"]:
        """``failed``: also where it was refused."""
        return "done" if self.result else "failed" if self.reason else "waiting"

    @property
    def facts(self) -> dict[str, object]:
        """What the cell is about and how it is, as a plain record."""
        return {
            "model": self.model.id,
            "architecture": self.model.family,
            "weights": self.model.weights or None,
            "data": self.data_name,
            "status": self.status,
            "reason": self.reason or None,
        }


@dataclass(frozen=True)
class Group:
    """Models that differ in the seed of their training alone, under one ``name``; mostly one model."""

    name: str
    models: tuple[SetModel, ...]

    @property
    def weights(self) -> int:
        """Of each of them; 0: not known."""
        return self.models[0].weights


@dataclass(frozen=True)
class Mean:
    """The mean of a metric for a method: over the ``n`` texts of a cell, or over the means of ``n`` models."""

    group: Group
    data: str
    method: str
    row: MethodMetric
    value: Interval
    over: Over
    n: int


@dataclass(frozen=True)
class EvaluatedSet:
    """The cells of all models on all data sets, in the order of the models, then of the data sets."""

    cells: tuple[SetCell, ...]

    @cached_property
    def done(self) -> list[SetCell]:
        """The cells with a result."""
        return [cell for cell in self.cells if cell.result]

    @cached_property
    def bodies(self) -> dict[tuple[str, str], EvaluationData]:
        """The results by model and data set."""
        return {(cell.model.id, cell.data): cell.result.body for cell in self.done if cell.result}

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
    def metrics(self) -> dict[str, MethodMetric]:
        """The facts of all metrics by the names with which they were asked; labels say what rationales are worth."""
        rows = [(body, row) for body in self.bodies.values() for row in body.rows]
        return {row.asked: row.model_copy(update={"label": said_by(body, row)}) for body, row in rows}

    @cached_property
    def telling(self) -> list[str]:
        """The metrics that tell how good a method is: not agreement with people, unless there is nothing else."""
        kinds = {row.asked: kind_of(body, row.metric) for body in self.bodies.values() for row in body.rows}
        return [name for name, kind in kinds.items() if kind != "plausibility"] or list(kinds)

    @cached_property
    def methods(self) -> list[str]:
        """All methods but the reversed controls, random last."""
        named = dict.fromkeys(row.method for body in self.bodies.values() for row in body.rows)
        methods = [name for name in named if not name.startswith(REVERSED)]
        return sorted(methods, key=lambda name: name == RANDOM)

    def mean(self, group: Group, data: str, method: str, metric: str) -> Mean | None:
        """The mean of ``metric`` (``asked``) for ``method``; None without a value."""
        rows = [row for model in group.models for row in self._rows(model.id, data, method, metric)]
        means = [row.mean for row in rows if row.mean is not None]
        if not means:
            return None
        if len(group.models) == 1:
            return Mean(group, data, method, rows[0], rows[0].interval, "texts", rows[0].n)
        return Mean(group, data, method, rows[0], interval(means), "models", len(means))

    def means(self, metric: str, data: str | None = None) -> list[Mean]:
        """All means of ``metric`` (on ``data`` alone, unless None): by data set, then by method, then by model."""
        means = (
            self.mean(group, source, method, metric)
            for source in self.data
            if data in (None, source)
            for method in self.methods
            for group in self.groups
        )
        return [mean for mean in means if mean is not None]

    def best(self, metric: str) -> list[MethodMetric]:
        """The best row of ``metric`` in each cell that has one."""
        rows = (best_row(body, metric) for body in self.bodies.values())
        return [row for row in rows if row is not None]

    def _rows(self, model: str, data: str, method: str, metric: str) -> Iterable[MethodMetric]:
        body = self.bodies.get((model, data))
        return [row for row in body.rows if (row.method, row.asked) == (method, metric)] if body else []


def _group(models: list[SetModel]) -> Group:
    names = models[0].name if len(models) == 1 else f"{models[0].family or models[0].name}, {len(models)} seeds"
    return Group(names, tuple(models))


def set_rows(evaluated: EvaluatedSet) -> list[dict[str, object]]:
    """Every number of every cell as a flat row; a cell without a result has one row with its reason."""
    rows: list[dict[str, object]] = []
    for cell in evaluated.cells:
        listed = cell.result.body.rows if cell.result else []
        rows += [
            {
                **cell.facts,
                "method": row.method,
                "label": shown_name(row.method),
                "metric": row.asked,
                "higher_is_better": row.higher_is_better,
                **row.interval.model_dump(),
                "n": row.n,
                "undefined": row.undefined,
                "told_apart": row.told_apart,
            }
            for row in listed
        ] or [cell.facts]
    return rows
