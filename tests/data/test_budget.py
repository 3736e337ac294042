"""No file is larger inside than out: one budget of bytes, columns, cells, rows and seconds for every format."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from explainlab.data import misfit, preview, read_dataset, survey
from explainlab.errors import Cancelled, DataError
from explainlab.limits import Limits
from explainlab.reader import Reader
from tests.data.hostile import LARGE, WELL_FORMED, odd_dates

LABELS = ("negative", "positive")
READ: dict[str, Callable[..., object]] = {
    "preview": lambda path, **how: preview(path, **how),
    "misfit": lambda path, **how: misfit(path, LABELS, **how),
    "survey": lambda path, **how: survey(path, LABELS, **how),
    "dataset": lambda path, **how: read_dataset(path, LABELS, limit=9, skip_bad=True, seed=0, **how),
}


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, bytes], Path]:
    def make(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return make


@pytest.fixture
def half_a_gigabyte() -> Iterator[None]:
    """No more memory than that for the test."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 500 * 2**20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.skipif(sys.platform != "linux", reason="only there can memory be limited")
@pytest.mark.parametrize("name", LARGE)
def test_no_file_is_larger_inside_than_out(
    name: str, file: Callable[[str, bytes], Path], request: pytest.FixtureRequest
) -> None:
    make, told = LARGE[name]
    path = file(name, make())
    assert path.stat().st_size < 2**20
    request.getfixturevalue("half_a_gigabyte")
    with pytest.raises(DataError) as caught:
        survey(path, LABELS, reader=Reader(limits=Limits(max_rows=100_000)))
    assert told in caught.value.problem
    assert caught.value.remedy


@pytest.mark.parametrize("name", WELL_FORMED)
@pytest.mark.parametrize("way", READ)
def test_what_is_well_formed_is_read(way: str, name: str, file: Callable[[str, bytes], Path]) -> None:
    assert READ[way](file(name, WELL_FORMED[name])) or way == "misfit"


def test_dates_out_of_range_are_text(file: Callable[[str, bytes], Path]) -> None:
    first, _ = preview(file("dates.parquet", odd_dates())).records
    assert first["day"] == "<value out of range: 2147483647>"
    assert len(read_dataset(file("dates.parquet", odd_dates()), LABELS).rows) == 2


@pytest.mark.parametrize("name", ["rows.csv.gz", "rows.parquet"])
def test_the_settings_bound_what_is_unpacked(name: str, file: Callable[[str, bytes], Path]) -> None:
    path = file(name, b"")
    texts = [" ".join(map(str, row)) for row in np.random.default_rng(0).integers(10**9, size=(4_000, 30))]
    frame = pd.DataFrame({"text": texts})
    (frame.to_parquet if name.endswith("parquet") else frame.to_csv)(path, index=False)
    for reader, told in (
        (Reader(limits=Limits(max_unpacked_mb=1)), r"holds over 1 MB when it is unpacked\. Split it\. The limit is 1"),
        (Reader(limits=Limits(max_read_seconds=-1)), "takes longer than -1 s to read"),
    ):
        with pytest.raises(DataError, match=told):
            read_dataset(path, reader=reader)
        assert len(read_dataset(path).rows) == 4_000


def test_a_reading_is_watched_and_can_be_ended(file: Callable[[str, bytes], Path]) -> None:
    shares: list[float] = []

    def watch(share: float) -> None:
        shares.append(share)
        if share > 0.5:
            raise Cancelled

    path = file("rows.csv", b"text,label\n" + b"a fine film,1\n" * 100_000)
    with pytest.raises(Cancelled):
        survey(path, LABELS, reader=Reader(watch=watch))
    assert shares == sorted(shares)
    assert 0.5 < shares[-1] < 1


def test_a_column_of_texts_holds_no_labels(file: Callable[[str, bytes], Path]) -> None:
    with pytest.raises(DataError, match="Row 1 has a label of 300 characters"):
        survey(file("rows.csv", b"text,label\na," + b"b" * 300 + b"\n"), LABELS)
