"""Records as one file: Parquet, CSV or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from explainlab.errors import RequestError, ResourceError
from explainlab.figures.export import inert
from explainlab.files import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

Records = Callable[[], Iterable[list[dict[str, Any]]]]


def write_rows(records: Records, out: Path) -> int:
    """Write all ``records`` to the new file ``out`` in the format of its ending, and return their number.

    Each call of ``records`` yields all of them in groups. A value that is a list or a record becomes its JSON text,
    except in JSON lines. Raises :class:`RequestError` for no records, another ending, and a file that exists;
    :class:`ResourceError` where it cannot be written.
    """
    write = _FORMATS.get(out.suffix)
    if write is None:
        raise RequestError(f"{out.name} has no known ending.", f"Use {', '.join(_FORMATS)}.")
    if out.exists():
        raise RequestError(f"The file {out} exists.", "Name a new one.")
    count = sum(map(len, records()))
    if not count:
        raise RequestError("This run has no rows.", "Its numbers are in the JSON that its page exports.")
    try:
        with whole_file(out) as file:
            write(records, file)
    except OSError as error:
        problem = f"{out} cannot be written: {error.strerror or error}."
        raise ResourceError(problem, "Free space, or name another file.") from None
    return count


def _write_lines(records: Records, file: IO[bytes]) -> None:
    for part in records():
        file.writelines(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n".encode() for row in part)


def _write_csv(records: Records, file: IO[bytes]) -> None:
    import pandas as pd

    for number, part in enumerate(records()):
        rows = [{name: inert(v) if isinstance(v, str) else v for name, v in _flat(row).items()} for row in part]
        file.write(pd.DataFrame(rows).to_csv(index=False, header=not number, lineterminator="\r\n").encode())


def _write_parquet(records: Records, file: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.unify_schemas([_table(part).schema for part in records()], promote_options="permissive")
    fields = [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema]
    with pq.ParquetWriter(file, pa.schema(fields), compression="zstd") as writer:
        for part in records():
            writer.write_table(_table(part).cast(pa.schema(fields)))


def _table(part: list[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist([_flat(row) for row in part])


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    nested = (dict, list)
    return {name: json.dumps(v, ensure_ascii=False) if isinstance(v, nested) else v for name, v in row.items()}


_FORMATS: dict[str, Callable[[Records, IO[bytes]], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".jsonl": _write_lines,
}
