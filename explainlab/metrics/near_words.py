"""Words of a single token, and the near words of a model's table that may take their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from explainlab.models.classifier import Classifier
from explainlab.text.encoding import Encoding
from explainlab.text.units import trimmed, words

_BEGINNINGS = ("Ġ", "▁")
"""Spellings of the blank before a word in tokenizers."""
_TINY = 1e-12


class Word(NamedTuple):
    """A word of a text, at ``start`` to ``end`` of its ``part``, which is the whole token at ``place``."""

    place: int
    part: int
    start: int
    end: int


def lettered(encoding: Encoding) -> int:
    """Count the words of both parts that have a letter."""
    return sum(_has_letter(text[a:b]) for text in _parts(encoding) for a, b in words(text))


def single(encoding: Encoding) -> Iterator[Word]:
    """Yield the words with a letter that are a single token."""
    texts = _parts(encoding)
    spans = [set(words(text)) for text in texts]
    for place, (start, end) in enumerate(encoding.offsets.tolist()):
        part = int(encoding.parts[place])
        if encoding.special[place]:
            continue
        span = trimmed(texts[part], start, end)
        if span in spans[part] and _has_letter(texts[part][slice(*span)]):
            yield Word(place, part, *span)


def replaced(encoding: Encoding, part: int, start: int, end: int, letters: str) -> tuple[str, str | None]:
    """Return the text and the second text of ``encoding`` with ``letters`` at ``start`` to ``end`` of a ``part``."""
    own = encoding.part_text(part)
    new = own[:start] + letters + own[end:]
    return (new, encoding.text_pair) if part == 0 else (encoding.text, new)


class Neighbours:
    """The ``count`` nearest words of a classifier's word table, by the cosine of their rows."""

    def __init__(self, classifier: Classifier, count: int) -> None:
        self._classifier = classifier
        self._table = classifier.model.word_embeddings.weight.detach()
        self._lengths: Tensor = torch.linalg.vector_norm(self._table, dim=1, dtype=torch.float32).clamp(min=_TINY)
        self._special = set(classifier.tokenizer.all_special_ids)
        self._count = count
        self._found: dict[int, list[tuple[int, str]]] = {}
        self._spelled: dict[int, tuple[bool, str]] = {}

    def of(self, token: int) -> list[tuple[int, str]]:
        """Return the nearest tokens that are whole words in the casing of ``token``, as id and word, the nearest first.

        Special tokens, and tokens that differ in case alone, are excluded.
        """
        if token not in self._found:
            self._found[token] = list(self._nearest(token))
        return self._found[token]

    def _nearest(self, token: int) -> Iterator[tuple[int, str]]:
        begins, own = self._spelling(token)
        left = self._count
        for other in self._ranked(token).tolist():
            if not left:
                return
            if other in self._special:
                continue
            also_begins, word = self._spelling(other)
            whole = words(word) == [(0, len(word))] and _has_letter(word)
            if whole and also_begins == begins and casing(word) == casing(own) and word.casefold() != own.casefold():
                left -= 1
                yield other, word

    def _ranked(self, token: int) -> Tensor:
        return ((self._table @ self._table[token]).float() / self._lengths).argsort(descending=True, stable=True)

    def _spelling(self, token: int) -> tuple[bool, str]:
        """Return True if a token begins with a blank, and its letters without the blank."""
        if token not in self._spelled:
            with self._classifier.tokenizer_lock:
                piece = str(self._classifier.tokenizer.convert_ids_to_tokens(token))
            self._spelled[token] = piece.startswith(_BEGINNINGS), self._classifier.decode([token]).strip()
        return self._spelled[token]


def casing(word: str) -> str:
    """Return the casing of ``word``: ``lower``, ``title``, ``upper`` or ``mixed``."""
    if word == word.lower():
        return "lower"
    if word[1:] == word[1:].lower():
        return "title"
    return "upper" if word == word.upper() else "mixed"


def cased_as(word: str, other: str) -> str:
    """Return ``word`` in the casing of ``other``, for tokenizers without case."""
    kind = casing(other)
    if kind == "title":
        return word[:1].upper() + word[1:]
    return word.upper() if kind == "upper" else word


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _parts(encoding: Encoding) -> tuple[str, str]:
    return encoding.part_text(0), encoding.part_text(1)
