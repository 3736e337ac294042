"""English words that carry grammar rather than content: a reader can hide them in the list of drivers."""

from __future__ import annotations

from collections.abc import Sequence

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
