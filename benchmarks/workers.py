"""An evaluation by workers in processes of their own, of this machine and of a cluster, beside one in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import cycle
from typing import Any

import numpy as np
import psutil

from benchmarks.runner import Row, held_out, model_name, sentiment_classifiers, text_of, timed
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.registry import new_request
from explainlab.models.classifier import Classifier
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.workers.cluster.workers import cluster
from explainlab.workers.local import here, processes
from explainlab.workers.process import Process
from explainlab.workers.worker import Worker

TEXTS = 48
METHODS = ("gradient", "input_x_gradient", "integrated_gradients", "attention_average", "occlusion", "lime")
METRICS = ("comprehensiveness", "sufficiency", "log_odds", "aopc_comprehensiveness", "aopc_sufficiency")
KILL_SECONDS = 20.0
_ALONE = 30
"""Texts asked one after another, of which each is a task of its own."""
_START_SECONDS = 120.0


def rows(fleet: Sequence[Worker] = ()) -> Iterator[Row]:
    """Yield rows of an evaluation: in this process, by one and two workers, by two that are killed, and on a cluster.

    Where there is a ``fleet``, by that alone beside this process.
    """
    classifier = next(iter(sentiment_classifiers()))
    local, bare = _evaluated(classifier, [here("cpu")])
    if fleet:
        yield _row(classifier, f"{len(fleet)} workers", fleet, local, bare, "in this process")
        return
    yield _row(classifier, "one worker", processes(1, "cpu"), local, bare, "in this process")
    yield _row(classifier, "two workers", processes(2, "cpu"), local, bare, "in this process")
    quiet, undisturbed = _evaluated(classifier, workers := processes(2, "cpu"))
    stop = threading.Event()
    threading.Thread(target=_kill, args=(workers, stop), daemon=True).start()
    yield _row(classifier, "two workers, one killed every 20 s", workers, quiet, undisturbed, "undisturbed")
    stop.set()
    if find_spec("ray") is not None:
        yield _row(classifier, "two workers of Ray", cluster(2), local, bare, "in this process")


def _row(
    classifier: Classifier, name: str, workers: Sequence[Worker], expected: Result, rival: float, rival_name: str
) -> Row:
    result, seconds = _evaluated(classifier, workers)
    facts: dict[str, float] = {"restarts": sum(worker.restarts for worker in workers if isinstance(worker, Process))}
    if len(workers) == 1:
        facts["added to a task, ms"] = 1000 * (_a_text(classifier, workers) - _a_text(classifier, [here("cpu")]))
    for worker in workers:
        worker.close()
    return Row(
        name="workers",
        work=f"{name}: {model_name(classifier)}, {TEXTS} texts, {len(METHODS)} methods, {len(METRICS)} metrics",
        device="cpu",
        seconds=seconds,
        rival=rival_name,
        rival_seconds=rival,
        ratio_to_rival=seconds / rival,
        difference=_difference(result, expected),
        facts=facts,
    )


def _evaluated(classifier: Classifier, workers: Sequence[Worker]) -> tuple[Result, float]:
    """Return the result, and its seconds after every worker had read a text."""
    service = _ready(classifier, workers)
    parameters = {"methods": METHODS, "metrics": METRICS, "rows": TEXTS, "sample": "first"}
    data = held_out(classifier)
    asked = new_request(question="evaluation", model=classifier.id, data=data, parameters=parameters)
    return timed(lambda: _answer(service, asked))


def _a_text(classifier: Classifier, workers: Sequence[Worker]) -> float:
    """Return the seconds of a text in a sequence of single-text requests."""
    service = _ready(classifier, workers)
    texts = [f"{text_of(classifier, 20)} {number}" for number in range(_ALONE)]
    asked = [Request(model=classifier.id, text=text, question="gradient") for text in texts]
    return float(np.median([timed(partial(_answer, service, one))[1] for one in asked]))


def _ready(classifier: Classifier, workers: Sequence[Worker]) -> Service:
    """Return a service whose workers have the model in memory."""
    until = time.monotonic() + _START_SECONDS
    while any(worker.away for worker in workers) and time.monotonic() < until:
        time.sleep(0.1)
    first = Request(model=classifier.id, text="a", question="gradient")
    for worker in workers:
        _answer(Service(Store("sqlite://"), workers=[worker]), first)
    return Service(Store("sqlite://"), workers=workers)


def _answer(service: Service, request: Request) -> Result:
    job = service.submit(resolve(request))
    service.engine.wait(job)
    assert job.result is not None, job.progress.error
    return job.result


def _kill(workers: Sequence[Worker], stop: threading.Event) -> None:
    """Kill one process after another until ``stop``."""
    for worker in cycle(worker for worker in workers if isinstance(worker, Process)):
        if stop.wait(KILL_SECONDS):
            return
        psutil.Process(worker.pid).kill()


def _difference(result: Any, expected: Any) -> float:
    """Return the largest difference between two tables, relative to the largest mean."""
    means = [_means(found.body) for found in (result, expected)]
    return float(np.abs(means[0] - means[1]).max() / np.abs(means[1]).max())


def _means(body: EvaluationData) -> np.ndarray[Any, Any]:
    return np.array([row.mean for row in body.rows], float)
