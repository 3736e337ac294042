"""Results as the store keeps them: a record, and the texts of a long one as Parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from explainlab.analyses.registry import read_result
from explainlab.disk_backed import Packed
from explainlab.result import Result

if TYPE_CHECKING:
    import pyarrow as pa

_PACKED = "parquet"
"""In place of the texts of a record that packs them itself; any other has an empty list there."""
_WRITTEN = b"json"
"""In the metadata of other files: which columns hold JSON."""
_PLAIN = (bool, int, float, str)


def in_bodies(result: Result) -> tuple[dict[str, Any], Iterator[bytes]]:
    """Return the JSON of ``result``, and its texts as Parquet files if there are too many for the JSON."""
    record = result.in_parts()
    record.pop("parts", None)
    many = _many(record)
    texts = record.get(many)
    if not isinstance(texts, Iterator):
        return record, iter(())
    packed = result.packed()
    record[many] = [] if packed is None else _PACKED
    return record, map(pack, texts) if packed is None else iter(packed)


def of_bodies(record: Mapping[str, Any], files: Iterable[bytes] | None) -> Result:
    """Return the result of :func:`in_bodies`; ``files`` are None where there were none.

    Raises as :func:`explainlab.analyses.registry.read_result`.
    """
    if files is None:
        return read_result(record)
    many = _many(record)
    texts = Packed(files) if record[many] == _PACKED else chain.from_iterable(map(unpack, files))
    return read_result({**record, many: texts})


def pack(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Write JSON ``records`` as a Parquet file with a column per field; mixed values and lists are stored as JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = dict.fromkeys(chain.from_iterable(records))
    plain = {name: _plain(name, records) for name in names}
    columns = {name: _json(name, records) if own is None else own for name, own in plain.items()}
    written = [name for name, own in plain.items() if own is None]
    table = pa.table(columns, metadata={_WRITTEN: json.dumps(written)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def unpack(content: bytes) -> list[dict[str, Any]]:
    """Read the records of :func:`pack`; raises :class:`ValueError` for another file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(content))
    written = set(json.loads((table.schema.metadata or {}).get(_WRITTEN, b"[]")))
    return [
        {
            name: json.loads(value) if name in written else value
            for name, value in row.items()
            if name not in written or value is not None
        }
        for row in table.to_pylist()
    ]


def _plain(name: str, records: Sequence[Mapping[str, Any]]) -> pa.Array | None:
    """Return the column of a field that all records have, of one plain kind or None; None if Arrow cannot hold it."""
    import pyarrow as pa

    if not all(name in record for record in records):
        return None
    values = [record[name] for record in records]
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 or not kinds.issubset(_PLAIN):
        return None
    try:
        return pa.array(values)
    except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
        return None


def _json(name: str, records: Sequence[Mapping[str, Any]]) -> pa.Array:
    """Return the column of a field as JSON; None where a record lacks it."""
    import pyarrow as pa

    return pa.array([json.dumps(r[name], allow_nan=False) if name in r else None for r in records], pa.string())


def _many(record: Mapping[str, Any]) -> str:
    """Return the name of the field with the texts of a result."""
    return "texts" if "texts" in record else "rows"
