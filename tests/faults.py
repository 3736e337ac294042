"""A command that puts faults into the product and runs the tests that cover them: do the tests notice?

    bash .ci/run cover
    .venv/bin/python -m tests.faults --seed 42 --places 20

The first command leaves the lines that each test executes. The second chooses places by the seed, as many in each
part of the product, and changes one place at a time in a copy of the project. It prints a line for each fault, and
writes all of them to a file.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import cycle, zip_longest
from pathlib import Path
from typing import Any, Literal

from coverage import CoverageData

from explainlab.settings import ROOT

DATA = ROOT / "build" / "coverage" / "data"
REPORT = ROOT / "build" / "faults.json"
FIRST_TESTS = 40
"""Tests that run first; the others run only where none of these fails."""
MOST_SECONDS = 600
"""The time limit of each of the two runs; one test may take half of it."""
_END_SECONDS = 60

PARTS: dict[str, tuple[str, ...]] = {
    "pages": ("app.py", "pages/*.py", "explainlab/app/**/*.py"),
    "figures": ("explainlab/figures/**/*.py", "explainlab/analyses/**/figures.py"),
    "analyses": ("explainlab/analyses/**/*.py",),
    "service": ("explainlab/service/**/*.py", "explainlab/workers/**/*.py"),
    "engine": tuple(
        f"explainlab/{room}/**/*.py" for room in ("attribution", "data", "metrics", "models", "text", "training")
    ),
}
"""The parts of the product by the patterns of their files; a file belongs to the first part that has it."""

Kind = Literal["sign", "operator", "off by one", "comparison", "condition", "dropped not", "dropped call", "no result"]

_SWAPPED: dict[type[ast.AST], tuple[Kind, type[ast.AST]]] = {
    ast.Add: ("sign", ast.Sub),
    ast.Sub: ("sign", ast.Add),
    ast.Mult: ("operator", ast.Div),
    ast.Div: ("operator", ast.Mult),
    ast.And: ("operator", ast.Or),
    ast.Or: ("operator", ast.And),
    ast.Lt: ("comparison", ast.LtE),
    ast.LtE: ("comparison", ast.Lt),
    ast.Gt: ("comparison", ast.GtE),
    ast.GtE: ("comparison", ast.Gt),
    ast.Eq: ("comparison", ast.NotEq),
    ast.NotEq: ("comparison", ast.Eq),
}


@dataclass(frozen=True)
class Fault:
    """A change of the source: ``after`` replaces the bytes from ``start`` to ``end``."""

    kind: Kind
    line: int
    start: int
    end: int
    after: str

    def put_into(self, source: str) -> str:
        """Return the source with this fault."""
        whole = source.encode()
        return (whole[: self.start] + self.after.encode() + whole[self.end :]).decode()

    def lines(self, source: str) -> tuple[str, str]:
        """Return the line of the source without the fault and with it."""
        texts = (source, self.put_into(source))
        without, having = (text.splitlines()[self.line - 1].strip() for text in texts)
        return without, having


@dataclass(frozen=True)
class Place:
    """A fault in a file of a part, and the tests that execute its line."""

    part: str
    path: str
    fault: Fault
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """The outcome of a place: how many of its tests were chosen to run, and the one that failed."""

    outcome: Literal["caught", "survived", "out of time", "fails without the fault"]
    ran: int
    failed: str = ""


# Faults --------------------------------------------------------------------------------------------------------------


def faults(source: str, script: bool = False) -> list[Fault]:
    """List every fault that the code of functions can have; all code of a ``script`` runs again and again."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in _running(ast.parse(source), script):
        for kind, place, changed in _changes(node):
            assert place.end_lineno is not None
            assert place.end_col_offset is not None
            after = ast.unparse(changed)
            found.append(
                Fault(
                    kind=kind,
                    line=place.lineno,
                    start=starts[place.lineno - 1] + place.col_offset,
                    end=starts[place.end_lineno - 1] + place.end_col_offset,
                    after=after if isinstance(changed, ast.stmt | ast.Constant) else f"({after})",
                )
            )
    return found


def _running(node: ast.AST, runs: bool) -> Iterator[ast.AST]:
    """Walk what runs when a function is called; places inside of f-strings are unknown before Python 3.12."""
    if runs:
        yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for child in node.body:
            yield from _running(child, runs=True)
    elif isinstance(node, ast.AnnAssign):
        if node.value:
            yield from _running(node.value, runs)
    elif not isinstance(node, ast.JoinedStr | ast.arguments) and not _lays_out(node):
        for child in ast.iter_child_nodes(node):
            yield from _running(child, runs)


