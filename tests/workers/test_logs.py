"""What users write is in no log: not the server's, not its workers', not Ray's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from explainlab.settings import ROOT
from tests.workers.logged_server import SECRET

WORD = "zyxomma"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name, as the sockets of Ray are in it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_no_log_has_a_text(engine: str, folder: Path, tmp_path: Path) -> None:
    if engine == "ray" and find_spec("ray") is None:
        pytest.skip("needs Ray: pip install ray==2.60.0")
    data, log = tmp_path / f"{WORD}.csv", tmp_path / "log"
    rows = {"text": [f"{SECRET} {n} {'long ' * n}" for n in range(12)], "label": ["positive"] * 12}
    pd.DataFrame(rows).to_csv(data, index=False)
    own = {"EXPLAINLAB_ENGINE": engine, "EXPLAINLAB_WORKERS": "2", "EXPLAINLAB_HOME": str(tmp_path)}
    with log.open("wb") as written:
        server = subprocess.run(
            [sys.executable, "-m", "tests.workers.logged_server", data],
            cwd=ROOT,
            env={**os.environ, **own, "RAY_TMPDIR": str(folder)},
            stdout=subprocess.PIPE,
            stderr=written,
            timeout=600,
            check=True,
        )
    assert server.stdout.decode().split() == ["done", "failed", "done"]
    logs = [log, *(path for path in folder.rglob("*") if path.is_file())]
    told = {path.name: path.read_text("utf-8", errors="replace") for path in logs}
    assert '"status": "done"' in told["log"], "it does log"
    assert "a task failed" in "".join(told.values()), "and so do workers"
    assert not [name for name, lines in told.items() if WORD in lines]
    if engine == "ray":
        assert len(logs) > 5, "these are Ray's own"
