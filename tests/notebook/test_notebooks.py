"""The notebooks run from the first cell to the last, and are stored with their outputs."""

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
def test_they_are_stored_as_they_ran(path: Path) -> None:
    """In order and without an error; each value that a cell ends with is there."""
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        kinds = {output["output_type"] for output in cell["outputs"]}
        shows = isinstance(ast.parse("".join(cell["source"])).body[-1], ast.Expr)
        assert kinds <= {"execute_result", "display_data"}
        assert bool(kinds) == shows, cell["source"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_run(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run each cell as a kernel does, and show its last expression, by its HTML if it has one."""
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
