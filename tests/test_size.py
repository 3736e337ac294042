"""The size of the package as its syntax trees tell it: it may shrink, and not grow past these limits."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

from explainlab.settings import ROOT

MOST_STATEMENTS = 39_750
"""Statements without docstrings; the redesign asks for 33,000."""
MOST_MODULES = 440
"""Modules without the benchmarks; the redesign asks for 370."""
MOST_IMPORTS = 0.089
"""Share of lines that are imports; the redesign asks for 0.06."""


class Size(NamedTuple):
    """The size of some modules: their number, statements without docstrings, lines, and lines of imports."""

    modules: int
    statements: int
    lines: int
    imports: int


def size_of(folder: Path) -> Size:
    """Count the modules below a ``folder``."""
    paths = sorted(folder.rglob("*.py"))
    statements = lines = imports = 0
    for path in paths:
        source = path.read_text(encoding="utf-8")
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
        texts = [node for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
        statements += len(nodes) - sum(isinstance(node.value.value, str) for node in texts)
        lines += source.count("\n")
        imports += sum(
            (node.end_lineno or 0) - node.lineno + 1 for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)
        )
    return Size(len(paths), statements, lines, imports)


def test_the_house_does_not_grow() -> None:
    size = size_of(ROOT / "explainlab")
    assert size.statements <= MOST_STATEMENTS
    assert size.modules <= MOST_MODULES
    assert size.imports / size.lines <= MOST_IMPORTS
