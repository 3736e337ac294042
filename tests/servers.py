"""Streamlit servers of tests, each in a process of its own."""

from __future__ import annotations

import socket
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests import forked

START_SECONDS, END_SECONDS = 60, 30


@dataclass(frozen=True)
class Server:
    """A running server: where it answers, and its process."""

    url: str
    process: BaseProcess


@contextmanager
def serving(script: Path, home: Path, environment: Mapping[str, str], output: str = "log.txt") -> Iterator[Server]:
    """Yield a script on a free port, with its store and its ``output`` in ``home``; stop it at the end."""
    home.mkdir(parents=True, exist_ok=True)
    port, log = _free_port(), home / output
    arguments = [str(script), f"--server.port={port}", "--server.headless=true"]
    always = {"EXPLAINLAB_HOME": str(home), "EXPLAINLAB_WORKERS": "1"}
    process = forked.start_streamlit(arguments, {**always, **environment}, log)
    try:
        server = Server(f"http://127.0.0.1:{port}", process)
        _wait_until_healthy(server, log)
        yield server
    finally:
        process.terminate()
        process.join(END_SECONDS)
        assert process.exitcode is not None, f"The server did not end:\n{log.read_text()}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_healthy(server: Server, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.process.is_alive():
        try:
            urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"The server did not start:\n{log.read_text() if log.exists() else ''}")
