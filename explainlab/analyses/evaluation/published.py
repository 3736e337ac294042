"""Published tables, and our numbers beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.result import EvaluationData, MethodMetric
from explainlab.analyses.sets.records import SetCell, SetModel
from explainlab.analyses.wording import counted
from explainlab.attribution.registry import get_method, methods, parse_spec
from explainlab.errors import ModelError, RequestError
from explainlab.figures.chart import Chart
from explainlab.figures.latex import document, escaped, stacked, table_of_rows
from explainlab.figures.matrix import Cell, Matrix
from explainlab.metrics.registry import get_metric
from explainlab.models.loading import describe, model_name

_RPI = {
    "RPI": "rpi",
    "SIG": "sequential_integrated_gradients",
    "ALTI": "alti",
    "DCMP": "decompx",
    "LIFT": "deep_lift",
    "GLOB": "globenc",
    "SHAP": "gradient_shap",
    "GXI": "input_x_gradient",
    "IG": "integrated_gradients",
    "LIME": "lime",
    "LLM": "llm_ranking",
}
_PI = {
    "Random": "random",
    "A-Last": "attention_last",
    "SP-PI": "sp_pi",
    "GAE": "gae",
    "Inp × Grad": "input_x_gradient",
    "LRP": "lrp",
    "Int. Grad": "integrated_gradients",
    "Kernel SHAP": "kernel_shap",
    "MP-PI": "mp_pi",
}
_PI_COSTS = {"Random": "0", "A-Last": "0", "SP-PI": "0", "GAE": "1", "Inp × Grad": "1", "LRP": "1"}
"""The cost of a method in passes, by the paper; all others 2n for n features."""
_RPI_METRICS = {
    "Suff ↓": "sufficiency",
    "LO ↓": "log_odds",
    "Comp ↑": "comprehensiveness",
    "A-S ↓": "aopc_sufficiency",
    "A-C ↑": "aopc_comprehensiveness",
}
_PI_DATA = {
    "IMDB": "GPT-2 (124M)",
    "SST-2": "GPT-2 (355M)",
    "AG-news": "Llama-2 (7B)",
    "Twitter-Fin": "Llama-2 (7B)",
    "Twitter-Sen": "GPT-2 (124M)",
    "Twitter-Emo": "GPT-2 (124M)",
    "TrueTeacher": "GPT-2 (1.5B)",
}
"""Table 1 of paper 002: the model of each data set."""
_RPI_PAPER, _PI_PAPER = "Barkan et al. 2024 (paper 001)", "Kariyappa et al. 2024 (paper 002)"
_RPI_ROWS = (
    "The paper does not say how many texts it averages. It chooses RPI's map anew for each metric: add "
    "rpi:select_by=METRIC for each."
)
_PI_ROWS = "The paper averages 500 random test texts, explains the true class, and scores words or sentences."


@dataclass(frozen=True)
class Column:
    """A column under its ``heading``: of a ``model`` and a ``metric``, and of a ``data`` set unless rows are."""

    heading: str
    model: str
    metric: str
    data: str = ""


@dataclass(frozen=True)
class PaperRow:
    """A method, by the paper's name and by our id, with its ``values`` in the order of the columns.

    ``data`` is empty where the columns are of a data set each.
    """

    data: str
    name: str
    method: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class PaperTable:
    """A published table; ``setting`` says how its setting differs from ours, or that it is not known."""

    id: str
    source: str
    title: str
    setting: str
    columns: tuple[Column, ...]
    rows: tuple[PaperRow, ...]


@cache
def paper_tables() -> dict[str, PaperTable]:
    """Return Tables 2 and 4 of paper 001, and Tables 2 and 3 of paper 002, by id."""
    numbers = json.loads((Path(__file__).with_suffix(".json")).read_text(encoding="utf-8"))
    encoders, decoders = ("RoBERTa", "DistilBERT", "BERT"), ("Llama2", "Mistral")
    tables = (
        _table("001-2", _RPI_PAPER, "Table 2", _RPI_ROWS, _by_model(encoders), _RPI, numbers),
        _table("001-4", _RPI_PAPER, "Table 4", _RPI_ROWS, _by_model(decoders), _RPI, numbers),
        _table("002-2", _PI_PAPER, "Table 2, AUC ↑", _PI_ROWS, _by_data("activation_auc"), _PI, numbers),
        _table(
            "002-3", _PI_PAPER, "Table 3, inverse AUC ↓", _PI_ROWS, _by_data("inverse_activation_auc"), _PI, numbers
        ),
    )
    return {table.id: table for table in tables}


def _table(
    name: str,
    source: str,
    title: str,
    setting: str,
    columns: tuple[Column, ...],
    methods: dict[str, str],
    numbers: dict[str, dict[str, dict[str, list[float]]]],
) -> PaperTable:
    rows = [
        PaperRow(data, label if data else f"{label}, cost {_PI_COSTS.get(label, '2n')}", methods[label], tuple(values))
        for data, block in numbers[name].items()
        for label, values in block.items()
    ]
    return PaperTable(name, source, title, setting, columns, tuple(rows))


def _by_model(models: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(
        Column(f"{model}\n{label}", model, metric) for model in models for label, metric in _RPI_METRICS.items()
    )


def _by_data(metric: str) -> tuple[Column, ...]:
    return tuple(Column(data, model, metric, data) for data, model in _PI_DATA.items())


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


def published_files(result: AnalysisResult[EvaluationData]) -> dict[str, str]:
    """Return CSV and LaTeX by file name, of every table with a number of ours; none if the model is missing."""
    request = result.request
    try:
        card = describe(request.model)
    except ModelError:
        card = None
    if card is None:
        return {}
    model = SetModel(request.model, model_name(request.model), card.architecture.family, card.weights, request.model)
    cell = SetCell(model, request.data or "", request.data or "", result)
    files: dict[str, str] = {}
    for table in paper_tables().values():
        beside = Beside(table, [cell])
        if beside.numbers:
            chart = beside_published(beside)
            files |= {f"{chart.name}.csv": chart.to_csv(), f"{chart.name}.tex": published_latex(beside)}
    return files


_OURS = 0.3
"""The share of full colour of a cell with a number of ours."""
_NOTE = (
    "Blue: our mean with half the width of its 95% interval. In brackets: the paper's number. Other cells say what "
    "gives ours: benchmark that model and data set, or add that method or metric; none: no method here does it."
)
_SMALL = r"\tiny\setlength{\tabcolsep}{2pt}"
_NONE = dict.fromkeys(("mean", "low", "high", "n", "our_method", "our_metric", "our_model", "our_data"))

Block = tuple[str, list[tuple[int, PaperRow]]]
"""A data set of the rows (or none), and its rows with their numbers."""


def beside_published(beside: Beside) -> Chart:
    """Draw the table as a chart to keep."""
    table, names, drawn = beside.table, list[str](), list[Cell]()
    for data, rows in _blocks(beside):
        names += [data] if data else []
        for i, row in rows:
            drawn += [_cell(beside, (i, j), len(names)) for j in range(len(table.columns))]
            names.append(row.name)
    figure = Matrix(names, [column.heading for column in table.columns], drawn, len(names)).figure()
    figure.update_yaxes(autorange=None, range=[len(names) - 0.5, -0.5])
    title = f"Beside {table.source}, {table.title}"
    ours, published = counted(len(beside.numbers), "number"), len(beside.places)
    words = f"{title}: {ours} of ours beside {published} published."
    return Chart(f"beside-{table.id}", title, words, figure, published_rows(beside), (_NOTE, *beside.differences))


def published_rows(beside: Beside) -> list[dict[str, Any]]:
    """Return a record for every cell of the table: the paper's number, and ours or the next step to get it."""
    return [_record(beside, place) for place in beside.places]


