"""The encoding of a text file, and the dialect of separated fields: the separator, and the role of quotation marks.

Every writer has its own. Excel writes semicolons in much of Europe. Libraries put quotation marks around a field that
holds a separator, a mark or a line end, and double the marks inside (RFC 4180). Shared tasks and GLUE write texts as
they are between tabs, so that their marks are characters.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

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


TAB = "\t"
_SEPARATORS = (TAB, ";", ",", "|")
"""Known separators; if two divide a file equally well, the first in this list."""
_DECLARED = re.compile(r'("?)sep=([^\w\s"]|\t)\1\s*', re.IGNORECASE)
"""A first line that names the separator, for Excel."""
_HEAD_LINES, _HEAD_CHARACTERS = 50, 2**20
"""The number of first lines and of characters that determine the separator."""
_ENCLOSED = re.compile(r'"(?:[^"]|"")*"')
"""A whole field in quotation marks, as libraries write it."""
_ESCAPED = re.compile(r'"(?:[^"\\]|\\.)*"|(?:[^"\\]|\\.)*')
"""A whole field whose quotation marks, except at both ends, follow a backslash."""


class Dialect(NamedTuple):
    """The ``separator`` of fields; ``encloses``: quotation marks enclose fields, else they are characters.

    ``is_declared``: the first line of the file names the separator, and is no record.
    """

    separator: str
    encloses: bool
    is_declared: bool = False

    def reader(self, lines: Iterable[str]) -> Any:
        """Return a :func:`csv.reader` of ``lines``; it raises :class:`csv.Error` for quotation marks out of place."""
        return csv.reader(
            lines,
            delimiter=self.separator,
            quoting=csv.QUOTE_MINIMAL if self.encloses else csv.QUOTE_NONE,
            strict=True,
        )


def dialect_of(name: str, lines: Iterator[str], usual: str) -> Dialect:
    """Return the dialect of the file called ``name`` with these ``lines``; its ending tells the ``usual`` separator.

    All lines of a file with tabs are read, and the first lines of any other. Raises :class:`DataError` for a file with
    tabs that escapes quotation marks by backslashes.
    """
    head: list[str] = []
    characters = 0
    for line in lines:
        head.append(line)
        characters += len(line)
        if is_cut := len(head) == _HEAD_LINES or characters > _HEAD_CHARACTERS:
            break
    else:
        is_cut = False
    declared = _DECLARED.fullmatch(head[0]) if head else None
    if declared:
        del head[0]
    separator = declared[2] if declared else _separator(head, usual, is_cut)
    encloses = separator != TAB or _encloses(name, chain(head, lines))
    return Dialect(separator, encloses, declared is not None)


def _separator(head: Sequence[str], usual: str, is_cut: bool) -> str:
    """Return the separator that divides all records of the ``head`` alike; of several the one least like prose."""
    divided = {separator: _divided(head, separator, is_cut) for separator in _SEPARATORS}
    found = {separator: records for separator, records in divided.items() if records}
    return min(found, key=lambda one: (_in_prose(found[one], one), one != TAB, -len(found[one][0])), default=usual)


def _divided(head: Sequence[str], separator: str, is_cut: bool) -> list[list[str]]:
    """Return the records of the ``head`` if all have equally many fields. One that ``is_cut`` may end within."""
    for encloses in (True, False) if separator == TAB else (True,):
        reader = Dialect(separator, encloses).reader(head)
        records: list[list[str]] = []
        try:
            records += filter(None, reader)
        except csv.Error:
            if not is_cut or reader.line_num < len(head):
                continue
        else:
            records = records[:-1] if is_cut and len(records) > 1 else records
        if len({len(cells) for cells in records}) == 1 and len(records[0]) > 1:
            return records
    return []


def _in_prose(records: Iterable[Sequence[str]], separator: str) -> float:
    """Return the share of separators that stand as in prose: a blank is behind it alone, or a comma is in a number."""
    places = [
        (after[:1].isspace() and not before[-1:].isspace())
        or (separator == "," and before[-1:].isdigit() and after[:1].isdigit())
        for cells in records
        for before, after in pairwise(cells)
    ]
    return sum(places) / len(places) if separator != TAB else 0.0


def _encloses(name: str, lines: Iterator[str]) -> bool:
    """Tell whether quotation marks enclose fields in a file with tabs, called ``name``; else they are characters.

    They enclose where all names in the first line stand in them. Else each line votes. One with more or fewer fields
    than the first line votes that marks enclose a tab or a line end. One with a mark that no library writes, neither
    at both ends of a field nor doubled inside, votes that marks are characters, if it has the fields of the first line
    only so. A line votes for that too where marks enclose a field without need, unless most of its column have them,
    or all but the first, which may be a name.
    """
    first = closed = enclosing = loose = escaped = 0
    needless, bare, named = Counter[int](), Counter[int](), Counter[int]()
    for line in lines:
        fields = line.rstrip("\r\n").split(TAB)
        if fields == [""]:
            continue
        if not first:
            first, closed = len(fields), _closed(line) or len(fields)
            if first == 1 or all(_ENCLOSED.fullmatch(field) for field in fields):
                return True
            named.update(place for place, field in enumerate(fields) if '"' not in field)
        if len(fields) != first:
            enclosing += 1
        elif '"' not in line:
            bare.update(range(len(fields)))
        else:
            odd = [field for field in fields if '"' in field and not _ENCLOSED.fullmatch(field)]
            if odd and (closed == first or _closed(line) != closed):
                loose += 1
                escaped += all('\\"' in field and _ESCAPED.fullmatch(field) is not None for field in odd)
            bare.update(place for place, field in enumerate(fields) if '"' not in field)
            needless.update(
                place for place, field in enumerate(fields) if _ENCLOSED.fullmatch(field) and _is_needless(field)
            )
    if loose and loose == escaped:
        raise DataError(f"{name} escapes quotation marks by backslashes.", "Save it as JSONL, or with doubled marks.")
    mixed = (count for place, count in needless.items() if bare[place] >= max(count, named[place] + 1))
    return loose + sum(mixed) <= enclosing


def _closed(line: str) -> int:
    """Count the fields of a ``line`` whose marks enclose; 0 where they do not end in it."""
    try:
        return len(next(Dialect(TAB, encloses=True).reader([line])))
    except csv.Error:
        return 0


def _is_needless(field: str) -> bool:
    """Tell whether no library encloses ``field``: it has content without marks, commas, line ends and outer blanks."""
    inside = field[1:-1]
    return bool(inside) and inside == inside.strip() and not {'"', ",", "\r", "\n"} & set(inside)
