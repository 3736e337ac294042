"""Masks on the tokens of many texts: nested, with as many tokens of each text as its ratio says."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from explainlab.analyses.roar.parameters import WHOLE


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
