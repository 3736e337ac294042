"""The checks of a cluster before any computation, and its actors that come and go."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from explainlab.analyses.registry import complete
from explainlab.errors import RequestError, ResourceError
from explainlab.models.context import RunContext
from explainlab.request import Request
from explainlab.settings import ROOT, settings
from explainlab.workers.cluster import workers as cluster_module
from explainlab.workers.cluster.address import answers, require_answer, require_private
from explainlab.workers.cluster.workers import cluster
from explainlab.workers.local import at_hand
from explainlab.workers.worker import Elsewhere
from tests.workers.conftest import LATE, Head, a_head, having, kill_all


@pytest.mark.parametrize("address", ["", "auto", "ray://head:10001", "8.8.8.8:6379", "ray://[2606:4700::1111]:10001"])
def test_a_hosted_instance_uses_no_cluster_that_others_may_reach(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_private(address)
    monkeypatch.setattr(settings(), "allow_anyone", True)
    with pytest.raises(RequestError, match="not an address on a private network"):
        require_private(address)


@pytest.mark.parametrize("address", ["10.0.0.7:6379", "ray://192.168.1.2:10001", "127.0.0.1:6379", "[fd00::1]:6379"])
def test_one_on_a_private_network_is_used(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "allow_anyone", True)
    require_private(address)


def test_without_ray_it_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "find_spec", lambda _: None)
    with pytest.raises(ResourceError, match="pip install ray=="):
        cluster(1)


def test_an_address_where_nothing_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "ray_address", "127.0.0.1:1")
    with pytest.raises(ResourceError, match=r"No Ray cluster answers at 127\.0\.0\.1:1"):
        require_answer()


def test_without_its_workers_the_app_computes_itself_and_a_hosted_one_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings(), "engine", "ray")
    monkeypatch.setattr(cluster_module, "find_spec", lambda _: None)
    workers, why = at_hand()
    assert (workers, why[:56]) == ([], "Nothing but this process computes. Ray is not installed.")
    monkeypatch.setattr(settings(), "allow_anyone", True)
    with pytest.raises(ResourceError, match="Ray is not installed"):
        at_hand()


@pytest.mark.full("minutes: it starts a cluster")
def test_a_worker_that_has_nothing_to_do_gives_back_its_place(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "idle_worker_seconds", 1.0)
    (worker,) = cluster(1)
    asked = complete(Request(model="embedded:bert-mini-sst2", text="a film", question="gradient"))
    wait_for(lambda: not worker.away)
    (first,) = worker.answer([asked], RunContext())
    wait_for(lambda: not worker.condition.place)
    assert (worker.away, worker.loaded) == ("", ()), "it can be asked"
    (again,) = worker.answer([asked], RunContext())
    assert again.features == first.features
    assert worker.restarts == 0
    worker.close()


@pytest.mark.full("minutes: it starts a cluster of two machines")
def test_a_machine_that_leaves_costs_time_and_is_used_when_it_comes_back() -> None:
    """The cluster has one core, and so has the machine that joins it: each worker needs one."""
    asked = complete(Request(model="embedded:bert-mini-sst2", text="a film", question="gradient"))
    with a_head(1) as there, ExitStack() as ends:
        workers = cluster(2)
        for worker in workers:
            ends.callback(worker.close)
        with joined(there) as machine:
            wait_for(lambda: not any(worker.away for worker in workers))
            before = [worker.answer([asked], RunContext())[0].features for worker in workers]
            (lost,) = [worker for worker in workers if worker.pid in pids(machine)]
        (stays,) = [worker for worker in workers if worker is not lost]
        wait_for(lambda: lost.away == "The cluster has no free cores.")
        with pytest.raises(Elsewhere):
            lost.answer([asked], RunContext())
        (meanwhile,) = stays.answer([asked], RunContext())
        with joined(there) as machine:
            wait_for(lambda: not lost.away)
            assert lost.pid in pids(machine)
            (after,) = lost.answer([asked], RunContext())
            assert [*before, meanwhile.features, after.features] == 4 * [after.features]
            assert (stays.restarts, lost.restarts) == (0, 1)


@contextmanager
def joined(head: Head) -> Iterator[subprocess.Popen[bytes]]:
    """Another machine of the cluster, as far as Ray can tell, until it is killed."""
    wait_for(lambda: answers(head.address))
    command = [sys.executable, "-m", "explainlab", "worker", "--address", head.address]
    machine = subprocess.Popen(command, env={**os.environ, **having(1)}, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield machine
    finally:
        kill_all(machine)


def pids(process: subprocess.Popen[bytes]) -> set[int]:
    return {child.pid for child in psutil.Process(process.pid).children(recursive=True)}


def wait_for(true: Callable[[], object]) -> None:
    until = time.monotonic() + LATE
    while not true():
        assert time.monotonic() < until
        time.sleep(0.05)
