"""Files that are small outside and large inside, or hold what Python has no value for: the seeds of the fuzzing."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyarrow import parquet


def packed(columns: dict[str, object], **options: object) -> bytes:
    """A Parquet file with these columns."""
    stream = io.BytesIO()
    parquet.write_table(pa.table(columns), stream, compression="zstd", **options)
    return stream.getvalue()


def texts(column: pa.Array, **options: object) -> bytes:
    """A Parquet file with these texts, and no labels."""
    return packed({"text": column, "label": pa.nulls(len(column), pa.int8())}, **options)


def long_string() -> bytes:
    """A string of 20 MB in a dictionary, 1,024 times."""
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1024, "int32")), pa.array(["a" * 20_000_000]))
    return texts(column, store_schema=False, write_statistics=False)


def delta() -> bytes:
    """Strings that are each written as "like the one before, but for its end"."""
    encoding = {"text": "DELTA_BYTE_ARRAY", "label": "DELTA_LENGTH_BYTE_ARRAY"}
    return packed({"text": ["a", "ab"] * 9, "label": ["0", "1"] * 9}, use_dictionary=False, column_encoding=encoding)


def fixed_strings() -> bytes:
    """60 strings of 1 MB, of a type that has no dictionaries in Arrow."""
    return texts(pa.array([bytes(1_000_000)] * 60, pa.binary(1_000_000)))


def long_list() -> bytes:
    """One cell with 4 million nulls."""
    return texts(pa.ListArray.from_arrays(pa.array([0, 4_000_000], pa.int32()), pa.nulls(4_000_000, pa.int8())))


def odd_dates() -> bytes:
    """Dates, times and spans that Python does not have."""
    return packed(
        {
            "text": ["a", "b"],
            "label": ["1", "0"],
            "day": pa.array([2**31 - 1, -(2**31)], pa.date32()),
            "date": pa.array([2**62, 0], pa.date64()),
            "time": pa.array([2**62, 0], pa.timestamp("us", "Nowhere/At all")),
            "span": pa.array([2**62, -(2**62)], pa.duration("s")),
            "clock": pa.array([2**62, 0], pa.time64("ns")),
        }
    )


def nested() -> bytes:
    """Lists of lists, a map, and dictionaries in a list."""
    return packed(
        {
            "text": ["a", "b"],
            "label": ["1", "0"],
            "rationale": pa.array([[[0, 1]], None], pa.list_(pa.list_(pa.int64()))),
            "tags": pa.array([[("a", "b")], []], pa.map_(pa.string(), pa.string())),
            "words": pa.array([["a", "a"], None]),
        }
    )


LARGE: dict[str, tuple[Callable[[], bytes], str]] = {
    "long_string.parquet": (long_string, "row of over 4,194,304 bytes"),
    "fixed_strings.parquet": (fixed_strings, "100 times its size"),
    "long_list.parquet": (long_list, "100 times its size"),
    "zeros.parquet.gz": (lambda: gzip.compress(bytes(50 * 2**20)), "does not end as one"),
    "disguised.parquet.gz": (lambda: gzip.compress(b"PAR1" + bytes(50 * 2**20)), "100 times its size"),
    "columns.csv": (lambda: (",".join(f"c{i}" for i in range(60_000)) + "\n").encode() * 2, "60,000 columns"),
    "columns.jsonl": (lambda: b'{"text":"a"%b}' % b"".join(b',"%d":0' % i for i in range(2_000)), "2,001 columns"),
    "blank.csv.gz": (lambda: gzip.compress(b"text\n" + b"\n" * 2_000_000), "100,000 blank lines"),
    "lines.csv.gz": (
        lambda: gzip.compress(b"a,b,c,d,e,f\n" + b'"%b",' % ((b"a" * 99 + b"\n") * 9_000) * 6),
        "record of over 4,194,304 bytes",
    ),
    "cell.csv.gz": (lambda: gzip.compress(b"text\n" + b"a" * 1_100_000), "cell of over 1,000,000 characters"),
    "cell.jsonl.gz": (lambda: gzip.compress(b'{"text": "%b"}' % (b"a" * 1_100_000)), "cell of over 1,000,000"),
    "depth.jsonl": (lambda: b'{"text": "a", "label": %b}' % (b"[" * 200_000), "nested too deeply"),
}
"""By name each file that is small outside and large inside, and a part of what is said about it."""

WELL_FORMED: dict[str, bytes] = {
    "rows.csv": b'text,label,rationale\n"a ""b"", c",1,"[[0, 1]]"\nd,0,\n',
    "rows.tsv": b"text\tlabel\na caf\xc3\xa9\t1\n\nb\t0\n",
    "rows.jsonl": b'{"text": "a \\ud83d\\ude00", "label": 1, "rationale": [[0, 1]]}\n{"text": "b", "n": {"a": []}}\n',
    "raw.tsv": b'text\tlabel\n"a caf\xc3\xa9\t1\nb" c\t0\n',
    "mac.csv": b'text;label\r"a\nb";1\rc;0\r',
    "windows.csv": b"text,label\na caf\xe9 \x93x\x94,1\nb,0\n",
    "windows.json": b'[{"text": "a caf\xe9", "label": 1}, {"text": "b \x85", "label": 0}]',
    "list.json": b'[{"text": "a caf\xc3\xa9", "label": ["1"]},\n {"text": "b", "label": 0, "answer": "accept"}]\n',
    "dates.parquet": odd_dates(),
    "nested.parquet": nested(),
    "delta.parquet": delta(),
    "plain.parquet": packed({"text": ["a", "b"] * 9, "label": [0, 1] * 9}, use_dictionary=False),
}
"""By name the files that are read, from which damaged ones are made."""
