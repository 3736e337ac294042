"""The answers to commands, from their process or from their own workers: the numbers are equal."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
from safetensors.torch import load_file

from explainlab.analyses.registry import new_request
from explainlab.service.fleet import command
from explainlab.service.fleet.command import all_workers
from explainlab.service.fleet.worker_reports import lines_of
from explainlab.service.resolved import resolve
from explainlab.service.service import open_service
from explainlab.service.store import lease
from explainlab.service.store.store import Store
from explainlab.settings import settings
from tests.test_cli import Run, refused, run  # noqa: F401

MODEL = "embedded:bert-mini-sst2"
FIELDS = {"id", "place", "device", "models", "state", "task", "texts_per_second", "memory_mb", "seen"}
ASKED = ["--model", MODEL, "--data", "embedded:sentiment", "--set", "rows=12", "--set", "rules=right", "--json"]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[list]:
    """Yield the workers that commands of the test start; they end with it, and not only with this process."""
    workers: list = []
    monkeypatch.setattr(command, "_until_the_end", lambda started: workers.extend(started) or started)
    yield workers
    for worker in workers:
        worker.close()


@pytest.mark.full("it begins two workers by the command: 14 s; test_workers.py compares them")
@pytest.mark.usefixtures("home")
def test_two_workers_give_the_numbers_of_one_process(
    run: Run,  # noqa: F811
    ended: list,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processes = len(psutil.Process().children())
    alone = run("study", "integration_error", *ASKED, "--set", "steps=16").json
    assert len(psutil.Process().children()) == processes, "no process unless asked"
    monkeypatch.setattr(settings(), "database_url", f"sqlite:///{tmp_path / 'other.sqlite'}")
    shared = run("study", "integration_error", *ASKED, "--set", "steps=16", "--workers", "2").json
    assert [worker.condition.sent > 0 for worker in ended] == [True, True], "both had some of it"
    errors = ([text["errors"]["right"]["16"] for text in told["texts"]] for told in (alone, shared))
    np.testing.assert_allclose(*errors, rtol=1e-3, atol=1e-6)
    assert [shared["cost"][name] for name in ("forward", "backward")] == [alone["cost"]["forward"]] * 2
    refused(run("study", "integration_error", *ASKED, "--set", "steps=a", "--workers", "2"), "steps")
    refused(run("study", "integration_error", *ASKED, "--workers", "0"), "--workers")
    refused(run("study", "integration_error", *ASKED, "--engine", "dask"), "--engine")
    refused(run("study", "integration_error", *ASKED, "--engine", "ray", "--device", "cpu"), "Leave --device out")


@pytest.mark.usefixtures("home")
def test_workers_are_those_of_the_servers_on_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.2)
    service = open_service("cpu")
    beat = time.monotonic() + 60
    while not (told := Store(settings().store_url).lease.told()):
        assert time.monotonic() < beat
        time.sleep(0.1)
    assert told.keys() == {service.store.lease.server}
    job = service.submit(resolve(new_request(model=MODEL, question="integration_error", data="embedded:sentiment")))
    while service.engine.at(0) is None:
        assert not service.engine.wait(job, 0.01)
    service.store.lease.renew()
    body = all_workers()
    (worker,) = body["workers"]
    assert (body["engine"], body["address"]) == ("local", "")
    assert worker.keys() == FIELDS
    assert (worker["state"], worker["task"], worker["device"]) == ("busy", "integration_error", "cpu")
    assert worker["id"] == f"{service.store.lease.server[:8]}-1"
    assert "busy, integration_error" in lines_of(body)[1]
    service.cancel(job.key)
    assert service.engine.wait(job, 60)
    service.store.lease.end()
    assert all_workers()["workers"][0]["id"] == "1", "without a server those of the settings are started"


@pytest.mark.full("8 s: starts a worker process")
@pytest.mark.usefixtures("home")
def test_the_command_that_lists_workers_starts_those_of_the_settings(
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings(), "workers", 1)
    worker, spare = run("workers", "--json").json["workers"]
    assert (spare["id"], spare["state"]) == ("here", "spare")
    assert (worker["state"], worker["task"], worker["models"]) == ("idle", None, [])
    assert json.dumps(worker["place"])
    assert worker["memory_mb"] > 50
    assert not psutil.pid_exists(int(worker["place"].split()[-1]))


@pytest.mark.full("20 s: starts two worker processes that train")
@pytest.mark.usefixtures("home")
def test_every_seed_is_trained_by_one_worker_to_the_same_weights(run: Run, ended: list, tmp_path: Path) -> None:  # noqa: F811
    texts = [f"a {word} film {n}" for n in range(20) for word in ("good", "bad")]
    data = tmp_path / "films.csv"
    pd.DataFrame({"text": texts, "label": ["p", "n"] * 20}).to_csv(data, index=False)
    small = ("epochs=1", "seeds=2", "size=tiny", "validation=0.2", "vocabulary=100")
    asked = ["train", "--data", data, "--architecture", "bert", "--json"]
    for setting in small:
        asked += ["--set", setting]
    alone, shared = run(*asked, "--out", tmp_path / "a").json, run(*asked, "--out", tmp_path / "b", "--workers", 2).json
    assert [worker.condition.received > 0 for worker in ended] == [True, True]
    for number, (own, other) in enumerate(zip(alone["models"], shared["models"], strict=True)):
        assert own.keys() == other.keys()
        assert own["steps"] == other["steps"]
        weights = (load_file(tmp_path / f"{name}-{number}" / "model.safetensors") for name in "ab")
        torch.testing.assert_close(*weights, rtol=0, atol=1e-4)
    refused(run(*asked, "--out", tmp_path / "b", "--workers", 2), "exists and is not empty")
