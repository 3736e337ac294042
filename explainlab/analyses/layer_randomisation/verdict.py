"""The similarity of rankings with random weights to those of the model, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explainlab.analyses.layer_randomisation.result import Control, RandomisationData, RandomisationText, Survival
from explainlab.analyses.wording import counted, joined, mean_words


def verdict(body: RandomisationText | RandomisationData) -> str:
    """Say which methods still rank features by |score| as on the model itself, more than random maps do.

    A ranking survives if the whole interval of its rho, or its value on a single text, is above 95% of random maps; the
    highest rho comes first.
    """
    over = f"Over {counted(body.n, 'text')}" if isinstance(body, RandomisationData) else "On this text"
    rows = [row for row in body.rows if row.absolute and row.mean is not None]
    if not rows:
        return f"{over} no rank correlation is defined: none of {counted(len(body.methods), 'method')} can be judged."
    labels = {method.method: method.label for method in body.methods}
    last = [row for row in rows if row.mode == "cascading" and row.unit == body.units[-1]]
    if not last:
        return _one_by_one(over, len(body.units), rows, labels)
    controls = {control.method: control for control in body.controls if control.absolute}
    limit = max(controls[row.method].random.high or 0.0 for row in last)
    random = body.units[0] if len(body.units) == 1 else f"all from {body.units[0]} to {body.units[-1]}"
    last.sort(key=lambda row: -(row.mean or 0.0))
    kept = [row for row in last if survives(row, controls[row.method])]
    if kept:
        told = joined([f"{labels[row.method]} ({_words(row, controls[row.method])})" for row in kept])
        rest = [labels[row.method] for row in last if row not in kept]
        nothing = f", and nothing of those by {joined(rest)}" if rest else ""
        return (
            f"{over}, with {random} random, something is left of the rankings of |scores| by {told}{nothing} "
            f"(random maps: ρ up to {limit:.2f})."
        )
    best = last[0]
    return (
        f"{over}, with {random} random, no ranking of |scores| survives: the highest is that of {labels[best.method]} "
        f"(ρ {mean_words(best.interval, '.2f')}; random maps: up to {limit:.2f})."
    )


def survives(row: Survival, control: Control) -> bool:
    """Return True if rho is clearly above the rho of random maps."""
    value = row.mean if row.low is None else row.low
    return value is not None and control.random.high is not None and value > control.random.high


def _words(row: Survival, control: Control) -> str:
    return f"ρ {mean_words(row.interval, '.2f')}, the mere order of the text {control.order.mean:.2f}"


def _one_by_one(over: str, units: int, rows: Sequence[Survival], labels: dict[str, str]) -> str:
    """Order the methods by their mean rho over the units, each random alone."""
    means = {
        label: float(np.mean([row.mean for row in rows if row.method == name and row.mean is not None]))
        for name, label in labels.items()
        if any(row.method == name for row in rows)
    }
    told = joined([f"{label} {mean:.2f}" for label, mean in sorted(means.items(), key=lambda pair: -pair[1])])
    return f"{over}, with one of {counted(units, 'unit')} random at a time, the mean ρ of |scores| is: {told}."
