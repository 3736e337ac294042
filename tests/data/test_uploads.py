"""Uploads: kept once, whole or not at all, limited, and nobody's but their owner's."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from explainlab.data import Reader, read_dataset, source_digest, uploads
from explainlab.data.uploads import MOST_NAMED, upload_name, upload_path
from explainlab.errors import DataError, ResourceError

CONTENT = b"text,label\nfine,1\n"


def keep_upload(content: bytes, name: str, folder: Path) -> str:
    return uploads.keep_upload(content, name, folder, most_mb=1)


def test_an_upload_is_read_by_its_id(tmp_path) -> None:
    upload = keep_upload(CONTENT, "My data.CSV", tmp_path)
    assert upload == f"upload:{hashlib.sha256(CONTENT).hexdigest()}.csv"
    reader = Reader(tmp_path)
    assert read_dataset(upload, reader=reader).rows[0].text == "fine"
    assert source_digest(upload, reader) == hashlib.sha256(CONTENT).hexdigest()
    assert keep_upload(CONTENT, "again.csv", tmp_path) == upload
    assert len([path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == CONTENT]) == 1
    packed = keep_upload(gzip.compress(CONTENT), "data.csv.gz", tmp_path)
    assert read_dataset(packed, reader=reader).rows == read_dataset(upload, reader=reader).rows


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("My data (2).CSV", "My data (2).CSV"),
        ("../secret/<b>data</b>.csv", "b>.csv"),
        ("C:\\Users\\ann\\täglich.csv", "täglich.csv"),
        ("a\x00b\n\u202ec.csv", "abc.csv"),
        ("x" * 300 + ".jsonl.gz", "x" * 107 + "…" + "xxx.jsonl.gz"),
    ],
    ids=["plain", "folders", "windows", "unseen", "long"],
)
def test_an_upload_goes_by_the_name_of_its_file(name: str, shown: str, tmp_path: Path) -> None:
    first = keep_upload(CONTENT, "first.csv", tmp_path)
    upload = keep_upload(CONTENT, name, tmp_path)
    assert upload_name(upload, tmp_path) == shown
    assert len(shown) <= MOST_NAMED
    assert (upload == first) == (not name.endswith("gz")) == (upload_name(first, tmp_path) == shown)
    for other in (tmp_path / "ann", None):
        assert upload_name(upload, other) == upload, "names are their owner's alone"
    for unknown in ("embedded:sentiment", "rows.csv", f"upload:{'0' * 64}.csv", f"upload:names/{upload[7:]}"):
        assert upload_name(unknown, tmp_path) == unknown


def test_errors_call_an_upload_by_its_name(tmp_path: Path) -> None:
    upload = keep_upload(b"text,label\nfine,\n", "My data.csv", tmp_path)
    with pytest.raises(DataError, match=r"My data\.csv"):
        read_dataset(upload, ["negative", "positive"], reader=Reader(tmp_path))


def test_an_upload_is_its_owners_alone(tmp_path: Path) -> None:
    own = tmp_path / "ann"
    upload = keep_upload(CONTENT, "data.csv", own)
    assert upload_path(upload, own).read_bytes() == CONTENT
    assert read_dataset(upload, reader=Reader(own)).rows[0].label == "1"
    for other in (tmp_path / "bob", tmp_path, None):
        with pytest.raises(DataError, match="You have no upload"):
            upload_path(upload, other)
        with pytest.raises(DataError, match="You have no upload"):
            source_digest(upload, Reader(other))
    with pytest.raises(DataError, match="You have no upload"):
        read_dataset(upload)


@pytest.mark.parametrize(
    "upload",
    ["upload:", "upload:../secret.csv", f"upload:{'a' * 64}.csv/../../x.csv", f"upload:{'A' * 64}.csv", "upload:a.csv"],
)
def test_no_other_file_can_be_named(upload, tmp_path) -> None:
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "secret.csv").write_bytes(CONTENT)
    with pytest.raises(DataError, match="You have no upload"):
        read_dataset(upload, reader=Reader(tmp_path / "uploads" / "ann"))


@pytest.mark.parametrize("name", ["data.txt", "data", "data.gz", ".csv.exe", "data.xlsx"])
def test_only_known_formats(name, tmp_path) -> None:
    with pytest.raises(DataError, match="not of a known format"):
        keep_upload(CONTENT, name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_too_large_names_the_limit(tmp_path) -> None:
    with pytest.raises(DataError, match=r"1\.5 MB; .* 1 MB\..*EXPLAINLAB_MAX_UPLOAD_MB"):
        keep_upload(b"x" * (3 * 2**19), "data.csv", tmp_path)
    assert not list(tmp_path.iterdir())
    keep_upload(b"x" * 2**20, "data.csv", tmp_path)


def test_a_place_that_cannot_be_written_is_told(tmp_path) -> None:
    (tmp_path / "uploads").write_text("a file in the way")
    with pytest.raises(ResourceError, match="cannot be stored"):
        keep_upload(CONTENT, "data.csv", tmp_path / "uploads")
