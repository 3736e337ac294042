"""Verdicts on a set of evaluations: over all cells, and metric by metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from explainlab.analyses.evaluation.sets.records import EvaluatedSet
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.sets.verdict import cells_words, none_done
from explainlab.analyses.summary import Measure
from explainlab.analyses.wording import counted, joined


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