def _changes(node: ast.AST) -> Iterator[tuple[Kind, ast.expr | ast.stmt, ast.AST]]:
    """Yield each kind of fault of a node, the part of it that is replaced, and the replacement."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SWAPPED and not (_joins(left) or _joins(right)):
            yield _swapped(node, op, "op")
        case ast.AugAssign(op=op, value=value) if type(op) in _SWAPPED and not _joins(value):
            yield _swapped(node, op, "op")
        case ast.BoolOp(op=op):
            yield _swapped(node, op, "op")
        case ast.Compare(ops=[op]) if type(op) in _SWAPPED:
            yield _swapped(node, op, "ops")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "sign", node, operand
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "dropped not", node, operand
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            yield "off by one", node, ast.Constant(number + 1)
        case ast.Slice(lower=lower, upper=upper):
            for bound in (lower, upper):
                if bound and not isinstance(bound, ast.Constant):
                    yield "off by one", bound, ast.BinOp(bound, ast.Add(), ast.Constant(1))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not _negated(test):
            yield "condition", test, ast.UnaryOp(ast.Not(), test)
        case ast.comprehension(ifs=tests):
            for test in tests:
                if not _negated(test):
                    yield "condition", test, ast.UnaryOp(ast.Not(), test)
        case ast.Expr(value=ast.Call(func=called)) if not ast.unparse(called).startswith("log."):
            yield "dropped call", node, ast.Pass()
        case ast.Return(value=value) if value and not isinstance(value, ast.Constant):
            yield "no result", node, ast.Return(ast.Constant(None))


def _lays_out(node: ast.AST) -> bool:
    """Tell whether it asks Streamlit for columns: no test holds their widths."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("st.columns")


def _swapped(node: ast.expr | ast.stmt, op: ast.AST, field: str) -> tuple[Kind, ast.expr | ast.stmt, ast.AST]:
    kind, other = _SWAPPED[type(op)]
    changed = copy.copy(node)
    setattr(changed, field, [other()] if field == "ops" else other())
    return kind, node, changed


