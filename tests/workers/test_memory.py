"""A worker's process gives memory back: it is no larger for long after explanations or a training than before."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from explainlab.analyses.registry import new_request
from explainlab.limits import Limits
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.settings import settings
from explainlab.workers.process import Process
from tests.training.test_train import sentences

pytestmark = pytest.mark.full("90 s: it trains a large model")

MODEL = "embedded:bert-mini-sst2"
TEXT = "A slow, warm and very funny film about two sisters and a kitchen. " * 3
MOST = 1.2
A_MINUTE = 60
SOON = 600


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    monkeypatch.setattr(settings(), "home", tmp_path)
    process = Process("cpu", 2**30, Limits())
    yield process
    process.close()


def answer(worker: Process, *requests: Request) -> int:
    """Answer ``requests`` one after another; return the most bytes that the worker had while it did."""
    most = 0
    with Service(Store("sqlite://"), workers=[worker]) as service:
        for request in requests:
            job, until = service.submit(resolve(request)), time.monotonic() + SOON
            while not service.engine.wait(job, 0.1):
                assert time.monotonic() < until
                most = max(most, size(worker))
            assert job.progress.status == "done", job.progress.error
    return most


def size(worker: Process) -> int:
    return psutil.Process(worker.pid).memory_info().rss if worker.pid else 0


def returns_to(worker: Process, before: int) -> None:
    """Wait until the worker has no more than :data:`MOST` times the memory ``before``."""
    until = time.monotonic() + A_MINUTE
    while size(worker) > MOST * before:
        assert time.monotonic() < until, f"{size(worker):,} bytes after {before:,}"
        time.sleep(0.1)


def test_after_a_hundred_explanations(worker: Process) -> None:
    asked = [Request(model=MODEL, text=TEXT, question="integrated_gradients", seed=seed) for seed in range(101)]
    answer(worker, asked[0])
    before = size(worker)
    answer(worker, *asked[1:])
    returns_to(worker, before)


def test_after_a_training_of_several_gigabytes(worker: Process, tmp_path: Path) -> None:
    given, data = sentences(24), tmp_path / "films.csv"
    with data.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(given.texts, given.labels, strict=True)])
    large = {"epochs": 1, "width": 2048, "layers": 4, "heads": 16, "vocabulary": 200, "batch_size": 12}
    training = new_request(question="training", model="bert", data=str(data), parameters={"settings": large})
    answer(worker, Request(model=MODEL, text="a film", question="gradient"))
    before = size(worker)
    assert answer(worker, training) > 3 * 2**30
    returns_to(worker, before)
