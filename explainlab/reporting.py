"""How far a command is."""

from __future__ import annotations

import time
from collections.abc import Callable

import typer

_EACH = 10.0  # seconds


def reporter(terminal: bool, now: Callable[[], float] = time.monotonic) -> Callable[[int, int, str], None]:
    """Tells on stderr how far a command is: a ``terminal`` in one line that changes; else a line after each 10 s."""
    told = now()

    def report(done: int, total: int, phase: str) -> None:
        nonlocal told
        if terminal:
            typer.echo(f"\r{phase}: {done} of {total}", err=True, nl=done == total)
        elif now() - told >= _EACH:
            told = now()
            typer.echo(f"{phase}: {done} of {total}", err=True)

    return report
