"""The match between our cells and a paper's evaluation, and the next step where we have no number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from explainlab.analyses.evaluation.published.papers import PaperTable, paper_tables
from explainlab.analyses.evaluation.result import EvaluationData, MethodMetric
from explainlab.analyses.sets.records import SetCell
from explainlab.attribution.registry import get_method, methods, parse_spec
from explainlab.errors import RequestError
from explainlab.metrics.registry import get_metric

_DECODERS = {"GPT-2", "Llama", "Mistral", "Qwen2", "Qwen3"}
_FAMILIES = {
    "RoBERTa": {"RoBERTa"},
    "DistilBERT": {"DistilBERT"},
    "BERT": {"BERT"},
    "Llama2": {"Llama"},
    "Mistral": {"Mistral"},
}
"""The families of models by the papers' names; of paper 002 any decoder."""
_DATA = {
    "SST2": r"sst[-_ ]?2",
    "SST-2": r"sst[-_ ]?2",
    "RTN": r"rotten|\brtn\b",
    "AGN": r"ag[-_ ]?news",
    "AG-news": r"ag[-_ ]?news",
    "EMR": r"^(?!.*(tweet|twitter)).*emotion",
    "IMDB": r"imdb",
    "Twitter-Fin": r"(tweet|twitter).*fin",
    "Twitter-Sen": r"(tweet|twitter).*sent",
    "Twitter-Emo": r"(tweet|twitter).*emo",
    "TrueTeacher": r"true[-_ ]?teacher",
}
"""The patterns that recognise a data set by its name and the last folder of its path."""


Place = tuple[int, int]
"""A row and a column of a published table."""


@dataclass(frozen=True)
class Ours:
    """Our number for a cell of a published table, and our cell that it comes from."""

    cell: SetCell
    row: MethodMetric

    @property
    def half(self) -> float | None:
        """Half the width of its 95% interval; None without one."""
        low, high = self.row.low, self.row.high
        return None if low is None or high is None else (high - low) / 2


@dataclass(frozen=True)
class Beside:
    """A published ``table`` and our ``cells``, with a result or without."""

    table: PaperTable
    cells: Sequence[SetCell]

    @cached_property
    def numbers(self) -> dict[Place, Ours]:
        """Our number for each place that has one."""
        numbers: dict[Place, Ours] = {}
        for i, row in enumerate(self.table.rows):
            for j, column in enumerate(self.table.columns):
                for cell in self._standing[row.data or column.data, column.model]:
                    own = _row_of(cell.result.body, row.method, column.metric) if cell.result else None
                    if own is not None and own.mean is not None:
                        numbers.setdefault((i, j), Ours(cell, own))
        return numbers

    @property
    def places(self) -> list[Place]:
        """All places of the table, row by row."""
        return [(i, j) for i in range(len(self.table.rows)) for j in range(len(self.table.columns))]

    def to_run(self, place: Place) -> tuple[str, str]:
        """Return the step that would give our missing number: in a word, and in a sentence."""
        row, column = self.table.rows[place[0]], self.table.columns[place[1]]
        if row.method not in methods():
            return "none", f"{row.name} is not among the methods here."
        method, metric = get_method(row.method).label, get_metric(column.metric).label
        standing = self._standing[row.data or column.data, column.model]
        if not standing:
            return "run", f"Evaluate {method} by {metric} on {row.data or column.data} with {column.model}."
        done = [cell.result.body for cell in standing if cell.result]
        if not done:
            first, reason = standing[0], standing[0].reason or "It is still to be computed."
            return "failed" if first.reason else "waits", f"{first.model.name} on {first.data_name}: {reason}"
        if not any(_id_of(own.method) == row.method for body in done for own in body.rows):
            return "add", f"Add {method} to the methods of this benchmark."
        return "add", f"Add {metric} to the metrics of this benchmark."

    @cached_property
    def _standing(self) -> dict[tuple[str, str], list[SetCell]]:
        """Our cells that stand for a data set and a model of the paper."""
        data = dict.fromkeys([row.data for row in self.table.rows] + [column.data for column in self.table.columns])
        models = dict.fromkeys(column.model for column in self.table.columns)
        return {
            (source, model): [cell for cell in self.cells if _stands_for(cell, source, model)]
            for source in filter(None, data)
            for model in models
        }

    @property
    def differences(self) -> list[str]:
        """A sentence on each of our cells that stand for a paper's: model, rows, presets, class and unit."""
        listed = dict.fromkeys(self._difference(place) for place in self.numbers)
        return [*listed, self.table.setting]

    def _difference(self, place: Place) -> str:
        cell, column = self.numbers[place].cell, self.table.columns[place[1]]
        assert cell.result is not None
        request = cell.result.request
        presets = {own.row.preset or "none" for own in self.numbers.values() if own.cell is cell}
        size = f", {cell.model.weights:,} parameters" if cell.model.weights else ""
        theirs = self.table.rows[place[0]].data or column.data
        return (
            f"{cell.model.name} on {cell.data_name} stands for {column.model} on {theirs}. It is a {cell.model.family}"
            f"{size}; rows: {cell.result.sample_words}; presets: {', '.join(sorted(presets))}; class explained: "
            f"{request.target}; scores of {request.unit}s."
        )


def beside_best(cells: Sequence[SetCell]) -> Beside:
    """Return the published table with the most numbers of ours; among equal ones the first by models and metrics."""
    tables = [Beside(table, cells) for table in paper_tables().values()]
    return max(tables, key=lambda beside: (len(beside.numbers), _fit(beside.table, cells)))


def _stands_for(cell: SetCell, data: str, model: str) -> bool:
    """Tell if our cell's model and data set stand for the paper's."""
    about = f"{cell.data_name} {'/'.join(cell.data.split('/')[-2:])}"
    return cell.model.family in _families(model) and bool(re.search(_DATA[data], about, re.IGNORECASE))


def _families(model: str) -> set[str]:
    return _FAMILIES.get(model, _DECODERS)


def _row_of(body: EvaluationData, method: str, metric: str) -> MethodMetric | None:
    """Return a method's row; among several, prefer a map chosen by this metric, then the paper's preset."""
    rows = [row for row in body.rows if row.metric == metric and _id_of(row.method) == method]
    return max(rows, key=lambda row: (f"select_by={metric}" in row.method, row.preset == "rpi"), default=None)


@lru_cache(maxsize=256)
def _id_of(name: str) -> str:
    """Return the id of the method that ``name`` asks for; empty for a control or a file's name."""
    try:
        return parse_spec(name).method
    except RequestError:
        return ""


def _fit(table: PaperTable, cells: Sequence[SetCell]) -> int:
    """Count the cells with a model of ``table``, and their rows with one of its metrics."""
    metrics = {column.metric for column in table.columns}
    return sum(
        any(cell.model.family in _families(column.model) for column in table.columns)
        + any(row.metric in metrics for row in (cell.result.body.rows if cell.result else ()))
        for cell in cells
    )