def _joins(node: ast.expr) -> bool:
    """Tell whether a plus beside it joins texts or lists: a minus there fails whatever the tests assert."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)


def _negated(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


# Places --------------------------------------------------------------------------------------------------------------

TestsOf = Callable[[str], Mapping[int, Iterable[str]]]
"""Gives, for the path of a file, the tests that execute each line."""


def files_of_parts() -> dict[str, list[str]]:
    """List the files of each part."""
    taken: set[str] = set()
    parts = {}
    for part, patterns in PARTS.items():
        paths = {str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern)}
        parts[part] = sorted(paths - taken)
        taken |= paths
    return parts


def choose(seed: int, count: int, parts: Mapping[str, Iterable[str]], tests_of: TestsOf) -> list[Place]:
    """Choose places at random: parts and kinds of faults take turns, and no file has two."""
    chance = random.Random(seed)
    possible = {}
    for part, paths in parts.items():
        possible[part] = [
            (path, fault)
            for path in paths
            for fault in faults((ROOT / path).read_text("utf-8"), script=not path.startswith("explainlab/"))
        ]
        chance.shuffle(possible[part])
    kinds = sorted({fault.kind for of_part in possible.values() for _, fault in of_part})
    chance.shuffle(kinds)
    places: list[Place] = []
    for part, kind in zip(cycle(possible), cycle(kinds), strict=False):
        if len(places) == count:
            return places
        taken = {place.path for place in places}
        for path, fault in sorted(possible[part], key=lambda found: found[1].kind != kind):
            tests = () if path in taken else tuple(tests_of(path).get(fault.line, ()))
            if tests:
                places.append(Place(part, path, fault, tests))
                break
        else:
            raise SystemExit(f"The tests execute no further file of the part {part}.")
    raise AssertionError("Parts take turns for ever.")


class Covered:
    """The tests that execute each line, from the data of coverage."""

    def __init__(self, data: Path) -> None:
        self._data = CoverageData(str(data))
        self._data.read()
        if not self._data.measured_contexts() - {""}:
            raise SystemExit("There are no lines of tests: run bash .ci/run cover first.")
        self._lines: dict[str, dict[int, list[str]]] = {}

    def __call__(self, path: str) -> Mapping[int, Iterable[str]]:
        """Return the tests of each line of a file, in the order of their runs."""
        if path not in self._lines:
            contexts = self._data.contexts_by_lineno(str(ROOT / path))
            self._lines[path] = {line: spread(filter(None, tests)) for line, tests in contexts.items()}
        return self._lines[path]


def spread(tests: Iterable[str]) -> list[str]:
    """Order tests such that all files come first with one test, then with a second, and so on."""
    by_file: dict[str, list[str]] = {}
    for test in sorted(tests):
        by_file.setdefault(test.partition("::")[0], []).append(test)
    return [test for turn in zip_longest(*by_file.values()) for test in turn if test]


# Tests ---------------------------------------------------------------------------------------------------------------


@contextmanager
def project_copy() -> Iterator[Path]:
    """Make a copy of the project that can be changed, with the shared folder beside it."""
    kept_out = (".git", ".venv", "build", "dist", "shared", "__pycache__", ".*_cache", ".hypothesis")
    with tempfile.TemporaryDirectory(prefix="explainlab-faults-") as folder:
        project = Path(folder) / "project"
        shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(*kept_out))
        (project / ".venv").symlink_to((ROOT / ".venv").resolve())
        (Path(folder) / "shared").symlink_to((ROOT.parent / "shared").resolve())
        yield project


def judge(place: Place, project: Path) -> Verdict:
    """Run the tests of a place with its fault; the test that fails has to pass without the fault."""
    file = project / place.path
    source = file.read_text("utf-8")
    ran = 0
    for tests in (place.tests[:FIRST_TESTS], place.tests[FIRST_TESTS:]):
        if not tests:
            break
        file.write_text(place.fault.put_into(source), "utf-8")
        passed, failed = run_tests(tests, project)
        file.write_text(source, "utf-8")
        ran += len(tests)
        if passed is None:
            return Verdict("out of time", ran)
        if not passed:
            # A whole file fails where it could not be read; no test is named where pytest could not begin or crashed.
            again = [test for test in tests if test == failed or test.startswith(f"{failed}::")][:1] or tests
            sound, _ = run_tests(again, project)
            return Verdict("caught" if sound else "fails without the fault", ran, failed)
    return Verdict("survived", ran)


def run_tests(tests: Sequence[str], project: Path) -> tuple[bool | None, str]:
    """Run tests until one fails: whether all passed (None: the time was out), and the test that failed."""
    cache = project / ".pytest_cache"
    shutil.rmtree(cache, ignore_errors=True)
    names, said = project.with_name("tests.txt"), project.with_name("said.txt")
    names.write_text("\n".join(tests), "utf-8")
    options = ["-x", f"--timeout={MOST_SECONDS // 2}"]
    with said.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, f"@{names}"],
            cwd=project,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            passed = process.wait(MOST_SECONDS) == 0
        except subprocess.TimeoutExpired:
            passed = None
            process.send_signal(signal.SIGINT)  # pytest ends the servers of its fixtures
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    failures = cache / "v" / "cache" / "lastfailed"
    return passed, next(iter(json.loads(failures.read_text("utf-8"))), "") if failures.exists() else ""


def main() -> None:
    """Choose the places, judge them one after the other, and report."""
    parser = argparse.ArgumentParser(description="Put faults into the product and count those that its tests catch.")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--places", type=int, default=20)
    parser.add_argument("--report", type=Path, default=REPORT, help="where the list is written, as JSON")
    asked = parser.parse_args()
    places = choose(asked.seed, asked.places, files_of_parts(), Covered(DATA))
    found: list[dict[str, Any]] = []
    with project_copy() as project:
        for number, place in enumerate(places, 1):
            verdict = judge(place, project)
            before, after = place.fault.lines((ROOT / place.path).read_text("utf-8"))
            print(f"{number:2} {verdict.outcome}: {place.path}:{place.fault.line} ({place.part}, {place.fault.kind})")
            print(f"   - {before}\n   + {after}")
            print(f"   {verdict.ran} of {len(place.tests)} tests {verdict.failed}", flush=True)
            kept = {"part": place.part, "path": place.path, "line": place.fault.line, "kind": place.fault.kind}
            found.append({**kept, "before": before, "after": after, "tests": len(place.tests), **asdict(verdict)})
            asked.report.write_text(json.dumps({"seed": asked.seed, "places": found}, indent=1), "utf-8")
    print(f"{sum(one['outcome'] == 'caught' for one in found)} of {len(found)} faults were caught (seed {asked.seed}).")


if __name__ == "__main__":
    main()
