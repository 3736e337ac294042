"""What a set of evaluations says in words: over all cells, and metric by metric."""

from __future__ import annotations

from collections import Counter

from explainlab.analyses.evaluation.sets.records import EvaluatedSet
from explainlab.analyses.evaluation.table import best_row
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.numbers import Measure
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.sets.records import SetCell
from explainlab.analyses.sets.verdict import cells_words, none_done
from explainlab.analyses.wording import counted, joined


def set_overview(evaluated: EvaluatedSet) -> str:
    """Which method is best how often, over all telling metrics of all cells, in one sentence."""
    every = [(metric, best) for metric in evaluated.telling for best in evaluated.best(metric)]
    if not every:
        return none_done(evaluated)
    firsts = Counter(best.method for _, best in every)
    (first, times), *others = firsts.most_common()
    listed = [f"{_named(name)} in {count}" for name, count in others]
    over = f"Over {cells_words(evaluated)} and {counted(len(evaluated.telling), 'metric')}"
    best = f"{_named(first)} is best in {'all' if times == len(every) else f'{times} of'} {len(every)} comparisons"
    return f"{over}, {'; '.join(filter(None, (best, joined(listed) if listed else '')))}."


def set_paragraphs(evaluated: EvaluatedSet) -> list[str]:
    """A sentence a metric: who is best in how many cells, and in how many of these all others are told apart."""
    return [_metric_words(evaluated, metric, facts) for metric, facts in evaluated.measures.items()]


def _metric_words(evaluated: EvaluatedSet, metric: str, facts: Measure) -> str:
    firsts: dict[str, list[SetCell]] = {}
    for cell in evaluated.done:
        best = best_row(evaluated.bodies[cell.model.id, cell.data], metric)
        if best is not None:
            firsts.setdefault(best.method, []).append(cell)
    if not firsts:
        return f"By {facts.label}, no method has a value."
    ordered = sorted(firsts, key=lambda name: -len(firsts[name]))
    parts = [f"{_named(name)} in {counted(len(firsts[name]), 'cell')}" for name in ordered]
    alone = sum(_stands_alone(evaluated, cell, metric) for cells in firsts.values() for cell in cells)
    told = "in none are all others" if not alone else f"in {alone} all others are"
    return f"By {facts.label}, the best is {joined(parts)}; {told} told apart from it."


def _stands_alone(evaluated: EvaluatedSet, cell: SetCell, metric: str) -> bool:
    """Whether the best of ``metric`` in a cell is told apart from every other method."""
    rows = [row for row in evaluated.bodies[cell.model.id, cell.data].rows if row.asked == metric]
    apart = [row.told_apart for row in rows if row.method in evaluated.series and row.to_best is not None]
    return bool(apart) and all(apart)


def _named(name: str) -> str:
    return "a random map" if name == RANDOM else shown_name(name)
