"""Reads the headers of Parquet files: Thrift structures in the compact protocol, exactly as Arrow understands them.

Sources: parquet.thrift of Apache Parquet, thrift-compact-protocol.md of Apache Thrift. Arrow's own access to a damaged
header can end the process, and what it skips must be skipped here too: so fields have numbers *and* kinds.
"""

from __future__ import annotations

import io
from typing import Any

I32, I64, LIST, STRUCT = 5, 6, 9, 12
_TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _BINARY = 1, 2, 3, (4, I32, I64), 7, 8
_LISTS = {
    **dict.fromkeys([(0, 2), (0, 4), (0, 5), (0, 7), (1, 1), (1, 4), (3, 8), (3, 13)], (STRUCT,)),
    **dict.fromkeys([(3, 2), (4, 2), (4, 3)], _INTEGERS),
    (3, 3): (_BINARY,),
}
"""What the lists of a footer hold, by how deep their structure lies in it, and their number."""
_DEEPEST, _LONGEST_NUMBER, _LAST_FIELD = 8, 10, 2**15

Fields = dict[tuple[int, int], Any]
"""The fields of a structure by their numbers and kinds: numbers, bytes, lists, and structures as such."""


class Malformed(ValueError):
    """A file that does not keep to its format."""

    def __init__(self, problem: str = "its headers are damaged") -> None:
        super().__init__(problem)


def read_struct(stream: io.BytesIO, depth: int = 0) -> Fields:
    """The structure at the position of ``stream``.

    Raises :class:`Malformed` where there is none, :class:`EOFError` where the stream ends in it.
    """
    if depth > _DEEPEST:
        raise Malformed
    fields: Fields = {}
    last = 0
    while head := _byte(stream):
        step, kind = head >> 4, head & 15
        number = last + step if step else _integer(stream)
        if not last < number < _LAST_FIELD:
            raise Malformed
        if kind == LIST:
            fields[number, kind] = _list(stream, depth, number)
        elif kind not in (_TRUE, _FALSE):
            fields[number, kind] = _value(stream, kind, depth)
        last = number
    return fields


def counted(fields: Fields, number: int, kind: int) -> int:
    """A field that says how many or where: not negative; raises :class:`Malformed` if there is none."""
    value = fields.get((number, kind))
    if not isinstance(value, int) or not 0 <= value < (2**31 if kind == I32 else 2**63):
        raise Malformed
    return value


def _list(stream: io.BytesIO, depth: int, number: int) -> list[Any]:
    head = _byte(stream)
    length, kind = head >> 4, head & 15
    length = _unsigned(stream) if length == 15 else length
    if kind not in _LISTS.get((depth, number), ()):
        raise Malformed
    return [_value(stream, kind, depth) for _ in range(length)]


def _value(stream: io.BytesIO, kind: int, depth: int) -> Any:
    if kind in _INTEGERS:
        return _integer(stream)
    if kind == _BYTE:
        return _byte(stream)
    if kind == _DOUBLE:
        return _bytes(stream, 8)
    if kind == _BINARY:
        return _bytes(stream, _unsigned(stream))
    if kind == STRUCT:
        return read_struct(stream, depth + 1)
    raise Malformed


def _integer(stream: io.BytesIO) -> int:
    """A signed number in zigzag encoding."""
    number = _unsigned(stream)
    return (number >> 1) ^ -(number & 1)


def _unsigned(stream: io.BytesIO) -> int:
    number = 0
    for place in range(_LONGEST_NUMBER):
        byte = _byte(stream)
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number
    raise Malformed


def _bytes(stream: io.BytesIO, length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content


def _byte(stream: io.BytesIO) -> int:
    return _bytes(stream, 1)[0]
