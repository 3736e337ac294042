"""The guard: a harmful file ends no process but a child, takes its time and memory alone, and holds up no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest

from explainlab import guard
from explainlab.errors import Cancelled, DataError
from explainlab.guard import Exceeded, guarded
from explainlab.settings import ROOT
from tests import guarded as readings
from tests.fuzz import BYTES, SECONDS


def read(reading: Callable[..., Iterator[Any]], **arguments: Any) -> list[Any]:
    return list(guarded(reading, arguments))


def pid() -> int:
    """Return the id of the process that reads next."""
    return int(read(readings.places, most=1)[0][1])


def test_a_child_reads_again_and_again() -> None:
    first = pid()
    assert first != os.getpid()
    assert read(readings.places, most=50) == [[number, first] for number in range(50)]


def test_values_come_as_they_are() -> None:
    assert read(readings.cells) == [[b"\0\xff", {"": b""}, "\ud800", float("inf"), 10**40, None, "é"]]


def test_an_error_comes_after_the_items_before_it() -> None:
    items = guarded(readings.refused, {})
    assert next(items) == 1
    with pytest.raises(DataError, match=r"It is damaged\. Save it again\."):
        next(items)


def test_a_reading_that_is_left_holds_up_no_other() -> None:
    first = pid()
    left = guarded(readings.places, {"most": 10**6})
    assert next(left) == [0, first]
    assert next(guarded(readings.places, {"most": 1}))[1] != first, "it reads still"
    left.close()  # type: ignore[attr-defined]
    assert first in {pid() for _ in range(2)}


def test_a_watch_ends_a_reading() -> None:
    told: list[float] = []

    def watch(share: float) -> None:
        told.append(share)
        if share >= 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        list(guarded(readings.places, {"most": 10}, watch))
    assert told == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]


@pytest.mark.parametrize(
    ("reading", "arguments", "told"),
    [
        (readings.ends, {"number": signal.SIGABRT}, r"^ends the process that reads it .*\(SIGABRT\)$"),
        (readings.ends, {"number": signal.SIGSEGV}, r"^ends the process that reads it .*\(SIGSEGV\)$"),
        (readings.panics, {}, r"^fails in the library that reads it \(there is no such byte\)$"),
        (readings.nests, {}, "^is nested too deeply to read$"),
    ],
)
def test_a_process_that_ends_is_replaced(
    reading: Callable[..., Iterator[Any]], arguments: dict[str, Any], told: str
) -> None:
    before = pid()
    with pytest.raises(Exceeded, match=told):
        read(reading, **arguments)
    assert pid() != before


def test_a_reading_that_grows_ends_below_the_limit() -> None:
    told: list[int] = []
    with pytest.raises(Exceeded, match=r"^takes more than 500 MB of memory to read$"):
        list(guarded(readings.grows, {}, told.append))
    assert BYTES / 2 < max(told) < BYTES


def test_a_reading_that_stalls_ends_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MAX_GUARDED_SECONDS", 2)
    begun = time.monotonic()
    with ThreadPoolExecutor() as threads:
        stalled = threads.submit(read, readings.sleeps)
        while not stalled.done():
            assert len(read(readings.places, most=9)) == 9
        with pytest.raises(Exceeded, match=r"^takes longer than 2 s to read$"):
            stalled.result()
    assert 2 <= time.monotonic() - begun < SECONDS


def test_a_child_ends_with_its_parent() -> None:
    code = "import threading; from tests.guarded import sleeps; from explainlab.guard import guarded; "
    code += "threading.Thread(target=lambda: next(guarded(sleeps, {}))).start(); input()"
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE) as parent:
        children: list[psutil.Process] = []
        while not children:
            time.sleep(0.05)
            children = psutil.Process(parent.pid).children()
        parent.kill()
    gone, _ = psutil.wait_procs(children, timeout=60)
    assert gone == children


def test_a_reading_that_waits_for_a_processor_is_not_taken_for_a_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"
    monkeypatch.setattr(guard, "MAX_GUARDED_SECONDS", 1)
    others = [subprocess.Popen([sys.executable, "-c", busy]) for _ in range(4)]
    try:
        begun = time.monotonic()
        assert read(readings.works, seconds=0.4) == [1]
        assert time.monotonic() - begun > 1.1, "it had the processor for itself"
    finally:
        for other in others:
            other.kill()
            other.wait()
        guard._close_all()
