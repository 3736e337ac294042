"""What the library asks: as the rooms below, with progress, a word before what takes long, and a memory of what ended.

All is computed in our own modes of torch (:mod:`explainlab.models.modes`), as methods compute between passes too.

Ctrl-C ends a call within one batch. What it has finished of a data set is kept until the next study ends: the same call
goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from explainlab.analyses import run
from explainlab.attribution.explain import explain as explain_text
from explainlab.models.context import RunContext
from explainlab.models.modes import own_modes
from explainlab.notebook.keeping import Kept
from explainlab.notebook.telling import Told
from explainlab.reporting import Reporter, in_sight
from explainlab.training.train import train_files

P = ParamSpec("P")
T = TypeVar("T")
_stopped: list[Kept] = []
"""What the last study has finished, if it was stopped."""


def _told(ask: Callable[P, T], memory: Callable[[], Any]) -> Callable[P, T]:
    """``ask`` in a context that tells how far it is, around the caller's own or that of ``memory``."""

    @wraps(ask)
    def asked(*args: P.args, **named: P.kwargs) -> T:
        own: Any = named.pop("context", None)
        with memory() if own is None else _as_it_is(own) as context:
            told = Told(context)
            try:
                with own_modes():
                    return ask(*args, **{**named, "context": told})  # type: ignore[arg-type]
            finally:
                told.close()

    return asked


@contextmanager
def _as_it_is(context: RunContext) -> Iterator[RunContext]:
    yield context


@contextmanager
def _forgetful() -> Iterator[RunContext]:
    yield RunContext()


@contextmanager
def _kept() -> Iterator[RunContext]:
    """A memory on disk, that of the study which was stopped last, if any; it is kept where this one is stopped too."""
    context = _stopped.pop() if _stopped else Kept()
    try:
        yield context
    except KeyboardInterrupt:
        _stopped.append(context)
        raise
    context.close()


explain = _told(explain_text, _forgetful)
study = _told(run.study, _kept)
evaluate = _told(run.evaluate, _kept)


@wraps(train_files)
def train(*args: Any, **named: Any) -> Any:
    """As :func:`explainlab.training.train.train_files`, with progress."""
    report = Reporter(in_sight())
    try:
        return train_files(*args, **{"report": report, **named})
    finally:
        report.close()
