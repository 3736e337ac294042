"""Workers elsewhere, of this machine or a cluster: the same answers, and nothing lost with a process."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

from explainlab.analyses.registry import complete, new_request
from explainlab.errors import ModelError
from explainlab.limits import Limits
from explainlab.models.context import RunContext
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.fleet.worker_reports import hands_of, workers_json
from explainlab.service.jobs import Job
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import User
from explainlab.training import Examples
from explainlab.workers import process as workers_process
from explainlab.workers.process import Process
from explainlab.workers.worker import MOST_TRIES
from tests.analyses.roar.grids import BASE, SETTINGS, written
from tests.tiers import first
from tests.training.test_train import sentences
from tests.workers.conftest import Head

MODEL = "embedded:bert-mini-sst2"
ANN, BOB = User("ann", "Ann"), User("bob", "Bob")
SOON = 200
HOSTILE = "<script>alert(1)</script> a \u202estirring\u202c film &amp; 🎬"


def text(words: str, question: str = "integrated_gradients", **parameters: Any) -> Request:
    return Request(model=MODEL, text=words, question=question, parameters=parameters)


def errors_of(rows: int, data: str = "embedded:sentiment", steps: int = 32) -> Request:
    """Return a study that takes a moment."""
    parameters = {"rows": rows, "sample": "first", "steps": [steps], "rules": ["right"]}
    return new_request(model=MODEL, question="integration_error", data=data, parameters=parameters)


def grid(folder: Path, train: Examples, epochs: int) -> Request:
    """Return a request of a grid: three measures on the models of one seed."""
    parts = {"train": train, "validation": sentences(60, 1), "test": sentences(60, 2)}
    files = {name: written(folder / f"{name}.csv", part) for name, part in parts.items()}
    measures = "gradient+input_x_gradient+attention_last"
    parameters = {"measures": measures, "recursive": "both", "ratios": [0, 40, 70, 100], "seeds": 1}
    parameters |= {"settings": {**SETTINGS, "epochs": epochs}, **{name: files[name] for name in ("test", "validation")}}
    return new_request(question="roar", model=BASE, data=files["train"], parameters=parameters)


def end(service: Service, job: Job) -> Result:
    assert service.engine.wait(job, SOON)
    assert (job.progress.status, job.progress.error) == ("done", "")
    result = job.result
    assert result is not None
    return result


def begun(service: Service, job: Job, helped: bool = False) -> None:
    """Wait until ``job`` is in the middle of its texts, and others help with it."""
    until = time.monotonic() + SOON
    while not job.begun or job.progress.done < 1 or (helped and not all(service.engine.at(place) for place in (0, 1))):
        assert not service.engine.wait(job, 0.01)
        assert time.monotonic() < until


def comparable(result: Result) -> dict[str, Any]:
    record = result.to_json()
    record["cost"] = {name: record["cost"][name] for name in ("forward", "backward")}
    return record


def numbers(result: Result) -> list[float]:
    """Return the error of every text, in their order."""
    return [error for own in result.body.texts for error in own.errors["right"].values()]


@pytest.fixture(scope="module")
def here(_home: Path) -> Service:
    """Return a service with the same worker in this process."""
    return Service(Store("sqlite://"), "cpu")


def test_a_text_has_the_same_answer_bit_for_bit(fleet: Service, here: Service) -> None:
    asked = text(HOSTILE)
    job = fleet.submit(resolve(asked, ANN))
    assert comparable(end(fleet, job)) == comparable(here.run(resolve(asked)))
    assert job.prediction == job.result.prediction
    assert MODEL in [model.id for worker in fleet.workers for model in worker.loaded]


def test_two_workers_share_a_data_set_and_give_the_same_numbers(fleet: Service, here: Service) -> None:
    asked = errors_of(24)
    job = fleet.submit(resolve(asked, ANN))
    begun(fleet, job, helped=True)
    assert [fleet.engine.at(place).helps for place in (0, 1)].count(job) == 1
    assert hands_of(job, fleet.engine, fleet.workers) == 2
    assert sum(job.parts.counts) > 2
    there = end(fleet, job)
    assert fleet.workers[job.place].condition.texts_per_second > 0
    alone = here.run(resolve(asked))
    assert (job.progress.done, job.progress.total) == (24, 24)
    for worker in fleet.workers[:2]:
        told = worker.condition
        assert (told.state, told.models, told.place) == ("ready", (MODEL,), f"{worker.host}, process {worker.pid}")
        assert told.memory_bytes > 2**20
        assert time.time() - told.seen < SOON
    assert "stirring" not in workers_json(fleet.workers, fleet.engine)
    assert [own.row for own in there.body.texts] == [own.row for own in alone.body.texts]
    assert (there.cost.forward, there.cost.backward) == (alone.cost.forward, alone.cost.backward)
    np.testing.assert_allclose(numbers(there), numbers(alone), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("rows", first([300], [300, 700], "as with fewer rows"))
def test_predictions_are_shared_too(fleet: Service, here: Service, rows: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    pd.DataFrame({"text": [f"film {n} is {n % 7}" for n in range(rows)], "label": ["negative"] * rows}).to_csv(path)
    asked = new_request(model=MODEL, question="predictions", data=str(path), parameters={"rows": rows})
    assert comparable(end(fleet, fleet.submit(resolve(asked, ANN)))) == comparable(here.run(resolve(asked)))


@pytest.mark.full("30 s: it trains a grid of models")
def test_a_grid_of_one_seed_is_shared_by_measures(fleet: Service, here: Service, tmp_path: Path) -> None:
    asked = grid(tmp_path, sentences(60, 0), epochs=5)
    job = fleet.submit(resolve(asked, ANN))
    begun(fleet, job, helped=True)
    assert sum(job.parts.counts) == 4 + 3
    there = end(fleet, job).body
    alone = here.run(resolve(asked)).body
    assert there.unfinished == there.failed == 0
    assert (there.curves, there.faithfulness, there.texts) == (alone.curves, alone.faithfulness, alone.texts)
    assert there.sparsity == alone.sparsity


@pytest.mark.full("13 s: thousands of rows")
def test_very_many_rows_arrive_in_parts(fleet: Service, here: Service, tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    pd.DataFrame({"text": [f"film {n}" for n in range(2_500)], "label": ["positive"] * 2_500}).to_csv(path)
    asked = new_request(model=MODEL, question="predictions", data=str(path), parameters={"rows": 2_500})
    result = end(fleet, fleet.submit(resolve(asked, ANN)))
    assert len(result.body.rows) == 2_500
    assert comparable(result) == comparable(here.run(resolve(asked)))


@pytest.mark.full("both workers compute a data set: 9 s; test_turns.py has the rule")
def test_an_urgent_text_is_answered_while_both_have_a_data_set(fleet: Service) -> None:
    job = fleet.submit(resolve(errors_of(40, steps=128), ANN))
    begun(fleet, job, helped=True)
    between = fleet.submit(resolve(text("a text of another"), BOB))
    end(fleet, between)
    assert not job.progress.finished
    fleet.cancel(job.key, ANN)
    assert fleet.engine.wait(job, SOON)
    assert job.progress.status == "cancelled"


@pytest.mark.full("two engines with two workers each: 13 s; test_turns.py has the rule")
def test_a_cancel_stops_all_who_have_it_and_another_engine_goes_on(fleet: Service) -> None:
    asked = errors_of(22, steps=48)
    job = fleet.submit(resolve(asked, ANN))
    begun(fleet, job, helped=True)
    fleet.cancel(job.key, ANN)
    assert fleet.engine.wait(job, SOON)
    done, until = job.progress.done, time.monotonic() + SOON
    while any(fleet.engine.at(place) for place in (0, 1)):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert 0 < done < 22
    other = Service(fleet.store, "cpu")  # it computes in the process of its pages
    again = other.submit(resolve(asked, ANN))
    begun(other, again)
    assert again.progress.done >= done, "these were not run again, though by another engine"
    end(other, again)


@pytest.mark.full("14 s of running jobs; the queue has quick tests of the same order")
def test_other_users_jobs_go_before_help(fleet: Service) -> None:
    first = fleet.submit(resolve(errors_of(40, steps=96), ANN))
    begun(fleet, first, helped=True)
    second = fleet.submit(resolve(errors_of(6, steps=24), BOB))
    end(fleet, second)
    assert not first.progress.finished
    assert second.place != first.place
    fleet.cancel(first.key, ANN)
    assert fleet.engine.wait(first, SOON)


@pytest.mark.full("10 s of running jobs")
def test_what_is_finished_so_far_can_be_seen(fleet: Service) -> None:
    job = fleet.submit(resolve(errors_of(41, steps=96), ANN))
    begun(fleet, job)
    show, until = job.partial_result, time.monotonic() + SOON
    while show is None:
        assert time.monotonic() < until
        show = job.partial_result
    assert 0 < len(show().body.texts) < 41
    fleet.cancel(job.key, ANN)
    assert fleet.engine.wait(job, SOON)


# What goes wrong -----------------------------------------------------------------------------------------------------


def kill(worker: Process) -> None:
    os.kill(worker.pid, signal.SIGKILL)


@pytest.mark.full("45 s: it kills two workers")
def test_killed_workers_cost_time_alone(fleet: Service, here: Service, caplog: pytest.LogCaptureFixture) -> None:
    asked = errors_of(18, steps=64)
    job = fleet.submit(resolve(asked, ANN))
    begun(fleet, job, helped=True)
    restarts = sum(worker.restarts for worker in fleet.workers[:2])
    for place in (1 - job.place, job.place):  # the one that helps, then the one whose job it is
        kill(fleet.workers[place])
        done, until = job.progress.done, time.monotonic() + SOON
        while job.progress.done == done and not job.progress.finished:
            assert time.monotonic() < until
            time.sleep(0.01)
    there, alone = end(fleet, job), here.run(resolve(asked))
    assert (there.cost.forward, there.cost.backward) == (alone.cost.forward, alone.cost.backward), "nothing twice"
    np.testing.assert_allclose(numbers(there), numbers(alone), rtol=1e-3, atol=1e-6)
    assert sum(worker.restarts for worker in fleet.workers[:2]) > restarts
    assert "film" not in caplog.text
    end(fleet, fleet.submit(resolve(text("after that"), ANN)))


@pytest.mark.full("35 s: it trains two grids of models")
def test_a_full_disk_of_one_worker_costs_time_or_is_told(
    fleet: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if fleet.workers[-1].spare:
        pytest.skip("a process that Ray has placed is not ours to limit")
    asked = grid(tmp_path, sentences(60, 7), epochs=6)
    first = fleet.submit(resolve(asked, ANN))
    begun(fleet, first, helped=True)
    with full(fleet.workers[1 - first.place]):
        assert end(fleet, first).body.unfinished == 0
    assert "could not help" in caplog.text
    more = asked.model_copy(update={"seed": 1})
    second = fleet.submit(resolve(more, ANN))
    begun(fleet, second)
    with full(fleet.workers[second.place]):
        assert fleet.engine.wait(second, SOON)
    assert second.progress.status == "failed"
    assert re.search(r"cannot be written in .*\. Free some disk space", second.progress.error)
    assert end(fleet, fleet.submit(resolve(more, ANN))).body.unfinished == 0


@contextmanager
def full(worker: Process) -> Iterator[None]:
    """Allow no more than a kilobyte in any file that the worker writes."""
    process = psutil.Process(worker.pid)
    before = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (1024, before[1]))
    try:
        yield
    finally:
        process.rlimit(psutil.RLIMIT_FSIZE, before)


@pytest.mark.full("it kills workers")
def test_a_text_that_ends_its_worker_again_and_again_is_given_up(fleet: Service) -> None:
    if fleet.workers[-1].spare:
        pytest.skip("there it moves on to another worker: see the tests of the queue")
    endless = text("a text " * 30, steps=9_999, rule="right")
    job = fleet.submit(resolve(endless, ANN))
    for _ in range(MOST_TRIES):
        worker = fleet.workers[job.place]
        until, pid = time.monotonic() + SOON, worker.pid
        while job.progress.phase != "gradients" or not worker.loaded or fleet.engine.silent_seconds > 1:
            assert not fleet.engine.wait(job, 0.01)
            assert time.monotonic() < until
        job.update(phase="")
        kill(worker)
        while worker.pid == pid and not job.progress.finished:
            assert time.monotonic() < until
            time.sleep(0.01)
    assert fleet.engine.wait(job, SOON)
    assert job.progress.status == "failed"
    assert "ended 3 times" in job.progress.error
    end(fleet, fleet.submit(resolve(text("another text"), ANN)))


@pytest.mark.full("131 s: it kills a cluster")
def test_without_its_cluster_single_texts_are_answered_here_and_data_sets_wait(
    fleet: Service, here: Service, request: pytest.FixtureRequest
) -> None:
    if not fleet.workers[-1].spare:
        pytest.skip("these workers have no head")
    head: Head = request.getfixturevalue("head")
    asked = errors_of(26, steps=80)
    job = fleet.submit(resolve(asked, ANN))
    begun(fleet, job)
    head.kill()
    killed = time.monotonic()
    while not all(worker.away for worker in fleet.workers[:-1]):
        assert time.monotonic() < killed + 5, "pages say so within 5 s"
        time.sleep(0.05)
    between = fleet.submit(resolve(text("a text while the cluster is gone"), BOB))
    end(fleet, between)
    assert fleet.workers[between.place].spare
    done = job.progress.done
    assert (job.progress.status, job.begun) == ("queued", False)
    until = time.monotonic() + SOON
    while fleet.workers[0].away != f"No Ray cluster answers at {head.address}.":
        assert time.monotonic() < until
        time.sleep(0.05)
    head.start()
    begun(fleet, job)
    assert job.progress.done >= done, "what was finished stays"
    there, alone = end(fleet, job), here.run(resolve(asked))
    assert (there.cost.forward, there.cost.backward) == (alone.cost.forward, alone.cost.backward), "nothing twice"


def test_a_worker_with_other_files_than_the_server_is_refused(fleet: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_process, "model_digest", lambda _: "0" * 64)
    with pytest.raises(ModelError, match="other files of embedded:bert-mini-sst2"):
        fleet.workers[0].answer([complete(text("a film"))], RunContext())


def test_errors_of_requests_are_told_as_anywhere(fleet: Service) -> None:
    job = fleet.submit(resolve(Request(model=MODEL, text=" ", question="random"), ANN))
    assert fleet.engine.wait(job, SOON)
    assert "text is empty" in job.progress.error


def test_a_process_that_has_too_much_memory_is_started_anew() -> None:
    worker = Process("cpu", 2**30, Limits(), most_mb=100)
    first, until = worker._link, time.monotonic() + SOON
    while not first.lost:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert worker._live() is not first, "another one"
    assert worker.restarts == 1
    worker.close()


def test_closing_it_ends_its_process() -> None:
    worker = Process("cpu", 2**30, Limits())
    worker.close()
    assert worker._link.process.poll() is not None


def test_a_worker_asks_once_for_the_known_maps_of_a_group(fleet: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, ...]] = []
    do = workers_process.RemoteTask._do

    def noted(task: workers_process.RemoteTask, call: str, args: list[Any]) -> None:
        calls.append((call, args[0]) if call in ("get", "put") else (call,))
        do(task, call, args)

    monkeypatch.setattr(workers_process.RemoteTask, "_do", noted)
    methods = ["gradient", "input_x_gradient", "occlusion"]
    parameters = {"rows": 4, "sample": "first", "methods": methods, "metrics": ["comprehensiveness"]}
    asked = new_request(model=MODEL, question="evaluation", data="embedded:sentiment", parameters=parameters)
    end(fleet, fleet.submit(resolve(asked, ANN)))
    assert {call for call, *_ in calls} == {"progress", "put", "get", "check", "take"}
    assert calls.count(("get", "results")) == 2, "the texts, and the maps of their one group"
    assert calls.count(("take",)) == 2
