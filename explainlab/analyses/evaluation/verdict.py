"""The methods that a metric separates, and the distance of the best one from random, in words."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from explainlab.analyses import too_short
from explainlab.analyses.evaluation.result import REVERSED, EvaluationData, EvaluationText, MethodMetric, said_by
from explainlab.analyses.evaluation.table import metric_row
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.significance import Groups, grouped
from explainlab.analyses.summary import Measure, Number
from explainlab.analyses.wording import ahead_on_a_text, counted, joined, mean_words
from explainlab.attribution.registry import chosen_by, label_of
from explainlab.metrics.registry import MetricSpec, parse_metric
from explainlab.text.units import ABSENCES


def shown_name(name: str) -> str:
    """Return the label of an evaluated method or control."""
    return f"{label_of(name.removeprefix(REVERSED))}{', reversed' if name.startswith(REVERSED) else ''}"


def headline_numbers(body: EvaluationData) -> list[Number]:
    """Return every mean with the standard of its metric, without the reversed controls."""
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


def text_verdict(body: EvaluationText, metric: MetricSpec) -> str:
    """Name the methods with the best value of a text, beside random."""
    values = {
        shown_name(name): value
        for name, row in body.values.items()
        if (value := row[metric.name]) is not None and not name.startswith(REVERSED)
    }
    if not values:
        why = (
            ABSENCES[body.undefined]
            if body.undefined
            else ""
            if body.counted[metric.name]
            else too_short.too_short(metric)
        )
        return f"no method has a value{f': {why}' if why else ''}"
    return ahead_on_a_text(values, metric.higher_is_better)


def metric_groups(body: EvaluationData, metric: str, of: int = 1, without: Collection[str] = ()) -> Groups:
    """Group the methods by a metric (its name ``asked``), by the test whose diagram the page draws.

    ``of`` as for :func:`explainlab.analyses.significance.grouped`. ``without``: methods to leave out.
    """
    key = metric_row(body, metric).key
    tested = next(each for each in body.critical if each.metric == key)
    rows = [row for row in _candidates(body, metric) if row.method not in without]
    ranks = {rank.method: rank.rank for rank in body.ranks if rank.metric == key}
    pairs = {frozenset((pair.first, pair.second)): pair.p for pair in tested.pairs}
    p = [[pairs.get(frozenset((a.method, b.method))) for b in rows] for a in rows]
    means = {row.method: _number(row.mean) for row in rows}
    return grouped(
        means,
        np.array(p, dtype=np.float64),
        [_number(ranks[name]) for name in means],
        rows[0].higher_is_better,
        of,
    )


def data_verdict(body: EvaluationData, metric: MetricSpec) -> str:
    """Name the groups of methods; a single best one has its mean and its difference to random.

    Methods that pick their map by this very metric are named, and where one of them is among the first, so are the
    groups of the others.
    """
    groups = metric_groups(body, metric.name)
    if not groups.first:
        return _words(groups)
    chosen = [name for name in (*groups.first, *groups.between, *groups.worse) if chosen_by(name) == metric.metric]
    return f"{_best(body, metric.name, groups)}{_flattered(body, metric, groups, chosen) if chosen else ''}"


def _flattered(body: EvaluationData, metric: MetricSpec, groups: Groups, chosen: Sequence[str]) -> str:
    names = joined([shown_name(name) for name in chosen])
    words = f"; {names} {'picks its map' if len(chosen) == 1 else 'pick their maps'} by this very metric"
    others = metric_groups(body, metric.name, without=chosen)
    if not {*chosen} & {*groups.first} or not {*others.first, *others.worse} - {RANDOM}:
        return words
    return f"{words}, and of the others {_words(others)}"


def overview(body: EvaluationData) -> str:
    """Name the groups of methods by every metric; metrics with the same groups stand together."""
    metrics = [metric_row(body, name) for name in _metrics(body)]
    alike: dict[str, list[str]] = {}
    for metric in metrics:
        alike.setdefault(_words(metric_groups(body, metric.asked)), []).append(metric.label)
    told = (f"{_listed(labels, len(metrics))}, {words}" for words, labels in alike.items())
    return " ".join([f"Over {counted(body.n, 'text')}, by {'. By '.join(told)}.", *left_out(body)])


def left_out(body: EvaluationData, names: Collection[str] = ()) -> list[str]:
    """Say the number of texts too short for each metric, whose value they lack; empty if there are none.

    ``names``: the metrics (their names ``asked``), all unless given. Metrics that leave out equally many are joined.
    """
    rows = [metric_row(body, name) for name in names or _metrics(body)]
    return too_short.left_out([(row.asked, row.label, row.counted) for row in rows], body.n)


def paragraphs(body: EvaluationData) -> list[str]:
    """Return a sentence for every metric (:func:`data_verdict`), for methods without scores, and for the costs."""
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


def _words(groups: Groups) -> str:
    """Name the groups without numbers."""
    if not groups.first:
        return "no method has a value"
    if groups.winner == RANDOM:
        return f"no method is better than a random one{groups.others(shown_name)}"
    return groups.words(shown_name)


def _best(body: EvaluationData, metric: str, groups: Groups) -> str:
    """Name the groups; a single best method has its mean, and its difference to random."""
    rows = {row.method: row for row in _candidates(body, metric)}
    if not groups.winner:
        return _words(groups)
    mean = mean_words(rows[groups.winner].interval)
    if groups.winner == RANDOM:
        return f"no method is better than a random one ({mean}){groups.others(shown_name)}"
    random = rows[RANDOM].to_best if RANDOM in rows else None
    beside = "" if random is None else f", {mean_words(random)} better than random"
    return f"{shown_name(groups.winner)} is best with {mean}{beside}{groups.others(shown_name)}"


def _number(value: float | None) -> float:
    return math.nan if value is None else value
