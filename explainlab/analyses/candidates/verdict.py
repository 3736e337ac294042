"""The gain of choosing among many attributions, in words: by the reported metric, and by another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from explainlab.analyses import too_short
from explainlab.analyses.candidates.result import CandidatesData, CandidatesText, Selection
from explainlab.analyses.records import MetricFacts, metric_of
from explainlab.analyses.significance import groups_of
from explainlab.analyses.summary import interval
from explainlab.analyses.wording import counted, interval_words
from explainlab.metrics.evaluate import TIE

_LITTLE = 0.1
_ALONE = "that is by the very metric that chose, and there is no other to hold it against"


def text_verdict(body: CandidatesText, key: str = "") -> str:
    """Compare the best of a text's attributions with their mean, and with the choices of other metrics.

    ``key`` is the reported metric (empty: the first).
    """
    key = key or next(iter(body.selection))
    chosen = body.selection[key]
    metric, every = metric_of(body.metrics, key), _others(body.selection, body.metrics, key)
    others = [other for other in every if other not in body.undecided]
    gain, n = metric.sign * (chosen.best - chosen.mean), len(body.candidates)
    if n == 1:
        return "There is only 1 map of this text, so nothing is chosen."
    if gain <= TIE:
        return f"{metric.label} cannot tell the {n:,} maps apart: it is {chosen.mean:.4f} for all of them."
    first = f"Choosing among {n:,} {_moves(metric, chosen.mean, chosen.best)} on this text"
    if not others:
        return f"{first}; {_ALONE}."
    left = float(np.mean([metric.sign * (chosen.held_out[other] - chosen.mean) for other in others])) / gain
    return f"{first}; {_chosen_by(len(others))} {_left(left)}."


def data_verdict(body: CandidatesData, key: str = "") -> str:
    """Say the same over a data set; the rest of the gain has its interval, and a paired test compares it with zero."""
    key = key or next(iter(body.selection))
    means, metric, over = body.selection[key], metric_of(body.metrics, key), counted(body.summary.n, "text")
    others = _others(body.selection, body.metrics, key)
    rows = too_short.long_enough(body.texts, [text.counted for text in body.texts], key)
    texts = [text.selection[key] for text in rows]
    told = [(metric.asked, metric.label, body.summary.counted.get(key, body.summary.n))]
    short = "".join(f" {words}" for words in too_short.left_out(told, body.summary.n))
    if not texts:
        return short.strip()
    gain = interval([metric.sign * (text.best - text.mean) for text in texts]).mean or 0.0
    if gain <= TIE:
        return f"{metric.label} cannot tell the maps of the {over} apart, so nothing is chosen.{short}"
    moves = _moves(metric, means.mean.mean or 0.0, means.best.mean or 0.0)
    left = [metric.sign * _held_out_gain(text, others) for text in texts] if others else []
    rest = f"{_chosen_by(len(others))} {_mean_left(left, gain)}" if left else _ALONE
    undecided = body.undecided(key)
    after = f" In {undecided:,} of them it cannot tell the maps apart." if undecided else ""
    return f"Choosing among {body.draws[-1]:,} {moves} over {over}; {rest}.{after}{short}"


def _others(keys: Mapping[str, object], metrics: Sequence[MetricFacts], key: str) -> list[str]:
    """Return the other metrics reported; the same at another k, or over several, is not another metric."""
    families = {other: metric_of(metrics, other).metric.removeprefix("aopc_") for other in keys}
    return [other for other in keys if families[other] != families[key]]


def _held_out_gain(text: Selection, others: Sequence[str]) -> float:
    return float(np.mean([text.held_out[other] for other in others])) - text.mean


def _moves(metric: MetricFacts, mean: float, best: float) -> str:
    digits = 2 if f"{mean:.2f}" != f"{best:.2f}" else 4
    verb = "raises" if metric.higher_is_better else "lowers"
    return f"{verb} {metric.label} from {mean:.{digits}f} to {best:.{digits}f}".replace(" -", " −")


def _chosen_by(metrics: int) -> str:
    return "chosen by another metric," if metrics == 1 else f"chosen by {metrics} other metrics,"


def _mean_left(left: Sequence[float], gain: float) -> str:
    """Say the part of a gain that remains, if a paired test distinguishes it from zero."""
    mean = interval(left)
    if mean.mean is None or mean.low is None:
        return _left((mean.mean or 0.0) / gain)
    share = f"{mean.mean:+.3f} of {gain:+.3f} ({interval_words(mean, '+.3f')})".replace("-", "−")
    groups = groups_of({"chosen": left, "without a choice": [0.0] * len(left)})
    if not groups.winner:
        return f"nothing certain is left of it: {share}"
    some = "some of it is left" if groups.winner == "chosen" else "the maps are worse than without a choice"
    return f"{some}: {share}"


def _left(share: float) -> str:
    """Say which share of a gain remains, where the gain by chance is unknown."""
    if share < -_LITTLE:
        return "the map is worse than without a choice"
    if share <= _LITTLE:
        return "nothing is left of it"
    return "all of it is left" if share > 1 - TIE else f"{share:.0%} of it is left"