def published_latex(beside: Beside) -> str:
    """Return a standalone document with ``booktabs``: a table for each data set of the rows."""
    return document(_block(beside, *block) for block in _blocks(beside))


def _blocks(beside: Beside) -> list[Block]:
    return [(data, list(rows)) for data, rows in groupby(enumerate(beside.table.rows), key=lambda row: row[1].data)]


def _cell(beside: Beside, place: Place, row: int) -> Cell:
    """Draw the cell of a ``place`` in this ``row``: our number or the next step, above the paper's number."""
    ours, known = beside.numbers.get(place), beside.table.rows[place[0]]
    published = f"{known.values[place[1]]:.3f}".replace("-", "−")
    heading = beside.table.columns[place[1]].heading.replace("\n", " ")
    name = f"{known.name}, {heading}{f', {known.data}' if known.data else ''}"
    if ours is None:
        short, long = beside.to_run(place)
        return Cell(row, place[1], {}, None, (short, f"({published})"), f"{name}: paper {published}. {long}")
    mean = f"{ours.row.mean:.3f}".replace("-", "−")
    around = () if ours.half is None else (f"±{ours.half:.3f}",)
    between = "" if ours.row.low is None else f" ({ours.row.low:.3f} to {ours.row.high:.3f})"
    own = f"ours {mean}{between}, {counted(ours.row.n, 'text')}, {ours.cell.model.name}"
    lines = (mean, *around, f"({published})")
    return Cell(row, place[1], {}, _OURS, lines, f"{name}: {own}; paper {published}")


def _record(beside: Beside, place: Place) -> dict[str, Any]:
    row, column, ours = beside.table.rows[place[0]], beside.table.columns[place[1]], beside.numbers.get(place)
    own: dict[str, Any] = _NONE
    if ours is not None:
        asked = {"n": ours.row.n, "our_method": ours.row.method, "our_metric": ours.row.asked}
        about = {"our_model": ours.cell.model.id, "our_data": ours.cell.data_name}
        own = {**ours.row.interval.model_dump(), **asked, **about}
    return {
        "source": f"{beside.table.source}, {beside.table.title}",
        "model": column.model,
        "data": row.data or column.data,
        "method": row.name,
        "metric": column.metric,
        "published": row.values[place[1]],
        **own,
        "to_run": None if ours else beside.to_run(place)[1],
    }


def _block(beside: Beside, data: str, rows: Sequence[tuple[int, PaperRow]]) -> str:
    on = f", {data}" if data else ""
    ours = "our mean, half the width of its 95% interval, and in brackets the paper's number"
    caption = f"{beside.table.source}, {beside.table.title}{on}: {ours}. {' '.join(beside.differences)}"
    headings = ["Method", *(stacked(column.heading.split("\n")) for column in beside.table.columns)]
    cells = [
        [escaped(row.name), *(_latex_cell(beside.numbers.get((i, j)), value) for j, value in enumerate(row.values))]
        for i, row in rows
    ]
    return table_of_rows(escaped(caption), "l" + "c" * len(beside.table.columns), headings, cells, _SMALL)


def _latex_cell(ours: Ours | None, published: float) -> str:
    if ours is None:
        return f"(${published:.3f}$)"
    around = "" if ours.half is None else rf" \\ $\pm {ours.half:.3f}$"
    return rf"\shortstack{{$\mathbf{{{ours.row.mean:.3f}}}${around} \\ (${published:.3f}$)}}"
