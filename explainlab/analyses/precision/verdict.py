"""The effect of half precision on explanations, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from explainlab.analyses.precision.result import (
    Control,
    FormatFacts,
    PrecisionData,
    PrecisionRow,
    PrecisionText,
    Read,
)
from explainlab.analyses.wording import counted, interval_words, joined, mean_words, whole_percent

Body = PrecisionText | PrecisionData
SAME, ALIKE = 0.99, 0.9
"""The least rank correlations of maps that are nearly the same, and that are much alike."""


def verdict(body: Body) -> str:
    """Say how each number format changes maps and model, then how large such numbers are without any rounding."""
    over = f"over {counted(body.n, 'text')}" if isinstance(body, PrecisionData) else "on this text"
    told = [_format_words(body, own, "" if place else f", {over}") for place, own in enumerate(body.formats)]
    return " ".join([*told, *_controls_words(body)])


def _format_words(body: Body, own: FormatFacts, over: str) -> str:
    rows = [row for row in body.rows if row.dtype == own.dtype]
    known = [row for row in rows if row.rank_correlation.mean is not None]
    finite = sum(read.logits is not None for read in _read(body, own))
    unread = len(body.texts) - finite
    if not finite:
        return f"{own.dtype} cannot be used{over}: its logits are no finite numbers."
    words = f"{_answer(own, known, body)}{over}: {_maps_words(body, known)}; {_model_words(body, rows[0], finite)}."
    if unread:
        words += f" For {unread:,} of {counted(len(body.texts), 'text')} its logits are no finite numbers."
    broken = max(row.broken for row in rows) - unread
    if broken:
        words += f" For up to {counted(broken, 'text')} a method gives no map in it."
    if not own.rounded:
        words += f" The files hold no more digits than {own.dtype}, so that only the computation is rounded."
    return words


def _read(body: Body, own: FormatFacts) -> list[Read]:
    return [read for text in body.texts for read in text.read if read.dtype == own.dtype]


def _answer(own: FormatFacts, rows: Sequence[PrecisionRow], body: Body) -> str:
    """Say whether the maps stay, by the method whose maps change the most."""
    if not rows:
        return f"{own.dtype} leaves no explanation to compare"
    changed = [row for row in rows if _mean(row) < ALIKE]
    if not changed:
        hardly = min(map(_mean, rows)) >= SAME
        return f"{own.dtype} {'hardly changes the explanations' if hardly else 'changes the explanations a little'}"
    if len(changed) == len(rows):
        return f"{own.dtype} changes the explanations much"
    return f"{own.dtype} changes the explanations by {joined([_label(body, row.method) for row in changed])} much"


def _model_words(body: Body, row: PrecisionRow, finite: int) -> str:
    between = "" if row.logits.low is None else f" ({interval_words(row.logits, '.2g')})"
    moved = f"logits move by {row.logits.mean:.2g}{between}"
    changed = row.predictions_changed
    if isinstance(body, PrecisionText):
        return f"the prediction {'changes' if changed else 'stays'}, and {moved}"
    told = f"{changed:,} of {finite:,} predictions {'changes' if changed == 1 else 'change'}"
    return f"{told if changed else 'no prediction changes'}, and {moved}"


def _maps_words(body: Body, rows: Sequence[PrecisionRow]) -> str:
    """Name the least similar ranking, the lower bound of the others, and the least stable five highest scores."""
    if not rows:
        return "all scores of a map are equal, or there is none"
    least, *others = sorted(rows, key=_mean)
    words = f"rank correlation with float32 {mean_words(least.rank_correlation)} for {_label(body, least.method)}"
    if others and _mean(least) >= SAME:
        words = f"rank correlation with float32 at least {_floor(_mean(least))} for every method"
    elif others:
        words += f", at least {_floor(_mean(others[0]))} for the others"
    tops = [row.top_5 for row in rows if row.top_5.mean is not None]
    if not tops:
        return words
    kept = min(tops, key=lambda own: own.mean or 0.0)
    if kept.mean == 1:
        return f"{words}; the five highest scores stay"
    between = "" if kept.low is None else f" ({interval_words(kept, '.0%')})"
    share = whole_percent(kept.mean or 0.0)
    least_words = "at least " if len(tops) > 1 and share[0].isdigit() else ""
    return f"{words}; of the five highest scores {least_words}{share}{between} stay"


def _controls_words(body: Body) -> list[str]:
    drawn = [own for own in body.controls if own.against == "seed" and own.rank_correlation.mean is not None]
    told = []
    if drawn:
        each = joined([f"{mean_words(own.rank_correlation)} for {_label(body, own.method)}" for own in drawn])
        told.append(f"of another seed in float32 is {each}")
    random = [own for own in body.controls if own.against == "random" and own.rank_correlation.mean is not None]
    if random:
        told.append(f"of random maps is {_chance(random)}")
    return [f"For comparison, the rank correlation {', and '.join(told)}."] if told else []


def _chance(controls: Sequence[Control]) -> str:
    """Say how similar random maps are to the maps of all methods: the largest means."""
    rho = max((own.rank_correlation.mean or 0.0 for own in controls), key=abs)
    tops = [own.top_5.mean for own in controls if own.top_5.mean is not None]
    kept = f", with {whole_percent(max(tops))} of the five highest scores" if tops else ""
    return f"{rho:.2f}".replace("-0.00", "0.00").replace("-", "−") + kept


def _mean(row: PrecisionRow) -> float:
    return row.rank_correlation.mean or 0.0


def _floor(value: float) -> str:
    """Return the number rounded down to three digits."""
    return f"{math.floor(1000 * value) / 1000:.3f}"


def _label(body: Body, method: str) -> str:
    return next(own.label for own in body.methods if own.method == method)
