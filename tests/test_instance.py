"""``export`` of the command line: the rows of a stored run as one file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from explainlab.analyses.registry import new_request
from explainlab.request import Request
from explainlab.result import PART
from explainlab.service.service import open_service
from explainlab.service.users import LOCAL
from tests.test_cli import Run, refused, run  # noqa: F401

BERT = "embedded:bert-mini-sst2"


def asked(request: Request) -> str:
    """The id of the run with the answer to ``request``."""
    service = open_service("cpu")
    service.engine.wait(service.submit(request, LOCAL), 120)
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
