"""Edits that a reader hardly notices: another case, a typo, or a near word of the model's own word table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from explainlab.errors import TextError
from explainlab.metrics.metric import Text
from explainlab.models.classifier import Classifier
from explainlab.text.encoding import Encoding
from explainlab.text.units import Span, trimmed, words

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


EDITS: Mapping[str, str] = {
    "case": "case, the first letter of a word, or all of it, in the other case",
    "typo": "typo, two neighbouring inner letters of a word of four letters or more change places",
    "synonym": "synonym, a word of one token gives way to one of the 20 whole words nearest to it by the cosine of the "
    "model's word embeddings, written in the same case, if no other token changes",
    "column": "column, the text in the words of the data set's column paraphrase, the second text of a pair as it is",
}
"""Descriptions of the kinds of edits, by name."""
COLUMN = "column"
MADE = tuple(kind for kind in EDITS if kind != COLUMN)
"""The kinds that :class:`Editor` makes; those of a column come with the data set."""
NEIGHBOURS = 20
"""Number of nearest words that are candidates for a synonym."""
_Change = tuple[int, Span, str]
"""The part of a text, the span of characters to replace, and the replacement."""


class Editor:
    """An editor of texts for a ``classifier``, whose tokenizer and word table define words and their neighbours."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        self._near = Neighbours(classifier, NEIGHBOURS)

    def edited(self, encoding: Encoding, kinds: Sequence[str], samples: int, seed: int) -> list[Text]:
        """Return the text of ``encoding`` with up to ``samples`` random edits of each of the ``kinds``, one in each
        version.

        More samples keep the first ones. A kind that cannot change this text gives none.
        """
        makers: dict[str, Callable[[Encoding, np.random.Generator], Iterator[_Change]]] = {
            "case": _other_case,
            "typo": _typos,
            "synonym": self._synonyms,
        }
        versions = []
        for number, kind in enumerate(MADE):
            if kind in kinds:
                changes = makers[kind](encoding, np.random.default_rng([seed, number]))
                versions += [_changed(encoding, change) for _, change in zip(range(samples), changes, strict=False)]
        return versions

    def _synonyms(self, encoding: Encoding, generator: np.random.Generator) -> Iterator[_Change]:
        """Yield every word's nearest words in random order, one word after the other in turns."""
        found = list(single(encoding))
        queues = {word: generator.random(NEIGHBOURS).argsort().tolist() for word in found}
        shuffled = [found[i] for i in generator.permutation(len(found))]
        for turn in range(NEIGHBOURS):
            for word in shuffled:
                near, chosen = self._near.of(int(encoding.ids[word.place])), queues[word][turn]
                if chosen < len(near):
                    token, letters = near[chosen]
                    old = encoding.part_text(word.part)[word.start : word.end]
                    change = (word.part, (word.start, word.end), cased_as(letters, old))
                    if self._alone_differs(encoding, change, word.place, token):
                        yield change

    def _alone_differs(self, encoding: Encoding, change: _Change, place: int, token: int) -> bool:
        """Tell whether the model reads the changed text with ``token`` at ``place`` and no other difference."""
        expected = encoding.ids[encoding.attention].copy()
        expected[place] = token
        try:
            return np.array_equal(self._classifier.encode(*_changed(encoding, change)).ids, expected)
        except TextError:
            return False


def _other_case(encoding: Encoding, generator: np.random.Generator) -> Iterator[_Change]:
    changes = []
    for part, (start, end) in _read_words(encoding):
        word = encoding.part_text(part)[start:end]
        whole = word.lower() if word.isupper() else word.upper()
        first = word[0].swapcase() + word[1:]
        changes += [(part, (start, end), other) for other in dict.fromkeys((first, whole)) if other != word]
    return _shuffled(changes, generator)


def _typos(encoding: Encoding, generator: np.random.Generator) -> Iterator[_Change]:
    changes = []
    for part, (start, end) in _read_words(encoding):
        word = encoding.part_text(part)[start:end]
        for i in range(1, len(word) - 2):
            pair = word[i : i + 2]
            if sum(map(str.isalpha, word)) >= 4 and pair.isalpha() and pair[0] != pair[1]:
                changes.append((part, (start + i, start + i + 2), pair[::-1]))
    return _shuffled(changes, generator)


def _shuffled(changes: list[_Change], generator: np.random.Generator) -> Iterator[_Change]:
    return (changes[i] for i in generator.permutation(len(changes)))


def _changed(encoding: Encoding, change: _Change) -> Text:
    part, (start, end), other = change
    return replaced(encoding, part, start, end, other)


def _read_words(encoding: Encoding) -> list[tuple[int, Span]]:
    """Return the words that the model reads to their end, with their part."""
    read = []
    for part in range(1 if encoding.text_pair is None else 2):
        own = encoding.content & (encoding.parts == part)
        end = int(encoding.offsets[own, 1].max(initial=0))
        read += [(part, span) for span in words(encoding.part_text(part)) if span[1] <= end]
    return read
