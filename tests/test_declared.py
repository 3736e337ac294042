"""Discovery: every declaration in the modules of a package is found, family by family."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from explainlab.declared import discovered

BASE = "class Base:\n    family = ''\n"
MODULES = {
    "base": BASE,
    "a_late": "from rooms.base import Base\n\nclass Late(Base):\n    id, family = 'late', 'Unheard of'\n",
    "b_two": (
        "from rooms.base import Base\n\n"
        "class _Shared(Base):\n    family = 'First'\n\n"
        "class Deep(_Shared):\n    id = 'deep'\n\n"
        "class Deeper(Deep):\n    id = 'deeper'\n\n"
        "class Flat(_Shared):\n    id = 'flat'\n"
    ),
    "c_second": (
        "from rooms.b_two import Flat\nfrom rooms.base import Base\n\n"
        "class Next(Base):\n    id, family = 'next', 'Second'\n"
    ),
}


def test_classes_come_by_family_then_as_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An abstract class is left out, an imported one is not found twice, and a new family needs no other file."""
    folder = tmp_path / "rooms"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name, code in MODULES.items():
        (folder / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    base = importlib.import_module("rooms.base").Base
    try:
        names = [cls.id for cls in discovered(sys.modules["rooms"], base, ("First", "Second"))]
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "rooms"]:
            del sys.modules[name]
    assert names == ["deep", "deeper", "flat", "next", "late"]
