"""The status of an instance: other users' jobs stay private, and a broken instance says so."""

from __future__ import annotations

import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from explainlab.limits import Limits
from explainlab.request import Request
from explainlab.service import status as status_module
from explainlab.service.dispatcher import Dispatcher
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.status import health, status
from explainlab.service.store.store import Store
from explainlab.service.users import User
from explainlab.settings import settings
from explainlab.workers.answering import Answering
from explainlab.workers.local import here
from explainlab.workers.worker import Condition

MODEL = "embedded:bert-mini-sst2"
ANN, BOB = User("ann", "Ann"), User("bob", "Bob")
SOON = 60
FOR_EVER = 10**6
EVERYTHING = {"ready": True, "store": True, "disk": True, "worker": True, "memory": True, "problem": ""}


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(Store(f"sqlite:///{tmp_path / 'results.sqlite'}"), "cpu")


def test_a_user_sees_own_jobs_and_only_that_others_have_some(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_urgent_seconds", FOR_EVER)
    steps = {"rule": "right", "steps": 9_999}
    endless = Request(model=MODEL, text="a long film " * 30, question="integrated_gradients", parameters=steps)
    data = Request(model=MODEL, question="path_gradients", data="embedded:sentiment")
    running = service.submit(resolve(endless, ANN))
    waiting = service.submit(resolve(data, BOB))
    while not status(service, ANN).loaded:
        service.engine.wait(running, 0.01)
    try:
        for user, jobs in ((ANN, [running, None]), (BOB, [None, waiting]), (User("cy", "Cy"), [None, None])):
            places = status(service, user).places
            assert [place.job for place in places] == jobs
            assert [(place.running, place.urgent) for place in places] == [(True, True), (False, False)]
        assert health(service) == EVERYTHING | {"running": 1, "waiting": 1, "workers": {"busy": 1}}
        seen = [station.job for user in (ANN, BOB) for station in status(service, user).workers]
        assert seen == [running, None], "what a worker does is not told to others"
    finally:
        for job, user in ((waiting, BOB), (running, ANN)):
            service.cancel(job.key, user)
        assert service.engine.wait(running, SOON)
    (loaded,) = status(service, ANN).loaded
    assert (loaded.id, loaded.dtype, loaded.device) == (MODEL, "float32", "cpu")
    assert loaded.bytes == service.workers[0].pool.get(MODEL, "float32").bytes


def test_an_instance_whose_store_is_away_is_not_ready(service: Service, tmp_path: Path) -> None:
    assert status(service, ANN).problem == ""
    for file in tmp_path.iterdir():
        file.write_bytes(b"no database" * 1000)
    assert "while it was open" in status(service, ANN).problem
    found = health(service)
    assert (found["ready"], found["store"], found["worker"]) == (False, False, True)
    assert found["problem"] == status(service, ANN).problem


def test_a_hosted_instance_does_not_tell_where_its_store_is(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings(), "auth", "proxy")
    for file in tmp_path.iterdir():
        file.write_bytes(b"no database" * 1000)
    assert status(service, ANN).problem.startswith("The result store cannot be used now.")
    assert str(tmp_path) not in status(service, ANN).problem


def test_a_disk_that_is_nearly_full_is_told(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    assert status(service, ANN).problem == ""
    monkeypatch.setattr(status_module, "LEAST_FREE_MB", 2**40)
    assert "The disk is full" in status(service, ANN).problem
    assert not health(service)["disk"]


def test_readiness_notices_a_disk_that_is_full(disk: Path) -> None:
    service = Service(Store(f"sqlite:///{disk / 'results.sqlite'}"), "cpu")
    assert health(service)["ready"]
    big = disk / "big"
    big.write_bytes(bytes(30 * 2**20))
    state = health(service)
    assert (state["ready"], state["disk"]) == (False, False)
    assert "The disk is full" in status(service, ANN).problem
    big.unlink()
    assert health(service)["ready"]


def test_readiness_notices_a_disk_that_is_read_only(disk: Path) -> None:
    service = Service(Store(f"sqlite:///{disk / 'results.sqlite'}"), "cpu")
    service.store._database._engine.dispose()  # with a file open the disk could not be made so
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    state = health(service)
    assert (state["ready"], state["store"], state["disk"]) == (False, False, False)
    assert "cannot be" in status(service, ANN).problem


def test_readiness_notices_a_store_that_is_read_only(service: Service, tmp_path: Path) -> None:
    frozen = Service(Store(f"sqlite:///file:{tmp_path / 'results.sqlite'}?mode=ro&uri=true"), "cpu")
    assert not health(frozen)["store"]
    assert "readonly" in status(frozen, ANN).problem


def test_an_instance_that_keeps_nothing_is_not_ready() -> None:
    service = Service(Store("sqlite://"), "cpu", notice="Results are not kept.")
    assert not health(service)["ready"]


def test_a_worker_that_hangs_is_told(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_module, "SILENT_SECONDS", 1.5)
    hanging, release = threading.Event(), threading.Event()

    def hang(*_) -> None:
        hanging.set()
        release.wait(SOON)

    service.engine = Dispatcher(hang)
    assert status(service, ANN).worker_alive
    service.submit(resolve(Request(model=MODEL, text="a film", question="random")))
    assert hanging.wait(SOON)
    assert not release.wait(2)
    assert not status(service, ANN).worker_alive
    assert not health(service)["ready"]
    release.set()


class Other(Answering):
    """A worker of another version."""

    @property
    def condition(self) -> Condition:
        return replace(super().condition, state="refused", problem="The worker on x has another version.")


def test_an_instance_whose_workers_are_all_refused_is_not_ready() -> None:
    workers = [Other("cpu", 2**30, Limits()), here("cpu")]
    mixed, none = (Service(Store("sqlite://"), workers=some) for some in (workers, workers[:1]))
    assert health(mixed) == EVERYTHING | {"running": 0, "waiting": 0, "workers": {"refused": 1, "idle": 1}}
    assert not health(none)["ready"]
    assert [station.state for station in status(mixed, ANN).workers] == ["refused", "idle"]
