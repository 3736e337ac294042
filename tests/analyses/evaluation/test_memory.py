"""The memory of an evaluation hardly grows with its rows: while it runs, when it is stored, and when it is opened.

Each test measures in a process of its own: ``tracemalloc`` counts what all threads of a process allocate, and earlier
tests leave threads.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explainlab import disk_backed, evaluate, load_model
from explainlab.analyses import base, text_analysis
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation import statistics
from explainlab.analyses.evaluation.analysis import Evaluation
from explainlab.analyses.evaluation.statistics import facts_dtype
from explainlab.analyses.registry import complete, new_request
from explainlab.app.pages.benchmark import texts as listing
from explainlab.app.pages.benchmark.texts import cell_records
from explainlab.data import Row
from explainlab.data.rows import Rows
from explainlab.metrics import comparison
from explainlab.metrics.registry import parse_metric
from explainlab.models.context import Receivers, RunContext, sharded
from explainlab.result import Cost, written
from explainlab.service.store.store import Store
from tests import forked, zoo

FEW, MANY = 44, 124
"""Rows that leave the last group of texts full: 4, then 8 at a time."""
EVALUATED = 2_000
"""The most bytes that a run needs for a row with a text of 60 characters, beside its result."""
MOST_BYTES = {"kept": 60, "summarised": 300, "stored": 59, "opened": 59, "printed": 59, "listed": 59}
"""The most bytes of a row of the result: a few numbers, less than its text; for statistics, a few columns at a time."""


def _little_at_once() -> None:
    """Shrink every limit of rows in memory at a time, and begin to trace (in a process of its own)."""
    text_analysis.MOST_TOGETHER = 8
    listing.MOST_LISTED = comparison._RANKED = base.PART = 100
    comparison._RESAMPLES_AT_ONCE, comparison.RESAMPLES = 2_000, 20
    disk_backed.FEW, disk_backed.LITTLE, disk_backed._BLOCK = 10, 1, 1_000
    gc.collect()
    gc.freeze()
    tracemalloc.start()


def _tidy() -> RunContext:
    """Return a context that collects garbage before each group of texts, not when Python chooses."""
    context = sharded()
    return replace(context, progress=context.progress.then(Receivers(part=lambda _: gc.collect())))


def _peak(do: Callable[[], Any]) -> tuple[Any, int]:
    """Return the result of ``do``, and the peak of its memory in bytes."""
    gc.collect()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    return do(), tracemalloc.get_traced_memory()[1] - before


def _peaks_of_runs(folder: Path) -> list[int]:
    """Return the peaks of evaluations of :data:`FEW` and of :data:`MANY` rows."""
    classifier = load_model(str(zoo.build("bert", folder / "bert")), device="cpu")
    _little_at_once()

    def peak(rows: int) -> int:
        data = folder / f"{rows}.csv"
        texts = (f"a good film, a great story and wonderful acting, number {i:03}" for i in range(rows))
        data.write_text("text,label\n" + "".join(f'"{text}",neutral\n' for text in texts))
        return _peak(lambda: evaluate(classifier, str(data), ["gradient"], ["comprehensiveness"], context=_tidy()))[1]

    return [peak(rows) for rows in (16, FEW, MANY)][1:]


@pytest.mark.full("a process of its own for each number of rows: 14 s")
def test_memory_of_a_run_hardly_grows_with_the_rows(tmp_path: Path) -> None:
    few, many = forked.answer_of(_peaks_of_runs, tmp_path)
    assert many - few < EVALUATED * (MANY - FEW)


def _growth_of_a_result(folder: Path) -> dict[str, float]:
    """Return how many bytes a result's peak grows with each row, at every stage of its life."""
    _little_at_once()
    asked = {"methods": ["gradient"], "metrics": ["comprehensiveness", "sufficiency"]}
    question = {"question": "evaluation", "model": "embedded:bert-mini-sst2", "data": "embedded:sentiment"}
    request = complete(new_request(**question, parameters=asked))
    analysis, store = Evaluation(), Store(f"sqlite:///{folder / 'store.sqlite'}")
    parameters = analysis.parameters(request)
    needs = analysis.requirements(parameters)

    def kept(n: int) -> tuple[Rows, disk_backed.DiskTable]:
        rows, table, rng = Rows(), needs.table(["negative", "positive"], n), np.random.default_rng(0)
        for i in range(n):
            rows.append(Row(i + 1, f"a good film, a great story and wonderful acting, number {i:04}", label="positive"))
            values, taus = rng.normal(size=(3, 2)), rng.uniform(size=(2, 1))
            table[i] = (values, [True] * 2, *taus, [(1, 1)] * 2, [False] * 2, [True] * 2, i % 30, "negative", i, "")
        return rows, table

    def peaks(n: int) -> dict[str, int]:
        (rows, table), most = _peak(lambda: kept(n))
        stages = {"kept": most}
        body, stages["summarised"] = _peak(lambda: analysis.of_rows(rows, table, parameters))
        result = AnalysisResult(request=request, body=body, cost=Cost(1, 1, 1.0), versions={})
        _, stages["stored"] = _peak(lambda: store.put(f"{n:064}", result))
        again, stages["opened"] = _peak(lambda: store.get(f"{n:064}"))
        _, stages["printed"] = _peak(lambda: sum(map(len, written(again.in_parts()))))
        _, stages["listed"] = _peak(lambda: cell_records(again.body, "random", body.rows[0].asked, "best"))
        assert again.body == body
        return stages

    peaks(190)  # Python's own first allocations
    few, many = peaks(200), peaks(1_000)
    return {stage: (many[stage] - few[stage]) / 800 for stage in few}


