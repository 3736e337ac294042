"""The two tiers of the tests, their shards, and the record of the time and memory that each test takes."""

from __future__ import annotations

import json
import resource
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from _pytest.mark.structures import ParameterSet

from explainlab.settings import ROOT

LARGE = ("service", "workers", "data", "models")
"""Folders with tests that take hundreds of MB for a while, beside the files in ``tests`` itself."""
TIMINGS = ROOT / ".timings"
"""The folder of the records, which git ignores: one JSON file for each kind of run."""

UNNAMED = "some"
"""The name of the record of a run that has none: it is of other tests each time, so it is compared with none."""

SLOWEST = 25
"""Tests that the summary of a run lists."""

IN_A_BROWSER, IN_FULL = 50, 15
"""The time of a browser test, and of another test of the second tier, in times of a test of the first (0.2 s)."""


def first(chosen: Collection[Any], every: Iterable[Any], reason: str) -> list[ParameterSet]:
    """Return parameters for ``every`` value, of which only the ``chosen`` ones belong to the first tier.

    The others carry the marker ``full`` with its ``reason``. Raises :class:`ValueError` for a chosen value that is not
    among all.
    """
    values = list(every)
    if missing := [value for value in chosen if value not in values]:
        raise ValueError(f"not among the parameters: {missing}")
    return [pytest.param(value) if value in chosen else full(value, reason=reason) for value in values]


def full(*values: Any, reason: str) -> ParameterSet:
    """Return one set of parameters that belongs to the second tier."""
    return pytest.param(*values, marks=pytest.mark.full(reason))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options with which ``.ci/run`` splits a run and names its record."""
    group = parser.getgroup("tiers")
    group.addoption("--shard", metavar="K/N", help="run the K-th of N parts; a file stays in one part")
    group.addoption("--timings", metavar="NAME", default=UNNAMED, help="name of the record in .timings")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests that take much memory for a while first, and keep the tests of the shard alone.

    A process has least when it begins.
    """
    tests = ROOT / "tests"
    early = [tests / name for name in LARGE]
    items.sort(key=lambda item: item.path.parent != tests and not any(map(item.path.is_relative_to, early)))
    shard = config.getoption("--shard")
    if shard is None:
        return
    number, _, count = (int(part) if part.isdecimal() else 0 for part in shard.partition("/"))
    if not 1 <= number <= count:
        raise pytest.UsageError(f"There is no shard '{shard}'. The first of four is 1/4, the last 4/4.")
    shares = shard_of(items, count)
    config.hook.pytest_deselected(items=[item for item in items if shares[item.path] != number])
    items[:] = [item for item in items if shares[item.path] == number]


def shard_of(items: Iterable[pytest.Item], count: int) -> dict[Path, int]:
    """Return the shard of each file, 1 to ``count``: the longest file goes to the shard with least to do.

    Every machine finds the same shares, as they depend on the collected tests and their markers alone.
    """
    times: dict[Path, int] = defaultdict(int)
    for item in items:
        full = IN_FULL if item.get_closest_marker("full") else 1
        times[item.path] += IN_A_BROWSER if "browser" in item.path.parts else full
    loads, shares = dict.fromkeys(range(1, count + 1), 0), {}
    for path in sorted(times, key=lambda path: (-times[path], path)):
        shares[path] = min(loads, key=lambda number: (loads[number], number))
        loads[shares[path]] += times[path]
    return shares


class Timings:
    """The seconds of every test, the process that ran it, and the memory of every process.

    A process that runs tests adds its memory to each report. The process that prints the summary collects the reports.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._path = TIMINGS / f"{config.getoption('--timings')}.json"
        self._worker: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self._tests: dict[str, dict[str, Any]] = defaultdict(lambda: {"seconds": 0.0})
        self._outcomes: dict[str, int] = defaultdict(int)
        self._peaks: list[float] = []
        self._start = time.time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Add the memory of this process, in MB, and its largest memory to the report of each phase."""
        report = yield
        report.megabytes, report.peak = psutil.Process().memory_info().rss / 2**20, peak_megabytes()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the seconds of a phase (setup, call, teardown) to those of its test."""
        test = self._tests[report.nodeid]
        test["seconds"] += report.duration
        test["process"] = getattr(report, "worker_id", "")
        test["end"] = time.time() - self._start
        test["megabytes"] = getattr(report, "megabytes", 0.0)  # a process that crashed reports no memory
        test["peak"] = getattr(report, "peak", 0.0)
        self._outcomes[report.outcome] += report.when == "call" or report.outcome != "passed"

    def pytest_sessionfinish(self) -> None:
        """Send the peak of this process to the one that prints, or keep it where there is only one."""
        if self._worker is not None:
            self._worker["peak_megabytes"] = peak_megabytes()
        elif not self._peaks:
            self._peaks.append(peak_megabytes())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Keep the peak of a process that has ended."""
        self._peaks.append(getattr(node, "workeroutput", {}).get("peak_megabytes", 0.0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the slowest tests, the folders and the memory, and write the record."""
        if self._worker is not None or not self._tests:
            return
        before = json.loads(self._path.read_text()) if self._path.is_file() and self._path.stem != UNNAMED else None
        record = {
            "seconds": time.time() - self._start,
            "peak_megabytes": sorted(self._peaks, reverse=True),
            "tests": {name: test for name, test in sorted(self._tests.items())},
        }
        TIMINGS.mkdir(exist_ok=True)
        self._path.write_text(json.dumps(record, indent=1))
        say = terminalreporter.write_line
        terminalreporter.section(f"the {SLOWEST} slowest tests")
        for name, test in sorted(self._tests.items(), key=lambda pair: -pair[1]["seconds"])[:SLOWEST]:
            say(f"{test['seconds']:7.1f} s  {name}")
        terminalreporter.section("folders")
        for folder, (seconds, cases) in by_folder(self._tests).items():
            say(f"{seconds:7.1f} s  {cases:6} tests  {folder}")
        terminalreporter.section("time and memory")
        earlier = f" (the run before: {before['seconds']:.0f} s)" if before else ""
        say(f"{record['seconds']:.0f} s{earlier}; largest pytest process {max(self._peaks):.0f} MB; {self._path.name}")


def peak_megabytes() -> float:
    """Return the most memory, in MB, that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_folder(tests: dict[str, dict[str, Any]]) -> dict[str, tuple[float, int]]:
    """Return the seconds and the number of the ``tests`` of each folder, or file, of ``tests/``; the longest first."""
    found: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for name, test in tests.items():
        folder = "/".join(name.split("::")[0].split("/")[:2])
        seconds, cases = found[folder]
        found[folder] = seconds + test["seconds"], cases + 1
    return dict(sorted(found.items(), key=lambda pair: -pair[1][0]))


def pytest_configure(config: pytest.Config) -> None:
    """Record every run."""
    config.pluginmanager.register(Timings(config), "timings")
