"""The parts that all fuzz tests share: the number of inputs, the limits of an input, and damage to JSON and to bytes.

The inputs are the same in every run. ``EXPLAINLAB_FUZZ=10000 python -m pytest FILE`` tries 10,000 for each test.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest
from hypothesis import settings
from hypothesis import strategies as st

SECONDS, BYTES = 10, 500 * 2**20

odd: list[Any] = [0, -1, 2**31, 2**63, 2**64, 10**30, 1e308, -0.0, "", "x", "\0", "../x", "<b>", [], {}, [[]], [{}]]
values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(odd),
    st.text(max_size=8),
    st.recursive(st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3), max_leaves=6),
)
walks = st.lists(st.integers(0, 40), min_size=1, max_size=6)
steps = st.lists(st.tuples(walks, st.sampled_from(["set", "drop", "add"]), values), min_size=1, max_size=3)


def inputs(few: int) -> Callable[[Any], Any]:
    """Return a decorator that gives a test ``few`` inputs, or as many as EXPLAINLAB_FUZZ says."""
    count = int(os.environ.get("EXPLAINLAB_FUZZ") or few)

    def decorate(test: Any) -> Any:
        return pytest.mark.timeout(max(600, count))(settings(max_examples=count, derandomize=True, deadline=None)(test))

    return decorate


@contextmanager
def bounded() -> Iterator[None]:
    """Fail if the block takes more than :data:`SECONDS` of this thread or of the guard, or :data:`BYTES` in either."""
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
    earlier = {child: _seconds(child) for child in guards()}
    yield
    assert time.thread_time() - begun < SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < BYTES
    for child in guards():
        assert _seconds(child) - earlier.get(child, 0.0) < SECONDS
        assert most_memory(child) < BYTES


def guards() -> list[psutil.Process]:
    """Return the processes that guard this one."""
    return [child for child in psutil.Process().children() if "explainlab.guard" in " ".join(child.cmdline())]


def most_memory(process: psutil.Process) -> int:
    """Return the most bytes of memory that a ``process`` has had."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def changed(body: Any, path: list[int], change: str, value: Any) -> None:
    """Change what a walk along ``path`` comes to: each number chooses an entry."""
    value = deepcopy(value)
    for step, place in enumerate(path):
        if not isinstance(body, dict | list) or not body:
            return
        key = list(body)[place % len(body)] if isinstance(body, dict) else place % len(body)
        inner = body[key]
        if step < len(path) - 1 and isinstance(inner, dict | list) and inner:
            body = inner
            continue
        if change == "set":
            body[key] = value
        elif change == "drop":
            del body[key]
        elif isinstance(body, dict):
            body[str(value)] = value
        else:
            body.append(value)
        return


PIECES = (b'"', b"\n", b"\0", b",", b"\xff", b"{", b"[" * 99, b"\xff" * 9)


def _changes(seed: int) -> list[tuple[float, int, bytes, int]]:
    rng = Random(seed)
    return [
        (
            rng.random(),
            rng.randint(0, rng.choice((1, 8, 64))),
            rng.choice(PIECES) if rng.random() < 0.5 else rng.randbytes(rng.randint(0, 8)),
            rng.randint(1, 3),
        )
        for _ in range(rng.randint(0, 5))
    ]


changes = st.integers(0, 2**63).map(_changes)
"""For :func:`damaged`; drawn from a seed, as drawing each number takes longer than reading a damaged file."""


def damaged(content: bytes, changed: list[tuple[float, int, bytes, int]]) -> bytes:
    """Return ``content`` with changes: at each place, a piece some times over in place of a number of bytes."""
    for share, gone, piece, times in changed:
        place = int(share * (len(content) + 1))
        content = content[:place] + piece * times + content[place + gone :]
    return content