@pytest.mark.full("a process of its own for each number of texts: 7 to 20 s")
def test_memory_of_a_result_does_not_grow_with_its_texts(tmp_path: Path) -> None:
    """The texts alone are 60 bytes each, and their values and facts 170."""
    grown = forked.answer_of(_growth_of_a_result, tmp_path)
    assert grown.keys() == MOST_BYTES.keys()
    assert all(grown[stage] < most for stage, most in MOST_BYTES.items()), grown


def _growth_of_statistics() -> dict[str, float]:
    """Return how many bytes the peak grows with each text, for every kind of statistics."""
    comparison._RESAMPLES_AT_ONCE, comparison.RESAMPLES, comparison._RANKED = 50_000, 200, 500
    names = [f"method {i}" for i in range(12)]
    table = [*names, *(f"reversed:{name}" for name in names)]
    metrics = [parse_metric("comprehensiveness"), parse_metric("log_odds")]

    def peaks(n: int) -> dict[str, int]:
        rng, facts = np.random.default_rng(0), disk_backed.DiskTable(facts_dtype(12, 0, 12, 2, ["a", "b"]), n)
        facts["tau"][:], facts["conflicts"][:] = rng.uniform(size=(2, n, 66))
        facts["features"][:], facts["predicted"][:] = rng.integers(5, 50, size=n), "a"
        facts["values"][:] = rng.normal(size=(n, 24, 2))
        rows = [Row(i, "", label="ab"[i % 2]) for i in range(n)]
        values = statistics.columns(metrics, facts["values"])
        comparisons = statistics.compared(12, metrics, values)
        stages: dict[str, Callable[[], Any]] = {
            "comparisons": lambda: statistics.compared(12, metrics, values),
            "rows": lambda: statistics.method_rows(table, metrics, comparisons, facts),
            "ranks": lambda: statistics.ranked(names, metrics, comparisons),
            "agreement": lambda: statistics.agreements(names, [True] * 12, rows, facts),
            "slices": lambda: statistics.slices(table, metrics, values, rows, facts),
        }
        return {stage: _peak(do)[1] for stage, do in stages.items()}

    tracemalloc.start()
    peaks(60)
    few, many = peaks(1_500), peaks(3_500)
    return {stage: (many[stage] - few[stage]) / 2_000 for stage in few}


@pytest.mark.full("a process of its own for each number of texts: 10 s")
def test_memory_of_the_statistics_hardly_grows_with_the_texts() -> None:
    """The values of 12 methods and their controls by two metrics alone are 384 bytes of a text."""
    grown = forked.answer_of(_growth_of_statistics)
    assert all(most < 100 for most in grown.values()), grown
