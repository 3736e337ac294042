"""An evaluated set of models and data sets: its records, shares of planted words, and the answer in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from explainlab.analyses.base import AnalysisResult, Record
from explainlab.analyses.evaluation.result import EvaluationData, kind_of, shown
from explainlab.analyses.evaluation.table import best_row, table_of
from explainlab.analyses.evaluation.verdict import metric_groups, shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.records import Interval
from explainlab.analyses.sets.records import SetCell, StudySet
from explainlab.analyses.sets.table import MOST_COLUMNS, value_cell
from explainlab.analyses.sets.verdict import cells_words, none_done
from explainlab.analyses.summary import Measure, table
from explainlab.analyses.wording import counted, joined
from explainlab.figures.latex import escaped, stacked, table_of_rows


@dataclass(frozen=True)
class EvaluatedSet(StudySet):
    """The evaluations of all models on all data sets; their measures are metrics, by the names in the requests."""

    @cached_property
    def bodies(self) -> dict[tuple[str, str], EvaluationData]:
        """The results by model and data set."""
        return {(cell.model.id, cell.data): cell.result.body for cell in self.done if cell.result}

    @cached_property
    def telling(self) -> list[str]:
        """The metrics that measure how good a method is: not agreement with people, unless there is nothing else."""
        kinds = {row.asked: kind_of(body, row.metric) for body in self.bodies.values() for row in body.rows}
        return [name for name, kind in kinds.items() if kind != "plausibility"] or list(kinds)

    def winner(self, cell: SetCell, metric: str) -> str | None:
        """Name the method that ``metric`` separates from all others in a cell; empty for none, None without a value.

        The test corrects for all cells and telling metrics.
        """
        body = self.bodies.get((cell.model.id, cell.data))
        if body is None or best_row(body, metric) is None:
            return None
        return metric_groups(body, metric, len(self.bodies) * len(self.telling)).winner

    def winners(self, metric: str) -> list[str]:
        """List the :meth:`winner` of each cell that has a value."""
        winners = (self.winner(cell, metric) for cell in self.cells)
        return [name for name in winners if name is not None]


def set_rows(evaluated: EvaluatedSet) -> list[dict[str, object]]:
    """Return every number of every cell as a flat row; a cell without a result has one row with its reason.

    ``share``, only of ground truth: the share of rows with a planted word in the cell's data, from 0 to 1.
    """
    return [row for cell in evaluated.cells for row in _rows(cell) or [cell.facts]]


def _rows(cell: SetCell) -> list[dict[str, object]]:
    if cell.result is None:
        return []
    body: EvaluationData = cell.result.body
    return [
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
            **({"share": body.planted.share} if body.planted and kind_of(body, row.metric) == "ground_truth" else {}),
        }
        for row in body.rows
    ]


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
    rows = [row for cell in cells for row in _share_rows(*cell)]
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


def _share_rows(model: str, data: str, result: AnalysisResult[EvaluationData] | None) -> Iterator[ShareRow]:
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


def set_overview(evaluated: EvaluatedSet) -> str:
    """Count how often each method is the single best one, over all telling metrics of all cells, in one sentence."""
    winners = [winner for metric in evaluated.telling for winner in evaluated.winners(metric)]
    if not winners:
        return none_done(evaluated)
    over = f"Over {cells_words(evaluated)} and {counted(len(evaluated.telling), 'metric')}"
    return f"{over}, {_counted(winners, 'comparison')}."


def set_paragraphs(evaluated: EvaluatedSet) -> list[str]:
    """Count by metric in how many cells each method is the single best one, in a sentence each."""
    return [_metric_words(evaluated, metric, facts) for metric, facts in evaluated.measures.items()]


def _metric_words(evaluated: EvaluatedSet, metric: str, facts: Measure) -> str:
    winners = evaluated.winners(metric)
    return f"By {facts.label}, {_counted(winners, 'cell') if winners else 'no method has a value'}."


def _counted(winners: Sequence[str], unit: str) -> str:
    """Count how often each of the ``winners`` occurs; an empty one stands for none."""
    alone = Counter(filter(None, winners)).most_common()
    untold, every = winners.count(""), len(winners)
    told = [f"{_named(name)} is best in {_of(times, every, unit)}" for name, times in alone]
    told += [f"the best ones cannot be distinguished in {_of(untold, every, unit)}"] if untold else []
    return joined(told)


def _of(times: int, every: int, unit: str) -> str:
    return f"all {counted(every, unit)}" if times == every > 1 else f"{times} of {counted(every, unit)}"


def _named(name: str) -> str:
    return "a random map" if name == RANDOM else shown_name(name)
