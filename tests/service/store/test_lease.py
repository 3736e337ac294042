"""Servers on one database: each leaves the jobs of the others alone, and tells those of a dead one."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import BindParameter, DateTime, literal

from explainlab.service.store import lease
from explainlab.service.store.store import Store
from tests.service.store.processes import Other, other, serve

SOON = 60
FIRST, SECOND = "1" * 64, "2" * 64


@pytest.fixture
def server(database_url: str) -> Iterator[Other]:
    """Yield a server, a process of its own, that works on two jobs of Ann."""
    Store(database_url)
    with other(serve, database_url, [FIRST, SECOND]) as process:
        assert process.told() == "begun"
        yield process


def told(store: Store) -> list[str]:
    return sorted(job.key for job in store.unfinished.cut_short("ann"))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.full("20 s: waits until the lease of a killed server has expired")
def test_only_the_jobs_of_a_dead_server_are_told_and_one_that_slept_leaves_what_was_taken_over(
    server: Other, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 6)
    second = Store(database_url)
    second.lease.renew()
    end = time.monotonic() + 6.5  # more than the lease
    while time.monotonic() < end:
        assert told(second) == []
        time.sleep(0.1)
    second.unfinished.forget("ann", [FIRST, SECOND])
    second.unfinished.end(SECOND)
    os.kill(server.process.pid, signal.SIGSTOP)
    until(lambda: told(second) == [FIRST, SECOND])
    second.unfinished.begin(FIRST, "ann", "attribution", {"text": "a film"})
    os.kill(server.process.pid, signal.SIGCONT)
    until(lambda: told(second) == [])
    server.pipe.send("end")
    assert server.told() == "done"
    second.lease.end()
    third = Store(database_url)
    assert told(third) == [FIRST], "the first has not ended the second's"
    server.process.kill()
    until(lambda: told(third) == [FIRST, SECOND])
    third.unfinished.forget("ann", [SECOND])
    assert told(third) == [FIRST]


def test_a_lease_is_kept_and_given_up(database_url: str) -> None:
    first, second = Store(database_url), Store(database_url)
    first.unfinished.begin(FIRST, "ann", "attribution", {})
    assert told(second) == [FIRST], "it has none yet"
    beats = threading.Semaphore(0)
    first.lease.keep(beats.release)
    assert beats.acquire(timeout=SOON)
    assert beats.acquire(timeout=SOON)
    assert told(second) == []
    first.lease.end()
    assert told(second) == [FIRST]


def test_a_lease_that_cannot_be_renewed_is_taken_again(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", -5)
    first, second = Store(database_url), Store(database_url)
    first.unfinished.begin(FIRST, "ann", "attribution", {})
    first.lease.renew()
    assert told(second) == [FIRST]
    second.lease._beat(lambda: None)  # deletes what has expired
    monkeypatch.setattr(lease, "LEASE_SECONDS", 5)
    assert told(second) == [FIRST]
    first.lease.renew()
    assert told(second) == []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Give SQLite a clock that is fast by a number of hours."""

    def set_fast(hours: int) -> None:
        def now() -> BindParameter[datetime]:
            return literal(datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=hours), DateTime())

        monkeypatch.setattr(lease, "func", SimpleNamespace(now=now))

    return set_fast


@pytest.mark.parametrize("hours", [-1, 1])
def test_two_machines_with_clocks_an_hour_apart_know_who_lives(
    hours: int, clock: Callable[[int], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.5)
    first, second = (Store(f"sqlite:///{tmp_path / 'store.sqlite'}") for _ in range(2))
    first.unfinished.begin(FIRST, "ann", "attribution", {})
    for _ in range(2):
        clock(hours)
        first.lease.renew()
        clock(0)
        assert told(second) == []
        second.lease.renew()
        until(lambda: told(second) == [FIRST])


def test_a_command_hears_of_living_servers_alone(
    clock: Callable[[int], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(0)
    monkeypatch.setattr(lease, "LEASE_SECONDS", 1.0)
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.1)
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    living, dead = Store(url), Store(url)
    for store in (dead, living):
        store.lease.workers = lambda: "{}"
    dead.lease.renew()
    assert Store(url).lease.told() == {}
    living.lease.keep(lambda: None)
    assert Store(url).lease.told().keys() == {living.lease.server}
    living.close()
