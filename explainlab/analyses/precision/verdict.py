"""What half precision does to explanations, in words."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.analyses.precision.result import (
    Control,
    FormatFacts,
    PrecisionData,
    PrecisionRow,
    PrecisionText,
)
from explainlab.analyses.records import Interval
from explainlab.analyses.wording import capital, counted, interval_words, joined, mean_words, whole_percent

Body = PrecisionText | PrecisionData
SAME, ALIKE = 0.99, 0.9
"""From which rank correlation on a map is as good as the same, and is much alike."""


def verdict(body: Body) -> str:
    """What each number format does to the maps, then what such numbers are without any rounding."""
    told = [_format_words(body, own) for own in body.formats]
    return " ".join([*told, *_controls_words(body)])


def texts_of(body: Body) -> int:
    """How many texts there are."""
    return body.n if isinstance(body, PrecisionData) else 1


def _format_words(body: Body, own: FormatFacts) -> str:
    rows = [row for row in body.rows if row.dtype == own.dtype]
    known = [row for row in rows if row.rank_correlation.mean is not None]
    unread = sum(
        text_read.logits is None for text in body.texts for text_read in text.read if text_read.dtype == own.dtype
    )
    if unread == texts_of(body):
        return f"{own.dtype} cannot be used: the logits are no finite numbers for {_all(unread)}."
    words = f"{_answer(body, own, known)}: {_model_words(body, rows[0])}"
    words += f"; {_maps_words(body, known)}." if known else "; no map can be compared."
    if unread:
        words += f" For {unread} of {texts_of(body)} texts its logits are no finite numbers."
    if not own.rounded:
        words += f" The files hold no more digits than {own.dtype}, so that only the computation is rounded."
    return words


def _all(n: int) -> str:
    return "this text" if n == 1 else f"all {n:,} texts"


def _answer(body: Body, own: FormatFacts, rows: Sequence[PrecisionRow]) -> str:
    """Whether the maps stay, by the method whose maps stay the least."""
    least = min((row.rank_correlation.mean or 0.0 for row in rows), default=0.0)
    if not rows:
        return f"{own.dtype} gives no explanation to compare with float32"
    if least >= SAME:
        return f"{own.dtype} hardly changes these explanations"
    if least >= ALIKE:
        return f"{own.dtype} changes these explanations a little"
    changed = [row for row in rows if (row.rank_correlation.mean or 0.0) < ALIKE]
    if len(changed) == len(rows):
        return f"{own.dtype} changes these explanations much"
    return f"{own.dtype} changes much what {joined([_label(body, row.method) for row in changed])} explain" + "s" * (
        len(changed) == 1
    )


def _model_words(body: Body, row: PrecisionRow) -> str:
    moved = f"a logit moves by up to {row.logits.mean:.2g}"
    if isinstance(body, PrecisionText):
        return f"the prediction {'changes' if row.predictions_changed else 'stays'}, {moved}"
    n = sum(read.logits is not None for text in body.texts for read in text.read if read.dtype == row.dtype)
    between = "" if row.logits.low is None else f" ({interval_words(row.logits, '.2g')})"
    changed = f"{row.predictions_changed} of {counted(n, 'prediction')} " + (
        "changes" if row.predictions_changed == 1 else "change"
    )
    return f"over {counted(n, 'text')} {changed}, {moved} on average{between}"


def _maps_words(body: Body, rows: Sequence[PrecisionRow]) -> str:
    """The least and the best kept ranking, and the least kept top five."""
    ordered = sorted(rows, key=lambda row: row.rank_correlation.mean or 0.0)
    ends = [ordered[0]] if len(ordered) == 1 else [ordered[0], ordered[-1]]
    told = " to ".join(f"{_rho(row.rank_correlation)} for {_label(body, row.method)}" for row in ends)
    words = f"rank correlation with float32 {'from ' if len(ends) > 1 else ''}{told}"
    tops = [row for row in rows if row.top_5.mean is not None]
    if tops:
        least = min(tops, key=lambda row: row.top_5.mean or 0.0)
        more = " or more" if len(tops) > 1 else ""
        words += f"; of the five highest scores {_share(least.top_5)}{more} stay"
    return words


def _controls_words(body: Body) -> list[str]:
    drawn = [own for own in body.controls if own.against == "seed" and own.rank_correlation.mean is not None]
    told = []
    if drawn:
        each = joined([f"{_label(body, own.method)} {_rho(own.rank_correlation)}" for own in drawn])
        told.append(f"Other draws in float32 alone give a rank correlation of {each}")
    random = [own for own in body.controls if own.against == "random" and own.rank_correlation.mean is not None]
    if random:
        told.append(f"{'r' if told else 'R'}andom maps have {_chance(random)}")
    return [f"{capital('; '.join(told))}."] if told else []


def _chance(controls: Sequence[Control]) -> str:
    """About what random maps share with those of all methods: the largest means."""
    rho = max((own.rank_correlation.mean or 0.0 for own in controls), key=abs)
    tops = [own.top_5.mean for own in controls if own.top_5.mean is not None]
    kept = f" and {whole_percent(max(tops))} of the five highest scores" if tops else ""
    return f"{rho:.2f}".replace("-0.00", "0.00") + kept


def _rho(value: Interval) -> str:
    return mean_words(value, ".3f")


def _share(value: Interval) -> str:
    between = "" if value.low is None else f" ({interval_words(value, '.0%')})"
    return f"{whole_percent(value.mean or 0.0)}{between}"


def _label(body: Body, method: str) -> str:
    return next(own.label for own in body.methods if own.method == method)
