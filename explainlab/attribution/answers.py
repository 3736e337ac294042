"""A language model's answer to the question for the most important words, read strictly."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_NUMBERING = re.compile(r"^(?:\d+[.)](?!\d)|[-*](?=\s))\s*")
_SCORE = re.compile(r"\s*(?:\(\s*[-+−]?\d+(?:[.,]\d+)?\s*%?\s*\)|\[\s*[-+−]?\d+(?:[.,]\d+)?\s*%?\s*\])$")
_QUOTES = "\"'`“”‘’„«»"
SHOWN = 2_000
"""Most characters of an answer in the notes."""


@dataclass(frozen=True)
class Ranking:
    """The features in an answer, by index, the most important first, and the items that match none.

    ``repeated``: all equal features have been named before; ``hallucinated``: no feature has this text.
    """

    named: tuple[int, ...]
    repeated: tuple[str, ...]
    hallucinated: tuple[str, ...]

    def notes(self, features: int, answer: str) -> list[str]:
        """Report the named features of all ``features``, and the answer itself, in words."""
        notes = [f"Named {len(self.named)} of {features}; not named {features - len(self.named)}."]
        for kind, items in (("Repeated", self.repeated), ("Hallucinated", self.hallucinated)):
            listed = ", ".join(f"“{item}”" for item in items)
            notes.append(f"{kind} {len(items)}{': ' if items else '.'}{_cut(listed)}")
        return [*notes, f"Answer: {_cut(answer) or '(nothing)'}"]


def ranking(answer: str, features: Sequence[str]) -> Ranking:
    """Read the ranking of content features in ``answer``, by their texts.

    An item names the first feature not yet named whose text is equal after NFKC, casefold and stripping of punctuation
    at both ends.
    """
    texts = [comparable(text) for text in features]
    named: list[int] = []
    repeated: list[str] = []
    hallucinated: list[str] = []
    for item in items(answer):
        equal = [i for i, text in enumerate(texts) if text == comparable(item)]
        left = [i for i in equal if i not in named]
        if left:
            named.append(left[0])
        else:
            (repeated if equal else hallucinated).append(item)
    return Ranking(tuple(named), tuple(repeated), tuple(hallucinated))


def items(answer: str) -> list[str]:
    """Return the items of ``answer``: of a JSON array of strings, else its lines, else the parts of a single line."""
    try:
        array = json.loads(answer)
    except (ValueError, RecursionError):
        array = None
    if isinstance(array, list) and all(isinstance(item, str) for item in array):
        return [item.strip() for item in array if item.strip()]
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    parts = lines[0].split(",") if len(lines) == 1 else lines
    return [item for item in map(_item, parts) if item]


def comparable(text: str) -> str:
    """Return ``text`` in its form for comparisons; a text of punctuation alone stays."""
    folded = unicodedata.normalize("NFKC", text).casefold().strip()
    kept = [i for i, character in enumerate(folded) if not unicodedata.category(character).startswith("P")]
    return folded[kept[0] : kept[-1] + 1].strip() if kept else folded


def _item(line: str) -> str:
    """Return ``line`` without its numbering, a trailing score in brackets, and quotes, each unless nothing would be
    left.
    """
    item = _NUMBERING.sub("", line.strip(), count=1) or line.strip()
    item = _SCORE.sub("", item) or item
    return item.strip(_QUOTES).strip() or item


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
