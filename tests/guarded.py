"""Readings for the guard that only act as harmful files would: they sleep, allocate, or end their process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import psutil

from explainlab.errors import DataError
from explainlab.guard import Tell


class PanicException(BaseException):
    """An error of the name that those of libraries in Rust have."""


def places(tell: Tell, most: int) -> Iterator[list[int]]:
    """Yield numbers, each with the id of the process."""
    for number in range(most):
        tell(number / most)
        yield [number, os.getpid()]


def cells(tell: Tell) -> Iterator[list[Any]]:
    """Yield values that JSON writes in a way of its own, or not at all."""
    yield [b"\0\xff", {"": b""}, "\ud800", float("inf"), 10**40, None, "é"]


def refused(tell: Tell) -> Iterator[int]:
    """Refuse the file after its first part."""
    yield 1
    raise DataError("It is damaged.", "Save it again.")


def sleeps(tell: Tell, **_: Any) -> Iterator[int]:
    """Say nothing for a minute."""
    time.sleep(60)
    yield 1


def works(tell: Tell, seconds: float) -> Iterator[int]:
    """Say nothing before it has had the first processor for some ``seconds``."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        pass
    yield 1


def grows(tell: Tell, **_: Any) -> Iterator[int]:
    """Take memory without end; tell how much it is."""
    taken = []
    while True:
        taken.append(b"a" * 20 * 2**20)
        tell(psutil.Process().memory_info().rss)
    yield len(taken)


def ends(tell: Tell, number: int) -> Iterator[int]:
    """End the process by a signal."""
    os.kill(os.getpid(), number)
    yield 1


def panics(tell: Tell, **_: Any) -> Iterator[int]:
    """Fail as a library in Rust does."""
    raise PanicException("there is no such byte.\nmore of it")
    yield 1


def nests(tell: Tell) -> Iterator[Any]:
    """Yield a list that is too deep for JSON."""
    inner: list[Any] = []
    for _ in range(100_000):
        inner = [inner]
    yield inner


def stalling_tokenizer(tell: Tell, **_: Any) -> Iterator[str]:
    """Stall as a tokenizer may, after the parts before it."""
    yield from ("configuration", "weights", "tokenizer")
    yield from map(str, sleeps(tell))


def panicking_tokenizer(tell: Tell, **_: Any) -> Iterator[str]:
    """Panic as a tokenizer may, after the parts before it."""
    yield from ("configuration", "weights", "tokenizer")
    yield from map(str, panics(tell))


def tried_strictly(tell: Tell, **arguments: Any) -> Iterator[str]:
    """Try the files of a model, and raise any error of it."""
    from contextlib import nullcontext

    from explainlab.models.stored import trial

    left, trial._left_to_loading = trial._left_to_loading, nullcontext
    try:
        yield from trial.try_files(tell, **arguments)
    finally:
        trial._left_to_loading = left
