"""Reads structures of Thrift's compact protocol (thrift-compact-protocol.md of Apache Thrift), field by field."""

from __future__ import annotations

import io
from typing import Any

_TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 12
_DEEPEST, _LONGEST_NUMBER, _LAST_FIELD = 8, 10, 2**15


class Malformed(ValueError):
    """A file that does not keep to its format; the message ends the sentence "it cannot be read: ..."."""


def read_struct(stream: io.BytesIO, depth: int = 0) -> dict[int, Any]:
    """The fields of the structure at the position of ``stream``, by their numbers; structures in it are dictionaries.

    Raises :class:`Malformed` where there is none, :class:`EOFError` where the stream ends in it.
    """
    if depth > _DEEPEST:
        raise Malformed("its headers are nested too deeply")
    fields: dict[int, Any] = {}
    number = 0
    while head := _byte(stream):
        step, kind = head >> 4, head & 15
        number = number + step if step else _integer(stream)
        if number in fields or not 0 < number < _LAST_FIELD:
            raise Malformed("its headers are damaged")
        fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else _value(stream, kind, depth)
    return fields


def _value(stream: io.BytesIO, kind: int, depth: int) -> Any:
    if kind in _INTEGERS:
        return _integer(stream)
    if kind in (_TRUE, _FALSE, _BYTE):  # in a list
        return _byte(stream)
    if kind == _DOUBLE:
        return _bytes(stream, 8)
    if kind == _BINARY:
        return _bytes(stream, _unsigned(stream))
    if kind == _STRUCT:
        return read_struct(stream, depth + 1)
    if kind in _LISTS:
        head = _byte(stream)
        length = head >> 4 if head >> 4 < 15 else _unsigned(stream)
        return [_value(stream, head & 15, depth) for _ in range(length)]
    raise Malformed("its headers are damaged")


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
    raise Malformed("its headers are damaged")


def _bytes(stream: io.BytesIO, length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content


def _byte(stream: io.BytesIO) -> int:
    return _bytes(stream, 1)[0]
