"""Uploads: kept once, whole or not at all, limited, and nobody's but their owner's."""

from __future__ import annotations

import gzip
import hashlib
import threading

import pytest

from explainlab.data import keep_upload, read_as, read_dataset, source_digest
from explainlab.data.uploads import MOST_NAMED, reader, upload_name, upload_path
from explainlab.errors import DataError, ResourceError
from explainlab.service.users import LOCAL
from explainlab.settings import settings

CONTENT = b"text,label\nfine,1\n"


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setattr(settings(), "home", tmp_path)
    yield
    read_as(LOCAL.id)


def test_an_upload_is_read_by_its_id(tmp_path) -> None:
    upload = keep_upload(CONTENT, "My data.CSV", LOCAL.id)
    assert upload == f"upload:{hashlib.sha256(CONTENT).hexdigest()}.csv"
    assert read_dataset(upload).rows[0].text == "fine"
    assert source_digest(upload) == hashlib.sha256(CONTENT).hexdigest()
    assert keep_upload(CONTENT, "again.csv", LOCAL.id) == upload
    assert len([path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == CONTENT]) == 1
    packed = keep_upload(gzip.compress(CONTENT), "data.csv.gz", LOCAL.id)
    assert read_dataset(packed).rows == read_dataset(upload).rows


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
def test_an_upload_goes_by_the_name_of_its_file(name: str, shown: str) -> None:
    first = keep_upload(CONTENT, "first.csv", LOCAL.id)
    upload = keep_upload(CONTENT, name, LOCAL.id)
    assert upload_name(upload, LOCAL.id) == shown
    assert len(shown) <= MOST_NAMED
    assert (upload == first) == (not name.endswith("gz")) == (upload_name(first, LOCAL.id) == shown)
    for other in ("ann", ""):
        assert upload_name(upload, other) == upload, "names are their owner's alone"
    for unknown in ("embedded:sentiment", "rows.csv", f"upload:{'0' * 64}.csv", f"upload:names/{upload[7:]}"):
        assert upload_name(unknown, LOCAL.id) == unknown


def test_errors_call_an_upload_by_its_name() -> None:
    upload = keep_upload(b"text,label\nfine,\n", "My data.csv", LOCAL.id)
    with pytest.raises(DataError, match=r"My data\.csv"):
        read_dataset(upload, ["negative", "positive"])


def test_an_upload_is_its_owners_alone() -> None:
    upload = keep_upload(CONTENT, "data.csv", "ann")
    assert upload_path(upload, "ann").read_bytes() == CONTENT
    for other in ("bob", LOCAL.id, "", "ann "):
        with pytest.raises(DataError, match="You have no upload"):
            upload_path(upload, other)
    with pytest.raises(DataError, match="You have no upload"):
        read_dataset(upload)
    read_as("ann")
    assert read_dataset(upload).rows[0].label == "1"
    seen = []
    thread = threading.Thread(target=lambda: seen.append(reader()))
    thread.start()
    thread.join()
    assert seen == [LOCAL.id], "another thread reads for itself"


@pytest.mark.parametrize(
    "upload",
    ["upload:", "upload:../secret.csv", f"upload:{'a' * 64}.csv/../../x.csv", f"upload:{'A' * 64}.csv", "upload:a.csv"],
)
def test_no_other_file_can_be_named(upload, tmp_path) -> None:
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "secret.csv").write_bytes(CONTENT)
    with pytest.raises(DataError, match="You have no upload"):
        read_dataset(upload)


@pytest.mark.parametrize("name", ["data.txt", "data", "data.gz", ".csv.exe", "data.xlsx"])
def test_only_known_formats(name, tmp_path) -> None:
    with pytest.raises(DataError, match="not of a known format"):
        keep_upload(CONTENT, name, LOCAL.id)
    assert not list(tmp_path.iterdir())


def test_too_large_names_the_limit(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(settings(), "max_upload_mb", 1)
    with pytest.raises(DataError, match=r"1\.5 MB; the limit is 1 MB\..*EXPLAINLAB_MAX_UPLOAD_MB"):
        keep_upload(b"x" * (3 * 2**19), "data.csv", LOCAL.id)
    assert not list(tmp_path.iterdir())
    keep_upload(b"x" * 2**20, "data.csv", LOCAL.id)


def test_a_place_that_cannot_be_written_is_told(tmp_path) -> None:
    (tmp_path / "uploads").write_text("a file in the way")
    with pytest.raises(ResourceError, match="cannot be stored"):
        keep_upload(CONTENT, "data.csv", LOCAL.id)
