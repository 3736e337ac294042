"""A clock that is fast by ``TESTS_FAST_HOURS`` hours, for a Python process with this folder on its ``PYTHONPATH``.

It is the clock of the program and of SQLite; a stopwatch and the times of files stay as they are.
"""

from __future__ import annotations

import datetime
import os
import sqlite3
import time
from typing import Any

import pandas  # noqa: F401 (compiled against the real class, as pyarrow is)
import pyarrow  # noqa: F401

HOURS = float(os.environ["TESTS_FAST_HOURS"])
REAL, REAL_TIME, REAL_CONNECT = datetime.datetime, time.time, sqlite3.connect


class FastKind(type):
    """A class for whose checks every date and time counts."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, REAL)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, REAL)


class Fast(REAL, metaclass=FastKind):
    """Dates and times whose present is fast."""

    __slots__ = ()

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return REAL.now(tz) + datetime.timedelta(hours=HOURS)


def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
    """Return a connection whose ``CURRENT_TIMESTAMP`` is fast."""
    connection = REAL_CONNECT(*arguments, **options)
    connection.create_function("current_timestamp", 0, lambda: f"{Fast.now(datetime.UTC):%Y-%m-%d %H:%M:%S}")
    return connection


datetime.datetime = Fast  # type: ignore[misc]
time.time = lambda: REAL_TIME() + HOURS * 3600
time.time_ns = lambda: int(time.time() * 1e9)
sqlite3.connect = sqlite3.dbapi2.connect = connect
