"""The words that drive a model's mistakes, in a sentence."""

from __future__ import annotations

from explainlab.analyses.mistake_drivers.function_words import is_function
from explainlab.analyses.mistake_drivers.result import Driver, MistakeDriversData
from explainlab.analyses.wording import counted, joined, quoted

MOST = 3


def verdict(body: MistakeDriversData, least: int) -> str:
    """Name the words whose scores are clearly above zero in ``least`` rows or more, content words first."""
    wrong = counted(body.n_wrong, "misclassified row")
    if not body.n_wrong:
        return f"The model is right about each of the {counted(body.n_right, 'row')}: nothing drives a mistake."
    clear = sorted([word for word in body.words if word.clear], key=lambda word: is_function(word.words))
    if not clear:
        why = f"none occurs in at least {least} of them with scores that are above zero beyond chance"
        return f"In {wrong} no word clearly pushes toward a wrong class: {why}."
    named = [
        f"{quoted(word.name)} toward {quoted(word.predicted)} ({counted(word.rows, 'row')})" for word in clear[:MOST]
    ]
    more = f" and {len(clear) - MOST:,} more" if len(clear) > MOST else ""
    words = joined(named) if not more else f"{', '.join(named)}{more}"
    push = "this word pushes" if len(clear) == 1 else "these words push"
    return f"In {wrong} {push} toward a wrong class: {words}."


def folded(driver: Driver, hide_function_words: bool = False) -> bool:
    """Return whether a driver is folded at first: because it is not clear, or because it is grammar."""
    return not driver.clear or (hide_function_words and is_function(driver.words))
