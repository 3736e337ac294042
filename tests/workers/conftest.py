"""Two workers in processes of their own, of this machine or of a cluster of Ray, and a service on them."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import psutil
import pytest

from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.settings import settings
from explainlab.workers import process as workers_process
from explainlab.workers.cluster.address import answers
from explainlab.workers.cluster.workers import cluster, start_head
from explainlab.workers.local import here, processes
from tests import forked
from tests.tiers import first

LATE = 200


class Head:
    """A Ray cluster on this machine that a test can kill and start again, with all cores or some."""

    def __init__(self, cores: int | None = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        self.address = f"127.0.0.1:{self.port}"
        self._environment = having(cores) if cores else {}
        self.start()

    def start(self) -> None:
        self._process = start_head(self.port, self._environment)

    def kill(self) -> None:
        kill_all(self._process)

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(LATE)


def having(cores: int) -> dict[str, str]:
    """Return the environment in which Ray sees a machine with this number of ``cores``."""
    return {"RAY_OVERRIDE_RESOURCES": json.dumps({"CPU": cores})}


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all its children at once."""
    for one in [*psutil.Process(process.pid).children(recursive=True), process]:
        one.kill()
    process.wait()


@contextmanager
def a_head(cores: int | None = None) -> Iterator[Head]:
    """Yield a cluster at the address of the settings, with a token."""
    if find_spec("ray") is None:
        pytest.skip("needs Ray: pip install ray==2.60.0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        cluster_there = Head(cores)
        patch.setattr(settings(), "ray_address", cluster_there.address)
        try:
            yield cluster_there
        finally:
            cluster_there.end()
        assert not answers(cluster_there.address), "nothing of it is left"


@pytest.fixture(scope="module")
def head(_home: object) -> Iterator[Head]:
    """Yield one cluster for all tests of a module."""
    with a_head() as cluster_there:
        yield cluster_there


@pytest.fixture(scope="module", params=first(["processes"], ["processes", "ray"], "a minute: it starts a cluster"))
def fleet(request: pytest.FixtureRequest, _home: object) -> Iterator[Service]:
    """Yield a service on both workers; a test leaves no job there."""
    if request.param == "ray":
        request.getfixturevalue("head")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers_process, "subprocess", forked.FORKING)
        there = processes(2, "cpu") if request.param == "processes" else cluster(2)
        service = Service(
            Store("sqlite://"), "cpu", workers=there if request.param == "processes" else [*there, here(spare=True)]
        )
        until = time.monotonic() + LATE
        while any(worker.away for worker in there):
            assert time.monotonic() < until, [worker.away for worker in there]
            time.sleep(0.1)
        yield service
        for worker in there:
            worker.close()
