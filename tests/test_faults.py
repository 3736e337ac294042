"""The command that puts faults into the product: which faults a line can have, and that a seed decides the places."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from tests.faults import choose, faults, spread

FILES = {
    "engine": ["explainlab/text/units.py", "explainlab/metrics/comparison.py", "explainlab/attribution/path.py"],
    "pages": ["pages/explain.py", "pages/status.py", "pages/runs.py"],
}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = a + b", {("sign", "x = a - b")}),
        ("x = (a - b) * c", {("sign", "x = (a + b) * c"), ("operator", "x = (a - b) / c")}),
        ("x -= a", {("sign", "x += a")}),
        ("x = -a", {("sign", "x = a")}),
        ("x = a and b", {("operator", "x = a or b")}),
        ("x = a[2]", {("off by one", "x = a[3]")}),
        ("x = é * a[:b]", {("operator", "x = é / a[:b]"), ("off by one", "x = é * a[:b + 1]")}),
        ("x = a < b", {("comparison", "x = a <= b")}),
        ("if a: b = c", {("condition", "if not a: b = c")}),
        ("x = a if not b else c", {("dropped not", "x = a if b else c")}),
        ("x = [a for a in b if a]", {("condition", "x = [a for a in b if not a]")}),
        ("f(a)", {("dropped call", "pass")}),
        ("return a", {("no result", "return None")}),
        ("x: Literal[1] = (a\n + b)", {("sign", "x: Literal[1] = a - b")}),
        ("def g(a=1): f(a)", {("dropped call", "def g(a=1): pass")}),
        ("log.info('a')", set()),
        ("x = f'{a + b}' + 'c' + [d]", set()),
        ("'A docstring.'", set()),
        ("return None", set()),
    ],
)
def test_each_fault_changes_one_thing(line: str, expected: set[tuple[str, str]]) -> None:
    def within(text: str) -> str:
        return f"X = 1 + 2\ndef f(a=-1):\n    {text}\n"

    source = within(line)
    found = [(fault.kind, ast.dump(ast.parse(fault.put_into(source)))) for fault in faults(source)]
    assert sorted(found) == sorted((kind, ast.dump(ast.parse(within(changed)))) for kind, changed in expected)


def test_a_script_has_faults_outside_of_functions() -> None:
    (fault,) = faults("guard()\n", script=True)
    assert fault.lines("guard()\n") == ("guard()", "pass")
    assert not faults("guard()\n")


def test_a_seed_decides_the_places() -> None:
    first, again, other = (choose(seed, 6, FILES, _every_line) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(place.part for place in first) == ["engine"] * 3 + ["pages"] * 3
    assert len({place.path for place in first}) == 6


def _every_line(path: str) -> Mapping[int, list[str]]:
    return {line: [f"tests/test_{path}"] for line in range(1, 1000)}


def test_tests_of_all_files_come_first() -> None:
    assert spread(["a.py::2", "b.py::1", "a.py::1", "a.py::3"]) == ["a.py::1", "b.py::1", "a.py::2", "a.py::3"]
