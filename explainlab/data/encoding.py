"""The encoding of a text file: UTF-8, or else Windows-1252, the single-byte encoding of much of the West."""

from __future__ import annotations

import codecs
import re

from explainlab.data.budget import Budget
from explainlab.errors import DataError

_BEYOND = re.compile(rb"[\x80-\xff]")
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
"""A character of several bytes in UTF-8."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WINDOWS = {byte: seen for byte in range(0x80, 0xA0) if (seen := bytes([byte]).decode("cp1252", "ignore"))}
"""The characters of Windows-1252 by the control characters of Latin-1 that they replace."""


class Decoder:
    """A decoder of the open file of the ``budget``, piece by piece; it notes there if the file is Windows-1252.

    The first piece with a byte beyond ASCII decides. A byte that Windows-1252 does not define is read as Latin-1. A
    file is damaged, and no Windows-1252, if it has a zero, or the mark of UTF-8 or UTF-16, or if it has more characters
    as UTF-8 writes them than other bytes beyond ASCII.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._bytes = self._votes = 0
        self._decided = False
        self._odd: DataError | None = None

    def decode(self, piece: bytes, place: str = "", is_last: bool = False) -> str:
        """Return the next characters, up to one that the ``piece`` cuts unless it ``is_last``.

        Raises :class:`DataError` for a damaged file, with the ``place`` of the first byte that is no UTF-8.
        """
        if self._odd:
            return self._of_windows(piece, self._odd)
        if not self._bytes:
            self._decided = piece.startswith(codecs.BOM_UTF8)
        self._bytes += len(piece)
        try:
            text = self._utf8.decode(piece, is_last)
        except UnicodeDecodeError as error:
            byte = self._bytes - len(error.object) + error.start
            odd = DataError(
                f"{self._budget.name} is not UTF-8: byte {byte}{place}.",
                "Save it as UTF-8, which Excel calls CSV UTF-8.",
            )
            if self._decided:
                raise odd from None
            text, self._odd = self._of_windows(error.object, odd), odd
            told = f"{self._budget.name} is not UTF-8 and was read as Windows-1252."
            self._budget.note(f"{told} Save it as UTF-8 if letters look wrong.")
            return text
        self._decided = self._decided or not text.isascii()
        return text

    def _of_windows(self, piece: bytes, odd: DataError) -> str:
        """Return the characters of a ``piece`` in Windows-1252; raise ``odd`` where the file is none."""
        others, sequences = _UTF8.subn(b"", piece)
        self._votes += len(_BEYOND.findall(others)) - sequences
        if self._votes < 0 or b"\0" in piece or piece.startswith(_UTF16):
            raise odd
        return piece.decode("latin-1").translate(_WINDOWS)
