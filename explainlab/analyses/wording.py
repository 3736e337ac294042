"""The spelling of numbers and names in the sentences of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explainlab.analyses.records import Interval
from explainlab.data import LEFT_OUT
from explainlab.metrics.evaluate import TIE

_LONGEST_QUOTE = 60


def joined(names: Sequence[str]) -> str:
    """Return ``a, b and c``, or ``a, 1; b; and c`` if a name has a comma."""
    *others, last = names
    if len(others) > 1 and any(", " in name for name in names):
        return f"{'; '.join(others)}; and {last}"
    return f"{', '.join(others)} and {last}" if others else last


def quoted(text: str) -> str:
    """Return ``text`` in quotes, a long one cut short."""
    return f"“{text if len(text) <= _LONGEST_QUOTE else f'{text[:_LONGEST_QUOTE].rstrip()}…'}”"


def capital(text: str) -> str:
    """Return ``text`` with a capital, as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def counted(n: int, unit: str) -> str:
    """Return a number of units, as ``3 words`` or ``1 word``."""
    return f"{n:,} {unit}{'' if n == 1 else 's'}"


def left_out(source: str, rows: int, classes: Mapping[str, str]) -> str:
    """Return the warning about ``rows`` of ``source`` left out for their label, as ``classes`` or annotators ask."""
    labels = [quoted(label) for label, meant in classes.items() if meant == LEFT_OUT]
    why = f"for their label, {joined(labels)}" if labels else "because an annotator did not accept their label"
    return f"Left out of {source} {why}: {counted(rows, 'row')}."


def whole_percent(share: float) -> str:
    """Return ``share`` in whole per cent; only exact shares become 0% or 100%."""
    rounded = round(100 * share)
    if rounded == 0 < share:
        return "under 1%"
    return "over 99%" if rounded == 100 and share < 1 else f"{rounded}%"


def duration(seconds: float) -> str:
    """Return about ``seconds`` with the precision of an estimate: ``12 s``, ``45 s``, ``3 min`` or ``1.5 h``."""
    if seconds < 20:
        return f"{max(1, round(seconds))} s"
    if seconds < 90:
        return f"{5 * round(seconds / 5)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def takes(seconds: float) -> str:
    """Tell how long something takes: ``Takes about 12 s``."""
    return f"Takes {'under 1 s' if seconds < 1 else f'about {duration(seconds)}'}"


def ahead_on_a_text(values: Mapping[str, float], higher: bool = True) -> str:
    """Return ``A is ahead with 0.812``, or more names with an equal value; ``none is ahead`` if all are equal."""
    best = max(values.values()) if higher else min(values.values())
    first = [name for name, value in values.items() if abs(value - best) <= TIE]
    if 1 < len(first) == len(values):
        return f"none is ahead: it is {best:.3f} for all of them"
    return f"{joined(first)} {'is' if len(first) == 1 else 'are'} ahead with {best:.3f}"


def mean_words(value: Interval, spec: str = ".3f") -> str:
    """Return a mean, and its interval in brackets; ``spec`` is the format of a number."""
    between = "" if value.low is None else f" ({interval_words(value, spec)})"
    return f"{value.mean:{spec}}{between}"


def interval_words(value: Interval, spec: str = ".3f") -> str:
    """Return ``0.790 to 0.833``, or ``none``; ``spec`` is the format of a number."""
    return "none" if value.low is None or value.high is None else f"{value.low:{spec}} to {value.high:{spec}}"
