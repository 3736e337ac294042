"""Hub data sets: fetched from a hub (a small one of our own), then read from the cache, or clearly told."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import huggingface_hub.constants as hub
import pandas as pd
import pytest

from explainlab.data import read_dataset, source_digest
from explainlab.errors import DataError

COMMIT = "c" * 40


def parquet(texts: list[str]) -> bytes:
    stream = io.BytesIO()
    pd.DataFrame({"text": texts, "label": [1] * len(texts)}).to_parquet(stream)
    return stream.getvalue()


FILES = {
    "default/train/0000.parquet": parquet(["train a", "train b"]),
    "default/train/0001.parquet": parquet(["train c"]),
    "default/test/0000.parquet": parquet(["test a"]),
    "other/test/0000.parquet": parquet(["other a"]),
    ".gitattributes": b"",
    "README.md": b"no data",
}


class Hub(BaseHTTPRequestHandler):
    """The part of the hub's protocol that reading a public data set needs."""

    asked: list[str]

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.asked.append(path)
        base = "/api/datasets/owner/films"
        if path == f"{base}/revision/refs/convert/parquet":
            self._send(json.dumps({"id": "owner/films", "sha": COMMIT, "siblings": []}).encode())
        elif path == f"{base}/tree/{COMMIT}":
            tree = [{"type": "file", "path": name, "size": len(FILES[name]), "oid": self._oid(name)} for name in FILES]
            self._send(json.dumps(tree).encode())
        elif (name := path.removeprefix(f"/datasets/owner/films/resolve/{COMMIT}/")) in FILES:
            self._send(FILES[name], {"ETag": f'"{self._oid(name)}"', "X-Repo-Commit": COMMIT})
        else:
            self._send(b"{}", {"X-Error-Code": "RepoNotFound"}, 404)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _oid(self, name: str) -> str:
        return hashlib.sha1(FILES[name]).hexdigest()

    def _send(self, body: bytes, headers: dict[str, str] | None = None, status: int = 200) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The requests to a hub of our own; nothing is cached yet."""
    Hub.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    ours = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(hub, "ENDPOINT", ours)
    monkeypatch.setattr(hub, "HUGGINGFACE_CO_URL_TEMPLATE", ours + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", False)
    yield Hub.asked
    server.shutdown()
    server.server_close()


def texts(data_id: str) -> list[str]:
    return [row.text for row in read_dataset(data_id).rows]


@pytest.mark.parametrize(
    ("data_id", "found"),
    [
        ("hub:owner/films", ["test a"]),
        ("hub:owner/films:default", ["test a"]),
        ("hub:owner/films:train", ["train a", "train b", "train c"]),
        ("hub:owner/films:default:train", ["train a", "train b", "train c"]),
        ("hub:owner/films:other", ["other a"]),
    ],
)
def test_config_and_split_are_chosen(asked, data_id, found) -> None:
    assert texts(data_id) == found
    assert not any("README" in path for path in asked)


def test_what_was_fetched_is_read_without_the_hub(asked, monkeypatch) -> None:
    first, digest = texts("hub:owner/films:train"), source_digest("hub:owner/films:train")
    asked.clear()
    assert (texts("hub:owner/films:train"), source_digest("hub:owner/films:train")) == (first, digest)
    assert asked == []
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", True)
    assert texts("hub:owner/films:train") == first
    with pytest.raises(DataError, match="hub:owner/films:other is not stored"):
        read_dataset("hub:owner/films:other")
    assert source_digest("hub:owner/films:train") != hashlib.sha256(FILES["default/train/0000.parquet"]).hexdigest()


@pytest.mark.parametrize(
    ("data_id", "told"),
    [
        ("hub:owner/films:else", "no config 'else'. There are default, other"),
        ("hub:owner/films:other:train", "no split 'train' in other. There are test"),
        ("hub:owner/nothing", "no Parquet files of owner/nothing"),
        ("hub:films", "names no hub data set"),
        ("hub:owner/films:", "names no hub data set"),
        ("hub:owner/films:a:b:c", "names no hub data set"),
        ("hub:own er/films", "not a hub id"),
    ],
)
def test_what_is_not_there_is_told(asked, data_id, told) -> None:
    with pytest.raises(DataError) as error:
        read_dataset(data_id)
    assert told in str(error.value)
    assert error.value.remedy


def test_a_hub_that_cannot_be_reached(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", True)
    with pytest.raises(DataError, match="hub:owner/films is not stored"):
        read_dataset("hub:owner/films")
