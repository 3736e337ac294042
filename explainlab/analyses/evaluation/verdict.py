"""Which method a metric puts first, which it does not tell apart from that, and how far above random that is."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.analyses.evaluation.result import REVERSED, EvaluationData, EvaluationText, MethodMetric
from explainlab.analyses.evaluation.table import best_row
from explainlab.analyses.evaluation.truth import said_by
from explainlab.analyses.numbers import Measure, Number
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.wording import ahead, ahead_on_a_text, counted, joined, mean_words
from explainlab.attribution.registry import chosen_by, label_of
from explainlab.metrics.registry import MetricRequest, parse_metric
from explainlab.text.rationale import ABSENCES


def shown_name(name: str) -> str:
    """The label of what is evaluated."""
    return f"{label_of(name.removeprefix(REVERSED))}{', reversed' if name.startswith(REVERSED) else ''}"


def headline_numbers(body: EvaluationData) -> list[Number]:
    """Every mean, with what its metric is compared with; the reversed controls are left out."""
    return [
        Number(
            Measure(row.asked, said_by(body, row), row.higher_is_better),
            row.interval,
            row.n,
            row.method,
            shown_name(row.method),
        )
        for row in body.rows
        if not row.method.startswith(REVERSED)
    ]


def text_verdict(body: EvaluationText, metric: MetricRequest) -> str:
    """Who is ahead on a text, beside random."""
    values = {
        shown_name(name): value
        for name, row in body.values.items()
        if (value := row[metric.name]) is not None and not name.startswith(REVERSED)
    }
    if not values:
        return f"no method has a value{f': {ABSENCES[body.undefined]}' if body.undefined else ''}"
    return ahead_on_a_text(values, metric.higher_is_better)


def data_verdict(body: EvaluationData, metric: MetricRequest) -> str:
    """The best method, those that are not told apart from it, and its difference to random.

    Of a result without tests, which is older than these, what its intervals allow. Methods that pick their map by this
    very metric are named, and where one of them is best, the best of the others.
    """
    return _compared(body, metric) + _flattered(body, metric)


def _compared(body: EvaluationData, metric: MetricRequest) -> str:
    rows = [row for row in _candidates(body, metric.name) if row.mean is not None]
    if not rows:
        return "no method has a value"
    best = next((row for row in rows if row.to_best is None), None)
    others = [row for row in rows if row.to_best is not None]
    if best is None or not others:
        return ahead({shown_name(row.method): row.interval for row in rows}, metric.higher_is_better)
    tied = [row for row in others if not row.told_apart]
    if not tied:
        return f"{_best(best, others)}, and all others are told apart from it"
    return f"{_best(best, others)}; {_untold(tied)} not told apart from it"


def _flattered(body: EvaluationData, metric: MetricRequest) -> str:
    rows = [row for row in _candidates(body, metric.name) if row.mean is not None]
    flattered = {row.method for row in rows if chosen_by(row.method) == metric.metric}
    if not flattered:
        return ""
    names = joined([shown_name(row.method) for row in rows if row.method in flattered])
    words = f"; {names} {'picks its map' if len(flattered) == 1 else 'pick their maps'} by this very metric"
    first, *others = sorted(rows, key=lambda row: -row.sign * (row.mean or 0.0))
    best = next((row for row in others if row.method not in {*flattered, RANDOM}), None)
    if first.method not in flattered or best is None:
        return words
    return f"{words}, of the others {shown_name(best.method)} is first with {mean_words(best.interval)}"


def overview(body: EvaluationData) -> str:
    """Who is best by which metrics, in one sentence."""
    best_by: dict[str, list[str]] = {}
    for metric in _metrics(body):
        if best := best_row(body, metric):
            best_by.setdefault(best.method, []).append(best.label)
    beaten = best_by.pop(RANDOM, [])
    every = len(_metrics(body))
    parts = [f"{shown_name(name)} is best by {_listed(labels, every)}" for name, labels in best_by.items()]
    parts += [f"no method is better than a random one by {_listed(beaten, every)}"] if beaten else []
    return f"Over {counted(body.n, 'text')}, {'; '.join(parts) or 'no method has a value'}."


def paragraphs(body: EvaluationData) -> list[str]:
    """A sentence for every metric (:func:`data_verdict`), for what scored nothing, and for what the methods cost."""
    metrics = [parse_metric(name) for name in _metrics(body)]
    words = [f"By {said_by(body, metric)}, {data_verdict(body, metric)}." for metric in metrics]
    words += [f"{shown_name(name)} scored nothing in {counted(n, 'text')}." for name, n in body.failed.items()]
    costs = {name: (cost.forward + cost.backward) / body.n for name, cost in body.cost_by_method.items()}
    ordered = sorted((name for name in costs if name != RANDOM), key=lambda name: costs[name])
    if not ordered:
        return words
    listed = "; ".join(f"{shown_name(name)} {_passes(costs[name])}" for name in ordered)
    return [*words, f"Passes that a text takes: {listed}."]


def _metrics(body: EvaluationData) -> list[str]:
    return list(dict.fromkeys(row.asked for row in body.rows))


def _candidates(body: EvaluationData, metric: str) -> list[MethodMetric]:
    return [row for row in body.rows if row.asked == metric and not row.method.startswith(REVERSED)]


def _listed(labels: Sequence[str], every: int) -> str:
    return f"all {every} metrics" if len(labels) == every > 2 else joined(labels)


def _passes(passes: float) -> str:
    return f"{passes:,.0f}" if passes >= 10 or passes == round(passes) else f"{passes:.1f}"


def _best(best: MethodMetric, others: Sequence[MethodMetric]) -> str:
    if best.method == RANDOM:
        return f"no method is better than a random one ({mean_words(best.interval)})"
    random = next((row.to_best for row in others if row.method == RANDOM), None)
    beside = "" if random is None else f", {mean_words(random)} better than random"
    return f"{shown_name(best.method)} is best with {mean_words(best.interval)}{beside}"


def _untold(rows: Sequence[MethodMetric]) -> str:
    return f"{joined([shown_name(row.method) for row in rows])} {'is' if len(rows) == 1 else 'are'}"
