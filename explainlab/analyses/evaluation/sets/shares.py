"""Ground truth against the share of rows with a planted word: how well maps find a weaker feature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from explainlab.analyses.base import AnalysisResult, Record
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.sets.records import EvaluatedSet
from explainlab.analyses.evaluation.table import table_of
from explainlab.analyses.evaluation.truth import shown
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.records import Interval
from explainlab.analyses.sets.table import MOST_COLUMNS, value_cell
from explainlab.analyses.summary import table
from explainlab.figures.latex import escaped, stacked, table_of_rows

_TITLE = "Ground truth against the share of the rows with a planted word"


class ShareRow(Record):
    """The mean of a ``metric`` (its name with the preset) for a ``method`` over the ``n`` texts of a cell.

    ``share``, from 0 to 1: the share of rows of ``data`` with a planted word.
    """

    model: str
    data: str
    share: float
    method: str
    metric: str
    mean: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def interval(self) -> Interval:
        """The mean with its interval."""
        return Interval(mean=self.mean, low=self.low, high=self.high)


def share_rows(cells: Iterable[tuple[str, str, AnalysisResult[EvaluationData] | None]]) -> list[ShareRow]:
    """Return the ground truth of every cell, given as its model, its data set and its result, if it has one.

    The rows are sorted by model, then by metric, method and share, as models are not comparable. A cell without planted
    words, or whose model failed their checks, has no row; nor have the reversed controls.
    """
    rows = [row for cell in cells for row in _rows(*cell)]
    models, metrics, methods = ({getattr(row, name): None for row in rows} for name in ("model", "metric", "method"))
    places = [{name: place for place, name in enumerate(names)} for names in (models, metrics, methods)]

    def order(row: ShareRow) -> tuple[int, int, bool, int, float]:
        model, metric, method = places
        return model[row.model], metric[row.metric], row.method == RANDOM, method[row.method], row.share

    return sorted(rows, key=order)


def share_lines(rows: Sequence[ShareRow]) -> list[str]:
    """Return the ``rows`` as a table for a command line; nothing without rows."""
    listed = [
        {
            "model": row.model,
            "data": row.data,
            "share": f"{row.share:.0%}",
            "method": row.method,
            "metric": row.metric,
            "mean": str(row.interval),
            "n": row.n,
        }
        for row in rows
    ]
    return [f"{_TITLE}:", table(listed)] if listed else []


def set_shares(evaluated: EvaluatedSet) -> list[ShareRow]:
    """Return :func:`share_rows` of a set, with the ids of its models and the names of its data sets."""
    return share_rows((cell.model.id, cell.data_name, cell.result) for cell in evaluated.cells)


def share_tables(evaluated: EvaluatedSet) -> Iterator[str]:
    """Yield tables in LaTeX of methods by shares, for each model and metric; none without planted words."""
    rows = set_shares(evaluated)
    names = {cell.model.id: cell.model.name for cell in evaluated.cells}
    for model, metric in dict.fromkeys((row.model, row.metric) for row in rows):
        chosen = [row for row in rows if (row.model, row.metric) == (model, metric)]
        columns = sorted({(row.share, row.data) for row in chosen})
        cells = {(row.method, row.share, row.data): row for row in chosen}
        facts = evaluated.measures[metric]
        for start in range(0, len(columns), MOST_COLUMNS):
            part = columns[start : start + MOST_COLUMNS]
            headings = ["Method", *(stacked([f"{share:.0%}", data]) for share, data in part)]
            lines = [
                [
                    escaped(shown_name(method)),
                    *(
                        value_cell(facts, row.interval) if (row := cells.get((method, *column))) else "--"
                        for column in part
                    ),
                ]
                for method in dict.fromkeys(row.method for row in chosen)
            ]
            caption = escaped(f"{_TITLE}: {facts.directed_label}, model {names[model]}.")
            yield table_of_rows(caption, "l" + "c" * len(part), headings, lines)


def _rows(model: str, data: str, result: AnalysisResult[EvaluationData] | None) -> Iterator[ShareRow]:
    if result is None or not isinstance(result.body, EvaluationData) or result.body.planted is None:
        return
    planted, found = result.body.planted, table_of(shown(result).body, "ground_truth")
    for metric in found.metrics:
        for method in [*found.methods, *(name for name in found.controls if name == RANDOM)]:
            row = found.cells[method, metric]
            yield ShareRow(
                model=model,
                data=data,
                share=planted.share,
                method=method,
                metric=metric,
                n=row.n,
                **row.interval.model_dump(),
            )
