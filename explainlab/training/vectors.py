"""Word vectors from a text file, as initial weights of a model of whole words."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from explainlab.errors import DataError

_REMEDY = "Write a word and its numbers a line, as many numbers in every line, in UTF-8."


def read_vectors(path: str, words: Collection[str]) -> dict[str, np.ndarray]:
    """Return the vectors, float32 [d], of these ``words`` in the file; of a repeated word the first.

    A line is a word and d numbers, with blanks between; a first line of two whole numbers is left out (fastText and
    word2vec write the count and d there). Raises :class:`DataError` for a file that cannot be read, and with its number
    for a line that is no word with d finite numbers.
    """
    found: dict[str, np.ndarray] = {}
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            for number, word, numbers in _lines(path, file):
                if word in words and word not in found:
                    found[word] = _vector(path, number, numbers)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The vectors in {path} cannot be read: {error}.", _REMEDY) from error
    if not found:
        raise DataError(f"No word of the texts has a vector in {path}.", "Check that it is a file of word vectors.")
    return found


def vectors_digest(path: str) -> str:
    """Return SHA-256 of the file, in hexadecimal; raises :class:`DataError` if it cannot be read."""
    try:
        with Path(path).expanduser().open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"The vectors in {path} cannot be read: {error}.", _REMEDY) from error


def _lines(path: str, file: TextIO) -> Iterator[tuple[int, str, list[str]]]:
    """Yield of every line its number, counted from 1, its word, and its numbers as written."""
    width = 0
    for number, line in enumerate(file, start=1):
        parts = line.rstrip().split(" ")
        if number == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
            width = int(parts[1])
            continue
        width = width or len(parts) - 1
        if width < 1 or len(parts) <= width:
            raise DataError(f"Line {number} of {path} has {len(parts) - 1} numbers, not {width or 'any'}.", _REMEDY)
        yield number, " ".join(parts[:-width]), parts[-width:]


def _vector(path: str, number: int, numbers: list[str]) -> np.ndarray:
    try:
        vector = np.array(numbers, dtype=np.float32)
    except ValueError:
        vector = np.array([np.nan])
    if not np.isfinite(vector).all():
        raise DataError(f"Line {number} of {path} has something else than finite numbers.", _REMEDY)
    return vector
