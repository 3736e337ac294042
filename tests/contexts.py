"""A plugin of coverage and of pytest that records, for each line of the product, the tests that execute it.

Coverage keeps the lines of a process under the context that is set there. The process of pytest sets it before each
test and writes the test's name to a file; a process that a test starts reads the name from this file again and again.
Coverage imports the plugin before pytest could rewrite it (PYTEST_DONT_REWRITE).
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from coverage import Coverage

_FILE = "EXPLAINED_TEST"
"""The environment variable with the path of the file."""
_PAUSE = 0.05


def coverage_init(_registry: Any, _options: Any) -> None:
    """Follow the file, where a test has started this process; coverage calls this when it starts in a process."""
    if _FILE in os.environ:
        threading.Thread(target=_follow, args=(Path(os.environ[_FILE]),), name="contexts", daemon=True).start()


def _follow(file: Path) -> None:
    """Switch to each test that the file names, until this process has a file of its own, as one of pytest-xdist has.

    Two threads of a process that switch at once damage the data.
    """
    before = ""
    while os.environ.get(_FILE) == str(file):
        measured = Coverage.current()
        with suppress(FileNotFoundError):  # pytest has ended
            test = file.read_text()
            if measured and test not in ("", before):
                measured.switch_context(test)
                before = test
        time.sleep(_PAUSE)


def pytest_configure() -> None:
    """Name the file of this process of pytest to the processes that it starts."""
    descriptor, os.environ[_FILE] = tempfile.mkstemp(prefix="test-", suffix=".txt")
    os.close(descriptor)


def pytest_unconfigure() -> None:
    """Remove the file."""
    Path(os.environ[_FILE]).unlink()


def pytest_runtest_logstart(nodeid: str) -> None:
    """Set the context of the lines that run from now on."""
    measured = Coverage.current()
    if measured:
        measured.switch_context(nodeid)
    Path(os.environ[_FILE]).write_text(nodeid)
