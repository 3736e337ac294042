"""Commands about the installation: ``export`` writes the rows of a stored run, ``doctor`` describes the instance."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import explainlab
from explainlab.analyses.registry import new_request
from explainlab.request import Request
from explainlab.result import PART
from explainlab.service.resolved import resolve
from explainlab.service.service import open_service
from explainlab.service.users import LOCAL
from explainlab.settings import ROOT, settings
from tests.test_cli import Run, refused, run  # noqa: F401

BERT = "embedded:bert-mini-sst2"


def asked(request: Request) -> str:
    """The id of the run with the answer to ``request``."""
    service = open_service("cpu")
    service.engine.wait(service.submit(resolve(request, LOCAL)), 120)
    return service.runs(LOCAL).runs[0].id


def test_the_rows_of_a_run_become_one_file(run: Run, tmp_path: Path) -> None:  # noqa: F811
    """Also of more rows than are stored together."""
    count = PART + 5
    data = tmp_path / "many.csv"
    pd.DataFrame({"text": [f"film {i}" for i in range(count)], "label": "positive"}).to_csv(data, index=False)
    own = asked(new_request(question="predictions", model=BERT, data=str(data)))
    told = run("export", "--run", own, "--out", tmp_path / "rows.parquet", "--json").json
    assert told == {"out": str(tmp_path / "rows.parquet"), "rows": count}
    rows = pd.read_parquet(tmp_path / "rows.parquet")
    assert rows["text"].tolist() == [f"film {i}" for i in range(count)]
    assert rows["confidence"].between(0.5, 1).all()
    refused(run("export", "--run", own, "--out", tmp_path / "rows.parquet"), "exists")
    refused(run("export", "--run", "0" * 32, "--out", tmp_path / "a.csv"), "no run")


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"question": "gradient", "text": "a fine film"}, 5),
        ({"question": "activation", "data": "embedded:sentiment", "parameters": {"rows": 2, "methods": "gradient"}}, 2),
    ],
)
def test_other_runs_have_rows_too(run: Run, tmp_path: Path, fields: dict, count: int) -> None:  # noqa: F811
    own = asked(new_request(model=BERT, **fields))
    assert run("export", "--run", own, "--out", tmp_path / "a.csv", "--json").json["rows"] == count
    assert len(pd.read_csv(tmp_path / "a.csv")) == count


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Let a test set environment variables, and forget the settings that came from them."""
    yield monkeypatch
    monkeypatch.undo()
    settings.cache_clear()


def test_doctor_has_what_a_bug_report_needs_and_no_secret(
    run: Run,  # noqa: F811
    environment: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    environment.setenv("EXPLAINLAB_HOME", str(home))
    environment.setenv("EXPLAINLAB_DATABASE_URL", "postgresql+psycopg://me:hidden@nowhere.example.org/explainlab")
    environment.setenv("EXPLAINLAB_MAX_ROWS", "7")
    environment.setenv("EXPLAINLAB_AUTH", "proxy")
    settings.cache_clear()
    told = run("doctor", "--json").json
    assert told["versions"]["explainlab"] == explainlab.__version__
    assert told["versions"]["python"] == platform.python_version()
    assert told["versions"]["pandas"] == pd.__version__
    assert told["settings"]["EXPLAINLAB_AUTH"] == "proxy"
    assert told["settings"]["EXPLAINLAB_MAX_ROWS"] == told["limits"]["max_rows"] == 7
    assert told["settings"]["EXPLAINLAB_DATABASE_URL"] == told["settings"]["EXPLAINLAB_HOME"] == "set"
    assert told["store"] | {"free_mb": 0} == {
        "kind": "postgresql",
        "home": "not made yet",
        "writable": True,
        "free_mb": 0,
    }
    assert told["device"]["free_mb"] <= told["device"]["memory_mb"]
    lines = run("doctor").out
    assert "hidden" not in lines
    assert str(tmp_path) not in lines
    assert not home.exists()


@pytest.mark.full("5 s: starts a process")
def test_doctor_starts_nothing(tmp_path: Path) -> None:
    """Without the app's libraries too, in a process of its own: no store, no pages, no model."""
    code = (
        "import sys; sys.argv[1:] = ['doctor', '--json']\n"
        "for name in ('streamlit', 'sqlalchemy', 'ray'): sys.modules[name] = None\n"
        "from explainlab.cli import main\n"
        "try: main()\n"
        "finally: print(sorted(m for m in sys.modules if m.startswith(('explainlab.service', 'transformers.models'))))"
    )
    variables = {"PYTHONPATH": str(ROOT), "EXPLAINLAB_HOME": str(tmp_path / "home"), "PATH": ""}
    ran = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
    assert not (tmp_path / "home").exists()
