"""Seconds of one user's occlusion of a sentence beside each dear request of another, by a worker's process."""

from __future__ import annotations

import csv
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.predictions import varied
from benchmarks.runner import Row, examples, model_name, sentiment_classifiers, text_of, timed
from explainlab.analyses.registry import new_request
from explainlab.data import read_dataset
from explainlab.models.classifier import Classifier
from explainlab.request import Request
from explainlab.service.jobs import Job
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import User
from explainlab.settings import settings
from explainlab.workers.local import here, processes

ASKED = 5
"""Sentences in a sequence beside each request; the slowest counts."""
_BEGUN_SECONDS, _MOMENT = 60.0, 0.05
_ANN, _BOB = User("ann", "Ann"), User("bob", "Bob")


ALONE = "nothing"
DEAR = ("a training", "DIG of 1,000 steps", "KernelSHAP", "RPI", "an attack", "a grid")
"""The names of the dear requests."""


def rows(names: Collection[str] = (ALONE, *DEAR)) -> Iterator[Row]:
    """Yield a row for each dear request of these ``names``, and one without any: the slowest of a few sentences."""
    classifier = next(sentiment_classifiers())
    workers = processes(1, "cpu")
    with _home() as folder:
        service = Service(Store("sqlite://"), workers=[*workers, here("cpu", spare=True)])
        _answered(service, classifier, "warm up", 0)
        if ALONE in names:
            yield _row(service, classifier, ALONE)
        for name, dear in _dear(classifier, folder).items():
            if name not in names:
                continue
            job = service.submit(resolve(dear, _ANN))
            _await_begun(job)
            yield _row(service, classifier, name)
            assert not job.progress.finished, f"{name} was not dear: {job.progress.error}"
            service.cancel(job.key, _ANN)
            service.engine.wait(job)
        service.close()
    for worker in workers:
        worker.close()


@contextmanager
def _home() -> Iterator[Path]:
    """Make models inside a folder, in place of the user's own."""
    own = settings().home
    with TemporaryDirectory() as folder:
        settings().home = Path(folder)
        try:
            yield Path(folder)
        finally:
            settings().home = own


def _row(service: Service, classifier: Classifier, beside: str) -> Row:
    seconds = [timed(partial(_answered, service, classifier, beside, number))[1] for number in range(ASKED)]
    work = f"{model_name(classifier)}, beside {beside}"
    return Row(name="neighbours", work=work, device="cpu", seconds=max(seconds))


def _answered(service: Service, classifier: Classifier, beside: str, number: int) -> None:
    """Ask the occlusion of a sentence and wait for it."""
    text = f"{text_of(classifier, 24)} {beside} {number}"
    job = service.submit(resolve(Request(model=classifier.id, text=text, question="occlusion"), _BOB))
    service.engine.wait(job)
    assert job.result is not None, job.progress.error


def _await_begun(job: Job) -> None:
    """Wait until ``job`` is in the middle of its work, or in one long turn at its beginning."""
    until = time.monotonic() + _BEGUN_SECONDS
    while job.progress.done < 1 and time.monotonic() < until:
        time.sleep(_MOMENT)


def _dear(classifier: Classifier, folder: Path) -> dict[str, Request]:
    """Return the dear requests by their names; each takes minutes."""
    long = text_of(classifier, 128)

    def of_text(question: str, **parameters: Any) -> Request:
        return new_request(model=classifier.id, text=long, question=question, parameters=parameters)

    data = _written(classifier, folder)
    settings = {"batch_size": 2_048, "epochs": 20, "max_tokens": 128}
    large = {"validation_share": 0.0, "settings": settings}
    grid = {"measures": "gradient", "ratios": [0, 50, 100], "seeds": 1, "settings": {"epochs": 50}}
    files = {"validation": data, "test": data}
    requests = (
        new_request(model="bert", data=data, question="training", parameters=large),
        of_text("discretized_integrated_gradients", steps=1_000, neighbours=10_000),
        of_text("kernel_shap", samples="100000"),
        of_text("rpi", samples=6_000),
        of_text("attack", steps=10_000),
        new_request(model="bilstm_attention", data=data, question="roar", parameters=grid | files),
    )
    return dict(zip(DEAR, requests, strict=True))


def _written(classifier: Classifier, folder: Path) -> str:
    """Write a file of long texts, each of several of the examples; returns its path."""
    path = folder / "long.csv"
    drawn = varied(read_dataset(examples(classifier), classifier.labels).rows, 20_480)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        for first in range(0, len(drawn), 10):
            texts = " ".join(row.text for row in drawn[first : first + 10])
            writer.writerow((texts, drawn[first].label))
    return str(path)
