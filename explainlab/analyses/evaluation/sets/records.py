"""A set of evaluations, with numbers of its cells beyond the headline ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.table import best_row
from explainlab.analyses.evaluation.truth import kind_of
from explainlab.analyses.evaluation.verdict import metric_groups, shown_name
from explainlab.analyses.sets.records import SetCell, StudySet


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
