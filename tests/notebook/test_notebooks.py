"""The notebooks run from the first cell to the last, and hold no output."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from explainlab.settings import ASSETS

NOTEBOOKS = sorted((ASSETS / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text(encoding="utf-8"))["cells"])


def test_there_are_two() -> None:
    assert len(NOTEBOOKS) == 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_hold_no_output(path: Path) -> None:
    assert not [cell for cell in cells(path) if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_run(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a kernel does: the last expression of a cell is shown, by its HTML if it has one."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = 0
    for cell in cells(path):
        if cell["cell_type"] == "code":
            *body, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module([*body], []), path.name, "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
                html = getattr(value, "_repr_html_", None)
                shown += html is not None and 'class="explainlab"' in html()
            else:
                exec(compile(ast.Module([last], []), path.name, "exec"), names)
    assert shown >= 3
