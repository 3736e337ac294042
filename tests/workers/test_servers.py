"""Servers of their own with workers: what users write is in no log, and what is killed costs time alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.settings import ROOT
from tests.workers.own_server import ANN, DONE, MANY, SECRET, SOON, TASKS

pytestmark = pytest.mark.full("minutes: it kills servers with their workers, and one has a cluster")

WORD = "zyxomma"


@dataclass(frozen=True)
class Killed:
    """A server that was killed with many tasks out: how its jobs before that had ended, how many tasks were done, the
    processes of its workers, its logs by their names, and its home.
    """

    engine: str
    ended: list[str]
    done: int
    pids: list[int]
    logs: dict[str, str]
    home: Path


@pytest.fixture(scope="module", params=["local", "ray"])
def killed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killed]:
    engine = request.param
    if engine == "ray" and find_spec("ray") is None:
        pytest.skip("needs Ray: pip install ray==2.60.0")
    home = tmp_path_factory.mktemp(engine)
    data, log = home / f"{WORD}.csv", home / "log"
    rows = {"text": [f"{SECRET} {n} {'long ' * n}" for n in range(12)], "label": ["positive"] * 12}
    pd.DataFrame(rows).to_csv(data, index=False)
    own = {"EXPLAINLAB_ENGINE": engine, "EXPLAINLAB_WORKERS": "2", "EXPLAINLAB_HOME": str(home)}
    # a folder with a short name, as the sockets of Ray are in it
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, log.open("wb") as written:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.workers.own_server", data],
            cwd=ROOT,
            env={**os.environ, **own, "RAY_TMPDIR": folder},
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
        )
        assert server.stdout is not None
        try:
            ended, (done, *pids) = server.stdout.readline().split(), map(int, server.stdout.readline().split())
        finally:
            server.kill()
            server.wait()
        files = [log, *(path for path in Path(folder).rglob("*") if path.is_file())]
        logs = {path.name: path.read_text("utf-8", errors="replace") for path in files}
        yield Killed(engine, ended, done, pids, logs, home)


@pytest.fixture(scope="module")
def alone(_home: Path) -> Result:
    """The same study, never disturbed."""
    return Service(Store("sqlite://"), "cpu").run(resolve(MANY))


def test_no_log_has_a_text(killed: Killed) -> None:
    assert killed.ended == ["done", "failed", "done"]
    assert '"status": "done"' in killed.logs["log"], "it does log"
    assert "a task failed" in "".join(killed.logs.values()), "and so do workers"
    assert not [name for name, lines in killed.logs.items() if WORD in lines]
    if killed.engine == "ray":
        assert len(killed.logs) > 5, "these are Ray's own"


def test_its_workers_end_by_themselves(killed: Killed) -> None:
    assert len(killed.pids) == 2
    until = time.monotonic() + SOON
    while any(psutil.pid_exists(pid) for pid in killed.pids):
        assert time.monotonic() < until
        time.sleep(0.1)


def test_the_next_server_tells_what_it_owes_and_goes_on(killed: Killed, alone: Result) -> None:
    assert DONE <= killed.done < TASKS
    service = Service(Store(f"sqlite:///{killed.home / 'explainlab.sqlite'}"), "cpu")
    until = time.monotonic() + SOON
    while not (owed := service.store.unfinished.cut_short(ANN.id)):  # until the lease of the killed server ends
        assert time.monotonic() < until
        time.sleep(0.1)
    assert [Request.from_json(cut.request).question for cut in owed] == [MANY.question]
    again = service.submit(resolve(MANY, ANN))
    while not again.progress.done:
        assert not service.engine.wait(again, 0.01)
    assert again.progress.done >= killed.done, "these are not run again"
    assert service.engine.wait(again, SOON)
    result = again.result
    assert result is not None
    assert service.store.unfinished.cut_short(ANN.id) == []
    assert (result.cost.forward, result.cost.backward) == (alone.cost.forward, alone.cost.backward), "nothing twice"
    means = [[row.interval.mean for row in each.body.rows] for each in (result, alone)]
    np.testing.assert_allclose(*means, rtol=1e-4)
