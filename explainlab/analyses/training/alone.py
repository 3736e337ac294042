"""A folder in which one job at a time makes models."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from explainlab.models.context import RunContext
from explainlab.training.checkpoint import cannot_write

LOCK = "lock"
_WAIT_SECONDS = 0.1


@contextmanager
def alone(folder: Path, context: RunContext) -> Iterator[None]:
    """Hold ``folder``, made if missing, so that no other job of this server or of another one works in it.

    Waiting can be cancelled by ``context``. Raises :class:`explainlab.errors.ResourceError` where nothing can be
    written.
    """
    lock = FileLock(folder / LOCK)
    while not lock.is_locked:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except OSError as error:
            if not isinstance(error, Timeout):
                raise cannot_write(folder, error) from error
            context.progress.report(0, 0, "waiting for another job that makes the same model")
            context.check_cancelled()
            time.sleep(_WAIT_SECONDS)
    try:
        yield
    finally:
        lock.release()


def is_held(folder: Path) -> bool:
    """Return whether a job works in ``folder``, of this server or of another one on this machine."""
    if not folder.is_dir():
        return False
    try:
        with FileLock(folder / LOCK).acquire(blocking=False):
            return False
    except Timeout:
        return True
