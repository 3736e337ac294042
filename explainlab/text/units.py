"""Features with a score each: tokens, words or sentences of the original text, and those that a rationale marks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
import regex
import syntok.segmenter

from explainlab.request import Rationale, Spans, Unit
from explainlab.text.encoding import Encoding

_WORD = regex.compile(r"\b", flags=regex.WORD | regex.VERSION1)
_BREAK = regex.compile(r"<br\s*/?>", flags=regex.IGNORECASE)

Span = tuple[int, int]


@dataclass(frozen=True)
class Feature:
    """A scored unit: characters ``start`` to ``end`` (half-open) of the text (``part`` 0) or its pair (``part`` 1).

    ``pieces`` and ``ids`` are its tokens. A special feature is a token added by the tokenizer, in the tokenizer's
    spelling, or a token of a ``prompt`` around the text, in the prompt's spelling.
    """

    text: str
    start: int
    end: int
    special: bool
    part: int
    pieces: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    prompt: bool = False


@dataclass(frozen=True)
class Units:
    """The features of an encoding, and the feature of each token.

    ``membership`` int64 [N]: the feature of every token, -1 on padding.
    """

    features: tuple[Feature, ...]
    membership: np.ndarray

    @cached_property
    def content(self) -> np.ndarray:
        """int64 [n]: indices of the features that are not special."""
        return np.array([i for i, f in enumerate(self.features) if not f.special], dtype=np.int64)

    @cached_property
    def ends(self) -> np.ndarray:
        """int64 [n_features]: the position of the last token of every feature."""
        places, features = self._real
        ends = np.zeros(len(self.features), dtype=np.int64)
        np.maximum.at(ends, features, places)
        return ends

    @cached_property
    def content_ends(self) -> np.ndarray:
        """int64 [n]: the last token of each content feature; special tokens at the end belong to the last feature."""
        return np.append(self.ends[self.content[:-1]], self.ends[-1])

    @cached_property
    def removable(self) -> np.ndarray:
        """int64: indices of all features but those of a prompt, which methods never remove."""
        return np.array([i for i, f in enumerate(self.features) if not f.prompt], dtype=np.int64)

    def sum_tokens(self, scores: np.ndarray) -> np.ndarray:
        """Sum token scores float64 [N] by feature, to [n_features]; the total stays."""
        places, features = self._real
        return np.bincount(features, scores[places], len(self.features))

    @cached_property
    def _real(self) -> tuple[np.ndarray, np.ndarray]:
        """The positions of all tokens but padding, and their features."""
        places = np.flatnonzero(self.membership >= 0)
        return places, self.membership[places]

    def spread(self, scores: np.ndarray) -> np.ndarray:
        """Place scores float64 [n_content] of the content features among all [n_features]; special features get 0."""
        full = np.zeros(len(self.features))
        full[self.content] = scores
        return full

    def token_mask(self, keep: np.ndarray) -> np.ndarray:
        """Return the kept tokens bool [K, N] of kept features bool [K, n_content]; special tokens and padding stay."""
        by_feature = np.ones((len(keep), len(self.features) + 1), dtype=bool)
        by_feature[:, self.content] = keep
        return by_feature[:, self.membership]


def words(text: str) -> list[Span]:
    """Return the spans of the words of ``text`` by Unicode's word boundaries (UAX 29), with punctuation marks."""
    cuts = sorted({0, len(text), *(match.start() for match in _WORD.finditer(text))})
    return [(a, b) for a, b in pairwise(cuts) if text[a:b].strip()]


def sentences(text: str) -> list[Span]:
    """Return the spans of the sentences of ``text`` (syntok). An HTML line break does not split words; no sentence
    includes it.
    """
    plain = _BREAK.sub(lambda match: " " * len(match.group()), text)
    spans = []
    for paragraph in syntok.segmenter.analyze(plain):
        for sentence in paragraph:
            tokens = list(sentence)
            spans.append((tokens[0].offset, tokens[-1].offset + len(tokens[-1].value)))
    return spans


def group(encoding: Encoding, unit: Unit) -> Units:
    """Group the tokens of ``encoding`` into features of the kind ``unit``.

    Each special token is a feature of its own. A token belongs to the segment of its first character that is not blank;
    a token that spans several segments joins them; blanks belong to the segment that follows.
    """
    tokens = _Tokens(encoding)
    membership = [-1] * len(encoding)
    features: list[Feature] = []
    for run in tokens.runs(unit):
        for i in run:
            membership[i] = len(features)
        features.append(tokens.feature(run))
    return Units(tuple(features), np.array(membership, dtype=np.int64))


