"""Progress of a command, or of a call of the library: a bar, or lines in a log."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from explainlab.models.context import SHARE, how_far

_EACH = 10.0
"""Seconds between two lines of a log."""
LATEST = 2.0
"""Seconds after which a bar appears."""
_SHARE = "{l_bar}{bar}| {elapsed}<{remaining}"
"""A bar without counts."""


def in_sight() -> bool:
    """Return whether a bar can move: on a terminal, or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Reporter:
    """A reporter of progress: with a ``bar`` after 2 s, or else with a line on stderr every 10 s.

    Call it with the work that is done, the total work, and the name of the phase. A new phase begins a new bar.
    """

    def __init__(self, bar: bool, now: Callable[[], float] = time.monotonic) -> None:
        self._as_bar, self._now = bar, now
        self._began = self._told = now()
        self._bar: Any = None
        self._phase: tuple[str, int] = ("", 0)

    def __call__(self, done: int, total: int, phase: str) -> None:
        if self._as_bar:
            self._move(done, total, phase)
        elif self._now() - self._told >= _EACH:
            self._told = self._now()
            print(f"{phase}: {how_far(done, total)}", file=sys.stderr)

    def say(self, line: str) -> None:
        """Write a ``line`` on stderr, above the bar."""
        if self._bar is None:
            print(line, file=sys.stderr)
        else:
            self._bar.write(line, file=sys.stderr)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _move(self, done: int, total: int, phase: str) -> None:
        if self._phase != (phase, total):
            self.close()
            self._phase = phase, total
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
        elif done < total and self._now() - self._began >= LATEST:
            form = {"bar_format": _SHARE} if total == SHARE else {}
            self._bar = _tqdm()(total=total, desc=phase, initial=done, leave=False, dynamic_ncols=True, **form)


def _tqdm() -> Any:
    """Return the class of bars for a terminal or a notebook, without the warning about missing widgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    return tqdm
