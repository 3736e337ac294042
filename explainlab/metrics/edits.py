"""Edits that a reader would hardly notice: another case, a typo, a synonym by the model's own word table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from explainlab.errors import TextError
from explainlab.metrics.metric import Text
from explainlab.models.classifier import Classifier
from explainlab.text.encoding import Encoding
from explainlab.text.units import Span, trimmed, words

EDITS: Mapping[str, str] = {
    "case": "case, the first letter of a word, or all of it, in the other case",
    "typo": "typo, two neighbouring inner letters of a word of four letters or more change places",
    "synonym": "synonym, a word of one token gives way to one of the 20 whole words nearest to it by the cosine of the "
    "model's word embeddings, written in the same case, if no other token changes",
}
"""What each kind of edit changes, by the name that asks for it."""
NEIGHBOURS = 20
"""The nearest words of which a synonym is one."""
_LOOKED_AT = 400
"""The nearest rows of the word table among which these are looked for: most are parts of words or the word itself."""
_MARKS = "Ġ▁"
"""How a token begins that begins a word, in tokenizers that say so."""

_Change = tuple[int, Span, str]
"""The part of a text, the characters there that are replaced, and what replaces them."""


class Editor:
    """Edits texts for a ``classifier``, whose tokenizer and word table decide what is a word near another."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        self._near: dict[int, list[tuple[int, str]]] = {}

    def edited(self, encoding: Encoding, kinds: Sequence[str], samples: int, seed: int) -> list[Text]:
        """The text of ``encoding`` with up to ``samples`` random edits of each of the ``kinds``, one in each version.

        More samples keep the first ones. A kind that cannot change this text gives none.
        """
        makers: dict[str, Callable[[Encoding, np.random.Generator], Iterator[_Change]]] = {
            "case": _other_case,
            "typo": _typos,
            "synonym": self._synonyms,
        }
        versions = []
        for number, kind in enumerate(EDITS):
            if kind in kinds:
                changes = makers[kind](encoding, np.random.default_rng([seed, number]))
                versions += [_changed(encoding, change) for _, change in zip(range(samples), changes, strict=False)]
        return versions

    def _synonyms(self, encoding: Encoding, generator: np.random.Generator) -> Iterator[_Change]:
        """Every word's nearest words in a random order, a word after the other in turns."""
        places = [place for place in _alone(encoding) if self._is_word(int(encoding.ids[place]))]
        queues = {place: generator.random(NEIGHBOURS).argsort().tolist() for place in places}
        generator.shuffle(places)
        for turn in range(NEIGHBOURS):
            for place in places:
                near, chosen = self._nearest(int(encoding.ids[place])), queues[place][turn]
                if chosen < len(near):
                    change = (int(encoding.parts[place]), _span(encoding, place), near[chosen][1])
                    if self._alone_differs(encoding, change, place, near[chosen][0]):
                        yield change

    def _alone_differs(self, encoding: Encoding, change: _Change, place: int, token: int) -> bool:
        """Whether the changed text, as the model reads it, has ``token`` at ``place`` and is else the same."""
        expected = encoding.ids[encoding.attention].copy()
        expected[place] = token
        try:
            return np.array_equal(self._classifier.encode(*_changed(encoding, change)).ids, expected)
        except TextError:
            return False

    def _nearest(self, token: int) -> list[tuple[int, str]]:
        """The whole words nearest to that of ``token``, nearest first: their ids and letters."""
        if token not in self._near:
            table, word = self._directions, self._letters(token)
            order = (table @ table[token]).topk(min(_LOOKED_AT, len(table))).indices.tolist()
            near = [(i, self._letters(i)) for i in order if self._is_word(i)]
            alike = [(i, letters) for i, letters in near if _case(letters) == _case(word)]
            others = [(i, letters) for i, letters in alike if letters.casefold() != word.casefold()]
            self._near[token] = others[:NEIGHBOURS]
        return self._near[token]

    def _is_word(self, token: int) -> bool:
        """Whether a token is a whole word of letters."""
        begins = self._pieces[token][:1] in _MARKS if self._marked else not self._pieces[token].startswith("##")
        return begins and self._letters(token).isalpha() and token not in self._special

    def _letters(self, token: int) -> str:
        return self._pieces[token].lstrip(_MARKS)

    @cached_property
    def _directions(self) -> Tensor:
        """float32 [V, d]: the word embeddings, each of length 1."""
        weight = self._classifier.model.word_embeddings.weight.detach()[: len(self._pieces)].float()
        return torch.nn.functional.normalize(weight, dim=-1)

    @cached_property
    def _pieces(self) -> list[str]:
        """[V]: the tokenizer's spelling of every token that has an embedding."""
        tokenizer = self._classifier.tokenizer
        known = min(len(tokenizer), len(self._classifier.model.word_embeddings.weight))
        return [piece or "" for piece in tokenizer.convert_ids_to_tokens(list(range(known)))]

    @cached_property
    def _marked(self) -> bool:
        return any(piece[:1] in _MARKS for piece in self._pieces if piece)

    @cached_property
    def _special(self) -> set[int]:
        return set(self._classifier.tokenizer.all_special_ids)


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
    text = encoding.part_text(part)
    new = f"{text[:start]}{other}{text[end:]}"
    return (new, encoding.text_pair) if part == 0 else (encoding.text, new)


def _span(encoding: Encoding, place: int) -> Span:
    """The characters of the token at ``place`` without the blanks around them."""
    start, end = encoding.offsets[place].tolist()
    return trimmed(encoding.part_text(int(encoding.parts[place])), start, end)


def _alone(encoding: Encoding) -> list[int]:
    """The places of the tokens that are a word of the text each."""
    whole = set(_read_words(encoding))
    places = np.flatnonzero(encoding.content).tolist()
    return [place for place in places if (int(encoding.parts[place]), _span(encoding, place)) in whole]


def _read_words(encoding: Encoding) -> list[tuple[int, Span]]:
    """The words that the model reads to their end, with their part."""
    read = []
    for part in range(1 if encoding.text_pair is None else 2):
        own = encoding.content & (encoding.parts == part)
        end = int(encoding.offsets[own, 1].max(initial=0))
        read += [(part, span) for span in words(encoding.part_text(part)) if span[1] <= end]
    return read


def _case(word: str) -> tuple[bool, bool, bool]:
    return word.islower(), word.istitle(), word.isupper()
