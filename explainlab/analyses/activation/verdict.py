"""Whose order tells a classifier's answer soonest, in words."""

from __future__ import annotations

from explainlab.analyses.activation.result import ActivationData, ActivationText
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.wording import counted, joined, leaders, mean_words, quoted
from explainlab.metrics.trust import TIE
from explainlab.request import Unit


def text_verdict(body: ActivationText, unit: Unit) -> str:
    """The methods with the largest area on this text, beside random, and when the prediction stays the target."""
    areas = {method.method: body.curve(method.method, "activation").auc for method in body.methods}
    labels = {method.method: method.label for method in body.methods}
    best, random = max(areas.values()), areas.get(RANDOM)
    first = [name for name, area in areas.items() if best - area <= TIE]
    target, words = quoted(body.target.label), counted(body.features_revealed, unit)
    if RANDOM in first:
        return f"No method tells {target} sooner than a random order of the {words} (area {best:.2f})."
    whose = f"{joined([labels[name] for name in first])} {'tells' if len(first) == 1 else 'tell'}"
    beside = "" if random is None else f"; a random order has {random:.2f}"
    flip = body.curve(first[0], "activation").flip
    if flip is None:
        when = f"even all {words} do not make it the prediction"
    elif flip == 0:
        when = f"it is predicted before any of the {words} is shown"
    else:
        when = f"after {flip:,} of {words} it stays predicted"
    return f"On this text {whose} {target} soonest: {when} (area {best:.2f}{beside})."


def data_verdict(body: ActivationData) -> str:
    """The methods with the largest mean area; those whose intervals overlap the best one's are not put behind it."""
    areas = {row.method: row.activation for row in body.rows}
    labels = {row.method: row.label for row in body.rows}
    first, over = leaders(areas), counted(body.n, "text")
    best = first[0]
    if body.n == 1:
        return f"One text ranks nothing: {labels[best]} has the largest area, {areas[best].mean:.2f}."
    if RANDOM in first:
        return (
            f"Over {over} no method tells the target clearly sooner than a random order ({mean_words(areas[RANDOM])})."
        )
    beside = f"; a random order has {mean_words(areas[RANDOM])}" if RANDOM in areas else ""
    if len(first) == 1:
        return (
            f"Over {over} {labels[best]} tells the target soonest, with an area of {mean_words(areas[best])}{beside}."
        )
    rest = joined([f"{labels[name]} {mean_words(areas[name])}" for name in first])
    return f"Over {over} the intervals of the first {len(first)} overlap, so that none is ahead: {rest}{beside}."
