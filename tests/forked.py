"""Processes of their own, forked from one that has imported what each would import again for seconds."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeVar

import torch
from streamlit.web import cli

import explainlab.service.service  # noqa: F401
from explainlab.settings import ROOT
from explainlab.workers import process as workers_process

T = TypeVar("T")
_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


def pipe() -> tuple[Connection, Connection]:
    """Return both ends of a pipe to a process."""
    return _CONTEXT.Pipe()


def start(work: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start ``work(*arguments)`` in a new process, which ends with this one."""
    process = _CONTEXT.Process(target=work, args=arguments, daemon=True)
    with _bare_main():
        process.start()
    return process


def answer_of(work: Callable[..., T], *arguments: Any) -> T:
    """Return ``work(*arguments)``, run in a process of its own with no thread and no cache of another test."""
    with ProcessPoolExecutor(1, _CONTEXT) as pool, _bare_main():
        return pool.submit(work, *arguments).result()


def start_streamlit(arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> BaseProcess:
    """Start ``streamlit run`` with these ``arguments`` in the project's folder; its output goes to ``log``."""
    return start(_run_streamlit, list(arguments), {**os.environ, **environment}, log)


def _run_streamlit(arguments: list[str], environment: dict[str, str], log: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    with log.open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    if "PYTHONPATH" in environment:  # for a new interpreter
        os.execve(sys.executable, [sys.executable, "-m", "streamlit", "run", *arguments], environment)
    sys.argv = ["streamlit", "run", *arguments]
    current_process()._config["daemon"] = False  # or it could start no worker
    workers_process.subprocess = FORKING
    cli.main()


def _started(command: Sequence[str], **options: Any) -> Any:
    """Return the result of ``subprocess.Popen``, and fork the process of a worker too."""
    if [*command[1:]] != ["-m", "explainlab.workers"]:
        return subprocess.Popen(command, **options)
    return _Worker(options["env"])


FORKING: Any = SimpleNamespace(**{**vars(subprocess), "Popen": _started})
"""The functions of :mod:`subprocess`, with forked workers."""


class _Worker:
    """The process of a worker, as far as its server knows ``subprocess.Popen``."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        ours, theirs = pipe()
        self._process = start(_run_worker, theirs, dict(environment), os.readlink("/proc/self/fd/2"))
        theirs.close()
        self.stdin, self.stdout = os.fdopen(os.dup(ours.fileno()), "wb"), os.fdopen(os.dup(ours.fileno()), "rb")
        ours.close()
        self.pid = self._process.pid
        self.terminate, self.kill = self._process.terminate, self._process.kill

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> None:
        self._process.join(timeout)
        if self._process.is_alive():
            raise subprocess.TimeoutExpired("worker", timeout or 0.0)


def _run_worker(server: Connection, environment: dict[str, str], log: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    with open(log, "ab") as output:
        os.dup2(output.fileno(), 2)
    os.dup2(server.fileno(), 0)
    os.dup2(server.fileno(), 1)
    server.close()
    sys.stdin = os.fdopen(0)
    torch.set_num_threads(int(environment.get("OMP_NUM_THREADS", "1")))  # read when torch was imported
    runpy.run_module("explainlab.workers", run_name="__main__")


@contextmanager
def _bare_main() -> Iterator[None]:
    """Hide the main module from a new process: a test of a page may have left its script there."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