class _Tokens:
    """The tokens of an encoding as Python numbers: reading arrays one by one is slower."""

    def __init__(self, encoding: Encoding) -> None:
        self._real = np.flatnonzero(encoding.attention).tolist()
        self._ids, self._pieces = encoding.ids.tolist(), encoding.pieces
        self._special, self._parts = encoding.special.tolist(), encoding.parts.tolist()
        self._prompt = encoding.prompt
        self._texts = (encoding.part_text(0), encoding.part_text(1))
        pairs = zip(self._parts, encoding.offsets.tolist(), strict=True)
        self._spans = [trimmed(self._texts[part], *offsets) for part, offsets in pairs]

    def runs(self, unit: Unit) -> list[list[int]]:
        """Return the token positions of each feature, in order; padding belongs to no feature."""
        if unit == "token":
            return [[i] for i in self._real]
        segmenter = words if unit == "word" else sentences
        segments = [segmenter(text) for text in self._texts]
        runs: list[list[int]] = []
        reach = -1  # the last segment of the current run; -1 after a special token
        for i in self._real:
            first, last = (-1, -1) if self._special[i] else _segments_of(self._spans[i], segments[self._parts[i]])
            follows = not self._special[i] and runs and self._parts[i] == self._parts[runs[-1][-1]]
            if follows and first <= reach:
                runs[-1].append(i)
                reach = max(reach, last)
            else:
                runs.append([i])
                reach = last
        return runs

    def feature(self, run: list[int]) -> Feature:
        """Return the feature of the tokens of ``run``."""
        pieces, ids = tuple([self._pieces[i] for i in run]), tuple([self._ids[i] for i in run])
        part = self._parts[run[0]]
        if self._special[run[0]]:
            prompt = self._prompt[run[0]] if self._prompt else None
            spelling = "".join(pieces) if prompt is None else prompt
            return Feature(spelling, 0, 0, True, part, pieces, ids, prompt is not None)
        text = self._texts[part]
        if len(run) == 1:
            start, end = self._spans[run[0]]
            return Feature(text[start:end], start, end, False, part, pieces, ids)
        spans = [self._spans[i] for i in run]
        visible = [(start, end) for start, end in spans if text[start:end].strip()] or spans
        start, end = min(a for a, _ in visible), max(b for _, b in visible)
        return Feature(text[start:end], start, end, False, part, pieces, ids)


def _segments_of(token: Span, segments: list[Span]) -> Span:
    """Return the first and the last segment that a content token overlaps; for a blank token, the next one twice."""
    start, end = token
    first = min(bisect_right(segments, start, key=lambda span: span[1]), len(segments) - 1)
    last = bisect_left(segments, end, key=lambda span: span[0]) - 1
    return first, max(first, last)


def trimmed(text: str, start: int, end: int) -> Span:
    """Return the span without the blanks at its ends, or the span itself if it is blank."""
    piece = text[start:end]
    lead, trail = piece.lstrip(), piece.rstrip()
    return (start + len(piece) - len(lead), end - len(piece) + len(trail)) if lead else (start, end)


Absence = Literal["missing", "empty", "cut"]
"""Why a text has no marked feature: no annotation, an annotation that marks nothing, or a marked part that was cut."""
ABSENCES: Mapping[Absence, str] = {
    "missing": "not annotated",
    "empty": "nothing marked",
    "cut": "the marked part cut by the model",
}
"""The reasons in words."""

NO_RATIONALE: Rationale = (None, None)


def marked_features(encoding: Encoding, units: Units, rationale: Rationale) -> np.ndarray | Absence:
    """Return bool [n_features]: the content features with a marked character; or the reason why there are none.

    Blanks do not count.
    """
    if rationale == NO_RATIONALE:
        return "missing"
    counts = [_counts(encoding.part_text(part), spans or ()) for part, spans in enumerate(rationale)]
    if not any(count[-1] for count in counts):
        return "empty"
    marked = np.zeros(len(units.features), dtype=bool)
    for i in units.content.tolist():
        feature = units.features[i]
        marked[i] = counts[feature.part][feature.end] > counts[feature.part][feature.start]
    if marked.any():
        return marked
    return "cut" if encoding.cut else "empty"


def _counts(text: str, spans: Spans) -> np.ndarray:
    """Return int64 [characters + 1]: the number of marked characters of ``text`` before each place, without blanks."""
    marked = np.zeros(len(text) + 1, dtype=np.int64)
    for start, end in spans:
        marked[start + 1 : end + 1] = [not character.isspace() for character in text[start:end]]
    counts: np.ndarray = np.cumsum(marked)
    return counts
