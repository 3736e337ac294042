"""The words that drive a model's mistakes, in a sentence, and the function words that a reader can hide."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.analyses.mistake_drivers.result import Driver, MistakeDriversData
from explainlab.analyses.wording import counted, joined, quoted

_WORDS = """
    a an the this that these those some any each every either neither both all another such
    i me my mine myself you your yours yourself he him his himself she her hers herself it its itself
    we us our ours ourselves they them their theirs themselves one ones who whom whose which what
    am is are was were be been being do does did doing done has have had having
    can could will would shall should may might must
    about above across after against along among around as at before behind below beside between beyond by down during
    for from in inside into near of off on onto out outside over past since through to toward under until up upon with
    within without via per
    and or nor so yet if then than because while although though whether when where why how
    there here also too very just s t d ll m re ve o
"""
FUNCTION_WORDS = frozenset(_WORDS.split())
"""Ours, and for English only. Words that turn a meaning round (not, no, but, never) are none of them."""


def is_function(words: Sequence[str]) -> bool:
    """Return whether all of these case-folded ``words`` are function words."""
    return all(word in FUNCTION_WORDS for word in words)


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
