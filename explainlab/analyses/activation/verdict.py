"""The method whose order reveals a classifier's answer soonest, in words."""

from __future__ import annotations

from explainlab.analyses.activation.result import ActivationData, ActivationText
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.significance import groups_of
from explainlab.analyses.wording import counted, joined, mean_words, quoted
from explainlab.metrics.evaluate import TIE
from explainlab.request import Unit


def text_verdict(body: ActivationText, unit: Unit) -> str:
    """Name the methods with the largest area on this text, beside random, and the step that settles the prediction."""
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
    """Name the groups of methods by a paired test of their areas; a single best one has its mean."""
    rows, over = {row.method: row for row in body.rows}, counted(body.n, "text")
    groups = groups_of({name: body.areas(name, "activation") for name in rows})
    first, others = max(body.rows, key=lambda row: row.activation.mean), groups.others(lambda name: rows[name].label)
    if body.n == 1:
        return f"One text ranks nothing: {first.label} has the largest area, {first.activation.mean:.2f}."
    mean = mean_words(first.activation)
    if groups.winner == RANDOM:
        return f"Over {over} no method tells the target sooner than a random order ({mean}){others}."
    beside = f"; a random order has {mean_words(rows[RANDOM].activation)}" if RANDOM in rows else ""
    if groups.winner:
        return f"Over {over} {first.label} tells the target soonest, with an area of {mean}{others}{beside}."
    return f"Over {over} {groups.words(lambda name: rows[name].label)}{beside}."
