"""Deletion: a deleted record leaves every table and the disk; old records and those above a limit go by themselves."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from explainlab.data import source_digest
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.remarks import Remark
from explainlab.service.store.retention import sweep, sweep_hourly, used
from explainlab.service.store.runs import Run
from explainlab.service.store.schema import HELD, NOTES, RESULTS, RUNS, VIEWS
from explainlab.service.store.store import Store
from explainlab.service.uploads import keep_upload, reader_for
from explainlab.service.users import User
from explainlab.settings import settings

ANN, BOB = User("oidc#ann", "Ann"), User("oidc#bob", "Bob")
MODEL = "embedded:bert-mini-sst2"
SECRET = "zzsecretzz"
TEXT = f"a {SECRET} film"
FILE = f"text,label\n{SECRET} one,positive\n{SECRET} two,negative\n".encode()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(settings(), "home", tmp_path)
    for name in ("max_kept_days", "max_kept_mb_per_user", "max_kept_mb"):
        monkeypatch.setattr(settings(), name, 0)
    return tmp_path


@pytest.fixture
def service(home: Path) -> Service:
    return Service(Store(f"sqlite:///{home / 'store.sqlite'}"), "cpu")


def computed(service: Service, request: Request, user: User = ANN, **how: bool) -> Run | None:
    """The run of a question that ``user`` asked and waited for."""
    job = service.submit(resolve(request, user), **how)
    assert service.engine.wait(job, 60)
    assert job.progress.status == "done", job.progress.error
    return next((run for run in service.runs(user).runs if run.question == request.question), None)


def about_text(question: str = "random") -> Request:
    return Request(model=MODEL, text=TEXT, question=question)


def rows(home: Path) -> dict[str, int]:
    """Return the number of rows of each table that is not empty.

    Measurements of the instance do not count, nor do jobs, which end shortly before their rows go.
    """
    with sqlite3.connect(home / "store.sqlite") as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        paces = "WHERE key NOT IN (SELECT key FROM held WHERE owner = '')"
        limited = {"notes": paces, "held": "WHERE owner <> ''"}
        counts = {
            name: database.execute(f"SELECT count(*) FROM {name} {limited.get(name, '')}").fetchone()[0]
            for name in tables
            if name not in ("alembic_version", "unfinished")
        }
    return {name: count for name, count in counts.items() if count}


def secrets(home: Path) -> list[str]:
    """The files that hold a byte of the secret."""
    return [str(path) for path in home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_with_the_last_run_about_a_text_goes_all_about_it(service: Service, home: Path) -> None:
    first, second = computed(service, about_text()), computed(service, about_text("input_x_gradient"))
    computed(service, about_text("attention_rollout"), record=False)
    service.save_view({"text": TEXT}, ANN, [about_text()])
    service.delete_run(first.id, ANN)
    assert rows(home)["results"] == 2, "its own result"
    assert service.open_run(second.id, ANN).result is not None
    service.delete_run(second.id, ANN)
    assert rows(home) == {}
    sweep(service.store)
    assert secrets(home) == []


def test_with_the_last_run_about_an_upload_goes_the_file_and_the_remarks(service: Service, home: Path) -> None:
    upload = keep_upload(FILE, "mine.csv", ANN)
    runs = [
        computed(service, Request(model=MODEL, data=upload, question="predictions")),
        computed(service, Request(model=MODEL, data=upload, question="activation", parameters={"methods": ["random"]})),
    ]
    data = source_digest(upload, reader_for(ANN.id))
    service.store.remarks(ANN.id, data).keep(Remark(row=1, note=SECRET))
    service.store.remarks(BOB.id, data).keep(Remark(row=1, note="of another"))
    service.save_view({"source": upload}, ANN, [Request(model=MODEL, data=upload, question="predictions")])
    service.delete_run(runs[0].id, ANN)
    assert secrets(home), "another run needs the file"
    service.delete_run(runs[1].id, ANN)
    assert rows(home) == {"remarks": 1}
    assert not list((home / "uploads").rglob("*.csv"))
    sweep(service.store)
    assert secrets(home) == []


def test_what_another_user_has_stays(service: Service, home: Path) -> None:
    mine, others = computed(service, about_text()), computed(service, about_text(), BOB)
    service.delete_run(mine.id, ANN)
    assert service.open_run(others.id, BOB).result is not None
    assert rows(home) == {"results": 1, "runs": 1, "held": 1}
    service.delete_run(others.id, BOB)
    assert rows(home) == {}


def test_a_visit_stores_nothing_until_somebody_asks(service: Service, home: Path) -> None:
    data = Request(model=MODEL, data="embedded:sentiment", question="predictions", parameters={"rows": 5})
    for request in (about_text(), data):
        computed(service, request, record=False, store=False)
        assert service.find(resolve(request, ANN)) is not None, "while the job is known"
    assert rows(home) == {}
    assert service.store.held.parts() == []
    service.ask(resolve(about_text(), ANN))
    assert rows(home) == {"results": 1, "runs": 1, "held": 1}
    (run,) = service.runs(ANN).runs
    assert service.open_run(run.id, ANN).result is not None


def test_who_asks_while_a_visitors_job_runs_has_its_result(service: Service, home: Path) -> None:
    endless = Request(
        model=MODEL, text=TEXT, question="integrated_gradients", parameters={"rule": "right", "steps": 9_999}
    )
    before = service.submit(resolve(endless, ANN))
    visited = service.submit(resolve(about_text(), BOB), record=False, store=False)
    asked = service.submit(resolve(about_text(), ANN))
    assert asked is visited
    service.cancel(before.key, ANN)
    assert service.engine.wait(asked, 60)
    assert rows(home) == {"results": 1, "runs": 1, "held": 1}


def age(service: Service, days: float) -> None:
    """Make the last use of every stored record ``days`` earlier."""
    then = datetime.now(UTC) - timedelta(days=days)
    for column in (RUNS.c.asked, HELD.c.created, RESULTS.c.created, NOTES.c.created, VIEWS.c.created):
        service.store._database.change(sa.update(column.table).values({column.name: then}))
    for path in (settings().home / "uploads").rglob("*"):
        os.utime(path, (then.timestamp(), then.timestamp()))


def test_what_is_older_than_the_setting_goes(service: Service, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_upload(FILE, "old.csv", ANN)
    computed(service, about_text())
    service.save_view({"text": TEXT}, ANN, [about_text()])
    age(service, 40)
    sweep(service.store)
    assert rows(home)["runs"] == 1, "for ever, unless a setting says otherwise"
    monkeypatch.setattr(settings(), "max_kept_days", 30)
    young = keep_upload(b"text,label\nnew,positive\n", "young.csv", ANN)
    computed(service, Request(model=MODEL, data=young, question="predictions"))
    sweep(service.store)
    assert [run.question for run in service.runs(ANN).runs] == ["predictions"]
    assert secrets(home) == []
    assert len(list((home / "uploads").rglob("*.csv"))) == 2, "the young one and its name"


def test_the_longest_unused_goes_where_there_is_too_much(
    service: Service, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        keep_upload(b"text,label\n%d,positive\n" % number + b"x" * 2**20, f"{number}.csv", ANN)
        time.sleep(0.02)
    others = keep_upload(b"text,label\nbob,positive\n", "bob.csv", BOB)
    assert used(service.store, ANN).own > 3 * 2**20
    monkeypatch.setattr(settings(), "max_kept_mb_per_user", 2)
    sweep(service.store)
    left = [path.read_text() for path in sorted((home / "uploads").glob("*/names/*"))]
    assert sorted(left) == ["2.csv", "bob.csv"]
    assert used(service.store, ANN).own <= 2 * 2**20
    monkeypatch.setattr(settings(), "max_kept_mb", 1)
    sweep(service.store)
    assert reader_for(BOB.id).uploads.joinpath(others.removeprefix("upload:")).exists(), "the younger of the two"
    assert used(service.store, ANN).own == 0


def test_the_sweep_repeats(service: Service, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_upload(FILE, "old.csv", ANN)
    age(service, 40)
    monkeypatch.setattr(settings(), "max_kept_days", 30)
    stop = sweep_hourly(service.store, 0.1)
    deadline = time.monotonic() + 60
    while secrets(home) and time.monotonic() < deadline:
        time.sleep(0.1)
    stop.set()
    assert secrets(home) == []
