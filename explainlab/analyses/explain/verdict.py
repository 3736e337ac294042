"""The answer to a text in words: the prediction, the words that speak for it, and advice on the attribution.

Rules, not a model. A word has its name in the answer only if its score stands out and exceeds its own numerical error;
"mainly" needs named words with most of the score for the class.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

from explainlab.analyses.trust.result import TrustText
from explainlab.analyses.trust.verdict import BETTER, level
from explainlab.analyses.trust.verdict import verdict as trust_verdict
from explainlab.analyses.wording import capital, joined, quoted, whole_percent
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import request_label
from explainlab.figures.heatmap import number
from explainlab.text.units import words

_LEADING, _OPPOSING, _CLEAR = 0.5, 0.25, 0.1
"""Named are words with half of the best score, and against it with a quarter of the largest; a tenth is clear."""
_MOST_FOR, _MOST_AGAINST = 3, 2
_MAINLY = 0.5


@dataclass
class _Word:
    """A word of the text, or a unit of the attribution: the sum of its scores, and of their errors."""

    text: str
    score: float = 0.0
    error: float = 0.0


def verdict(result: Attribution, trust: TrustText | None = None) -> str:
    """Say the prediction and the words behind it; with ``trust``, also compare with random ones.

    The reasons are those of the method, by name, unless the comparison is better than chance.
    """
    label = request_label(result.request)
    by = f" (by {label})"
    against = _contradiction(result)
    if trust is None:
        return f"{_reasons(result, by)}{against}"
    is_label = result.target.label == result.prediction.label
    it = "it" if is_label else quoted(result.target.label)
    sentence = trust_verdict(trust, result.request.unit, it, f"this map ({label})")
    return f"{_reasons(result, '' if level(trust) >= BETTER else by)}{against} {sentence}"


def _contradiction(result: Attribution) -> str:
    """Return the sentence about scores that together speak against the predicted class, with the reason; or nothing."""
    if not result.contradicts:
        return ""
    remedy = "this method promises no sum, others such as Integrated Gradients do"
    if result.completeness is not None:
        remedy = f"its baseline has a still higher {result.request.output} of this class"
    total = number(float(result.scores.sum()), signed=True)
    return f" Together the scores speak against it, as their sum is {total}: {remedy}."


def most_trusted(results: Sequence[Attribution], trusts: Mapping[int, TrustText]) -> int:
    """Return the index of the attribution that answers, from the known comparisons by index.

    It is the one furthest beyond chance; if none is better than chance, the first without a comparison, else the first
    of all.
    """
    levels = {i: level(trust) for i, trust in trusts.items()}
    good = [i for i, share in levels.items() if share >= BETTER]
    if good:
        return max(good, key=lambda i: (levels[i], -i))
    return next((i for i in range(len(results)) if isnan(levels.get(i, float("nan")))), 0)


def _reasons(result: Attribution, by: str) -> str:
    prediction, target = result.prediction, result.target
    said = f"{capital(prediction.label)} ({whole_percent(prediction.probabilities[prediction.label])})"
    ranked = sorted(_words(result), key=lambda word: -word.score if result.signed else -abs(word.score))
    largest = max((abs(word.score) for word in ranked), default=0.0)
    sizes = [word.score if result.signed else abs(word.score) for word in ranked]
    best = sizes[0] if sizes and sizes[0] > max(0.0, _CLEAR * largest) else None
    named = [] if best is None else _named(ranked, _LEADING * best, _MOST_FOR, 1 if result.signed else 0)
    against = _named(ranked[::-1], _OPPOSING * largest, _MOST_AGAINST, -1) if result.signed else []
    share = sum(abs(word.score) for word in named) / (sum(size for size in sizes if size > 0) or 1.0)
    speaks = f"; {_listed(against)} {'speaks' if len(against) == 1 else 'speak'} against" if against else ""
    mainly = "mainly" if share >= _MAINLY else "in part"
    unit = "sentence" if result.request.unit == "sentence" else "word"
    if target.label != prediction.label:
        other = f"{quoted(target.label)} ({whole_percent(prediction.probabilities[target.label])})"
        if not named:
            return f"{said}. No {unit} speaks clearly for {other}{by}{speaks}."
        verb = "speaks" if result.signed else "matters"
        return f"{said}. What {verb} for {other} is {mainly} {_listed(named)}{by}{speaks}."
    if not named:
        verb = "speaks clearly for it" if result.signed else "stands out"
        return f"{said}, but no {unit} {verb}{by}{speaks}."
    reason = f"{mainly} because of" if result.signed else f"and what matters is {mainly}"
    return f"{said}, {reason} {_listed(named)}{by}{speaks}."


def _named(ranked: Sequence[_Word], least: float, most: int, sign: int) -> list[_Word]:
    """Return the first words of at least this size and sign (0: any), each larger than its error; each text once."""
    clear: dict[str, _Word] = {}
    for word in ranked:
        if abs(word.score) >= least > 0 and abs(word.score) > word.error and sign * word.score >= 0:
            clear.setdefault(word.text, word)
    return list(clear.values())[:most]


def _listed(named: Sequence[_Word]) -> str:
    return joined([quoted(word.text) for word in named])


def _words(result: Attribution) -> list[_Word]:
    """Return the content features; tokens that are pieces of a word count together."""
    request = result.request
    merged: dict[tuple[int, int], _Word] = {}
    texts = (request.single_text, request.text_pair or "")
    spans = [words(text) if request.unit == "token" else [] for text in texts]
    for i, feature in enumerate(result.features):
        if feature.special:
            continue
        place = bisect_right(spans[feature.part], feature.start, key=lambda span: span[0]) - 1
        start, end = spans[feature.part][place] if place >= 0 else (feature.start, feature.end)
        word = merged.setdefault((feature.part, start), _Word(texts[feature.part][start:end] or feature.text))
        word.score += float(result.scores[i])
        word.error += 0.0 if result.errors is None else abs(float(result.errors[i]))
    return list(merged.values())
