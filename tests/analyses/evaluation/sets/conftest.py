"""Sets of evaluations made by hand: three models, two of which differ in their seed alone, on one data set or two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.sets import EvaluatedSet
from explainlab.analyses.sets.records import SetCell, SetModel

C, S, OVERLAP = "comprehensiveness:preset=rpi", "sufficiency:preset=rpi", "ground_truth_overlap"
SMALL, SEED, LARGE = (
    SetModel("made:1", "made:1", "BERT", 1_000_000, "recipe"),
    SetModel("made:2", "made:2", "BERT", 1_000_000, "recipe"),
    SetModel("dir/large", "large", "BERT", 20_000_000, "dir/large"),
)
MakeSet = Callable[..., EvaluatedSet]


@pytest.fixture
def make_set(evaluated: AnalysisResult, table) -> MakeSet:
    """Make a set of ``{(model, data): {method: value}}`` for two metrics; None is a cell that failed.

    ``told_apart``: the methods that the test tells from the best.
    """
    return _maker(evaluated, table, [C, S])


@pytest.fixture
def with_rationales(evaluated: AnalysisResult, table) -> MakeSet:
    """Make the same set with a third metric, which compares with people's rationales."""
    return _maker(evaluated, table, [C, S, OVERLAP])


def _maker(evaluated: AnalysisResult, table, metrics: list[str]) -> MakeSet:
    def make(
        cells: dict[tuple[SetModel, str], dict[str, float] | None], told_apart: tuple[str, ...] = ()
    ) -> EvaluatedSet:
        made = []
        for (model, data), column in cells.items():
            result = column and replace(evaluated, body=table(dict.fromkeys(metrics, column), told_apart))
            made.append(
                SetCell(model, data, data.partition(":")[2], result or None, "" if column else "It <b>failed</b>.")
            )
        return EvaluatedSet(tuple(made))

    return make
