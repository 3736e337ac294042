"""A hosted ExplainLab in a process of its own, asked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from explainlab.settings import ROOT
from tests.browser.conftest import serve as serve

ASGI = ROOT / "explainlab" / "app" / "asgi.py"


def log_of(home: Path) -> list[dict[str, Any]]:
    """Return the lines of the server's log; each must be JSON."""
    return [json.loads(line) for line in (home / "log.txt").read_text(encoding="utf-8").splitlines()]
