"""Processes of their own, forked from one that has imported what each would import again for seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from streamlit.web import cli

import explainlab.service.service  # noqa: F401
from explainlab.settings import ROOT

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


def pipe() -> tuple[Connection, Connection]:
    """Both ends of a pipe to a process."""
    return _CONTEXT.Pipe()


def start(work: Callable[..., None], *arguments: Any) -> BaseProcess:
    """``work(*arguments)`` in a process of its own, which ends with this one."""
    process = _CONTEXT.Process(target=work, args=arguments, daemon=True)
    with _bare_main():
        process.start()
    return process


def start_streamlit(arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> BaseProcess:
    """``streamlit run`` with these ``arguments`` in the project's folder; what it prints goes to ``log``."""
    return start(_run_streamlit, list(arguments), {**os.environ, **environment}, log)


def _run_streamlit(arguments: list[str], environment: dict[str, str], log: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    with log.open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.argv = ["streamlit", "run", *arguments]
    cli.main()


@contextmanager
def _bare_main() -> Iterator[None]:
    """Nothing for a new process to run: a test of a page may have left its script as the main module."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
