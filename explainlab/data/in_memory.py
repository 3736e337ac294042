"""Data sets in the memory of a program, written to files: requests name a data set, and its file is read in parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from explainlab.errors import DataError


@contextmanager
def as_named(data: Any) -> Iterator[Any]:
    """Yield the name of a data set, or a list of the names of several; None stays.

    ``data`` is a name, a path, a pandas DataFrame, a list of records (a mapping from column to cell each), or a list of
    any of these. Rows in memory are in a file of JSON lines until the context ends; cells that pandas calls missing are
    empty. Raises :class:`DataError` for anything else, and for cells that JSON cannot write.
    """
    if data is None or isinstance(data, str):
        yield data
        return
    with TemporaryDirectory(prefix="explainlab-") as folder:
        yield _named(data, Path(folder))


def _named(data: Any, folder: Path) -> Any:
    """Return the name of ``data``, written into ``folder`` if it is in memory, or those of its entries."""
    if isinstance(data, str | Path):
        return str(data)
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise DataError(
            f"A data set cannot be a {type(data).__name__}.", "Give a file, a DataFrame or a list of records."
        )
    frame: Any = data
    if hasattr(frame, "iterrows"):
        records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    else:
        records = list(data)
        if not records or not all(isinstance(record, Mapping) for record in records):
            return [_named(entry, folder) for entry in records]
    path = folder / f"records-{len([*folder.iterdir()]) + 1}.jsonl"
    try:
        lines = [
            json.dumps({str(name): _cell(cell) for name, cell in record.items()}, default=_plain) for record in records
        ]
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"A cell of these records is no value of JSON: {error}.", "Give texts, numbers and lists."
        ) from None
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def _cell(cell: Any) -> Any:
    return None if isinstance(cell, float) and isnan(cell) else cell


def _plain(cell: Any) -> Any:
    """Return a cell of NumPy or pandas as a value of Python."""
    if hasattr(cell, "tolist"):
        return cell.tolist()
    if hasattr(cell, "isoformat"):
        return cell.isoformat()
    raise TypeError(f"a {type(cell).__name__}")
