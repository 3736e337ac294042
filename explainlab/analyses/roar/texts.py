"""The texts of a grid: read and tokenised once, as the models of all its places do."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from reprlib import repr as quote
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from explainlab.analyses.roar.parameters import WHOLE
from explainlab.errors import DataError, TextError
from explainlab.limits import Limits
from explainlab.models.context import RunContext
from explainlab.text.encoding import Encoding
from explainlab.text.prompt import Prompt, encode_prompted
from explainlab.text.units import Units, group, words
from explainlab.training import Examples

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def count(tokens: int, step: int, counted: bool) -> int:
    """Return the number of ``tokens`` to mask at ``step``: per cent rounded down or, if ``counted``, a number."""
    if step == WHOLE:
        return tokens
    return min(step, tokens) if counted else tokens * step // WHOLE


def most_important(scores: np.ndarray, masked: np.ndarray, number: int) -> np.ndarray:
    """Return bool [n]: the ``masked`` tokens and those with the largest ``scores`` float64 [n], ``number`` in all.

    Of equal scores the first comes first.
    """
    order = np.where(masked, -np.inf, -scores).argsort(kind="stable")
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[order[:number]] = True
    return chosen


class Masks:
    """The masks of several texts with ``lengths`` [T] tokens: ``bits``, bool [sum of lengths]."""

    def __init__(self, lengths: Sequence[int], bits: np.ndarray) -> None:
        self.bits = bits
        self._ends = np.cumsum(lengths, dtype=np.int64)
        self._starts = self._ends - lengths

    @classmethod
    def none(cls, lengths: Sequence[int]) -> Masks:
        """Return masks of no token."""
        return cls(lengths, np.zeros(sum(lengths), dtype=bool))

    @classmethod
    def all(cls, lengths: Sequence[int]) -> Masks:
        """Return masks of every token."""
        return cls(lengths, np.ones(sum(lengths), dtype=bool))

    @classmethod
    def joined(cls, lengths: Sequence[int], each: Iterator[np.ndarray]) -> Masks:
        """Join the bits of texts, given one by one."""
        return cls(lengths, np.concatenate([np.zeros(0, dtype=bool), *each]))

    @classmethod
    def placed(cls, lengths: Sequence[int], parts: Iterator[tuple[list[int], np.ndarray]]) -> Masks:
        """Join the bits of all texts, given in parts: the numbers of some texts, and their bits one after another."""
        whole = cls.none(lengths)
        for texts, bits in parts:
            starts, ends = whole._starts[texts], whole._ends[texts]
            before = np.cumsum(ends - starts) - (ends - starts)
            whole.bits[np.arange(len(bits)) + np.repeat(starts - before, ends - starts)] = bits
        return whole

    def __getitem__(self, text: int) -> np.ndarray:
        """Return the mask of a text, bool [n]."""
        own: np.ndarray = self.bits[self._starts[text] : self._ends[text]]
        return own

    def __len__(self) -> int:
        return len(self._ends)


def packed(bits: np.ndarray) -> str:
    """Pack bits as text: eight a byte, compressed by zlib, in base64."""
    return base64.b64encode(zlib.compress(np.packbits(bits).tobytes())).decode()


def unpacked(text: str, number: int) -> np.ndarray:
    """Return bool [number], the inverse of :func:`packed`."""
    raw = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    return np.unpackbits(raw, count=number).astype(bool)


SplitName = Literal["train", "validation", "test"]
SPLITS: tuple[SplitName, ...] = ("train", "validation", "test")
TOGETHER = 512
"""Texts whose importance is computed, and kept, together."""
_KEPT_TOKENS = 2_000_000
"""The most tokens of texts that stay in memory."""


class Read(NamedTuple):
    """A text as models read it: its encoding, its tokens as features, and where one may be masked, int64 [n]."""

    encoding: Encoding
    units: Units
    candidates: np.ndarray

    def masked(self, mask: np.ndarray, token: int) -> Encoding:
        """Return the encoding with ``token`` where ``mask`` bool [n] is true."""
        if not mask.any():
            return self.encoding
        ids = self.encoding.ids.copy()
        ids[self.candidates[mask]] = token
        return replace(self.encoding, ids=ids)


@dataclass(frozen=True)
class Tokenizing:
    """The tokenisation to at most ``max_tokens`` tokens, in a ``prompt`` or not, within ``limits``; ``token`` masks."""

    tokenizer: PreTrainedTokenizerBase
    max_tokens: int
    token: int
    limits: Limits
    prompt: Prompt | None

    def read(self, text: str, pair: str | None) -> Read:
        """Encode a text; only content tokens of the first part may be masked."""
        encoding = encode_prompted(self.tokenizer, self.prompt, text, pair, self.max_tokens, self.limits)
        candidates = np.flatnonzero(encoding.content & encoding.attention & (encoding.parts == 0))
        return Read(encoding, group(encoding, "token"), candidates)


class Split:
    """The ``examples`` of one part of the data: ``lengths`` [T] are their tokens that may be masked, ``cut`` texts are
    too long for the model.

    Reading them reports to ``context``, which may stop it. Raises :class:`DataError` for a text that cannot be read.
    """

    def __init__(self, name: SplitName, examples: Examples, tokenizing: Tokenizing, context: RunContext) -> None:
        self.name, self.examples = name, examples
        self._tokenizing = tokenizing
        self._known: dict[int, Read] = {}
        self._tokens = 0
        self.lengths: list[int] = []
        self.tokens: list[int] = []
        self.cut = 0
        for row in range(len(examples)):
            if row % TOGETHER == 0:
                context.progress.report(row, len(examples), f"texts of the {name} data")
                context.check_cancelled()
            try:
                read = self.read(row)
            except TextError as error:
                which = f"In the {name} data, text {quote(examples.texts[row])}"
                raise DataError(f"{which}: {error.problem}", "Leave the row out.") from None
            self.lengths.append(len(read.candidates))
            self.tokens.append(len(read.encoding))
            self.cut += bool(read.encoding.cut)

    def __len__(self) -> int:
        return len(self.examples)

    def read(self, row: int) -> Read:
        """Read the text ``row``, from memory where there is room."""
        known = self._known.get(row)
        if known is None:
            pair = self.examples.pairs[row] if self.examples.pairs else None
            known = self._tokenizing.read(self.examples.texts[row], pair)
            if self._tokens < _KEPT_TOKENS:
                self._known[row] = known
                self._tokens += len(known.encoding)
        return known

    def positions(self, masks: Masks) -> list[list[int]]:
        """Return the masked positions of every text among its tokens."""
        return [self.read(row).candidates[masks[row]].tolist() for row in range(len(self))]

    def masked(self, rows: Sequence[int], masks: Masks) -> list[Encoding]:
        """Return these texts as they are masked."""
        return [self.read(row).masked(masks[row], self._tokenizing.token) for row in rows]


def without_short(examples: Examples, least: int) -> Examples:
    """Keep the examples whose first text has ``least`` words or more, as Unicode bounds words."""
    if least <= 1:
        return examples
    return examples.take([row for row, text in enumerate(examples.texts) if len(words(text)) >= least])
