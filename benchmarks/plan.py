"""Plans against what jobs then take: passes, peak memory, and seconds after earlier runs about other texts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from multiprocessing import get_context
from typing import Any

import scipy.stats  # noqa: F401  (a server with pages has read it)

from benchmarks.runner import Row, examples, memory_beyond_mb, model_name, timed
from explainlab.analyses.registry import answer, new_request
from explainlab.attribution.registry import get_method
from explainlab.data import read_dataset
from explainlab.models.classifier import Classifier
from explainlab.models.context import Momentary
from explainlab.models.loading import load_model
from explainlab.reader import ANYBODY
from explainlab.request import CompleteRequest
from explainlab.service.paces import Paces
from explainlab.service.plans import making
from explainlab.service.plans.plan import Plan, together
from explainlab.service.plans.rehearsal import Place
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.settings import ROOT

METHODS = (
    "gradient",
    "integrated_gradients",
    "kernel_shap",
    "occlusion",
    "rpi",
    "attention_rollout",
    "gae",
    "alti",
    "globenc",
    "decompx",
)
TEXTS = 8
"""Of earlier runs, and as many others that are planned: adaptive methods need several times more for some texts."""
EARLIER, EARLIER_ROWS, ROWS = 4, 10, 50
_SETTING, _THRESHOLD = "MALLOC_MMAP_THRESHOLD_", str(2**14)
"""glibc's: from how many bytes on memory is a piece of its own."""
_MB = 2**20


def rows() -> Iterator[Row]:
    """A row for each model and method, and for an evaluation of a data set."""
    shared = ROOT.parent / "shared" / "models" / "minilm-sst2"
    models = ["embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"]
    with _measuring() as pool:
        for model in [str(shared), *models] if shared.is_dir() else models:
            classifier = load_model(model)
            for name in METHODS:
                if not get_method(name).unsupported(classifier.architecture):
                    yield _measured(pool, classifier, name, *_of_texts(classifier, name))
            yield _measured(pool, classifier, f"evaluation of {ROWS} texts", *_of_rows(classifier))


def _of_texts(classifier: Classifier, method: str) -> tuple[list[CompleteRequest], list[CompleteRequest]]:
    """The same question to some texts, two rows of the examples each, and to others."""
    rows = read_dataset(examples(classifier), limit=4 * TEXTS).rows
    texts = [f"{first.text} {second.text}" for first, second in zip(rows[::2], rows[1::2], strict=True)]
    asked = [_asked(classifier, method, text=text) for text in texts]
    return asked[:TEXTS], asked[TEXTS:]


def _of_rows(classifier: Classifier) -> tuple[list[CompleteRequest], list[CompleteRequest]]:
    """Evaluations of a few texts of the examples, and one of many."""
    parameters = {"methods": ["gradient", "occlusion"], "metrics": ["comprehensiveness", "sufficiency"]}
    make = partial(_asked, classifier, "evaluation", data=examples(classifier))
    drawn = {**parameters, "sample": "random", "rows": EARLIER_ROWS}
    earlier = [make(parameters=drawn, seed=seed) for seed in range(EARLIER)]
    return earlier, [make(parameters={**parameters, "rows": ROWS})]


def _asked(classifier: Classifier, question: str, **fields: Any) -> CompleteRequest:
    return resolve(new_request(question=question, model=classifier.id, **fields)).request


def _measured(
    pool: ProcessPoolExecutor,
    classifier: Classifier,
    name: str,
    earlier: Sequence[CompleteRequest],
    later: Sequence[CompleteRequest],
) -> Row:
    """The earlier runs, the plans of the later ones, and these: here for the time, in the ``pool`` for the memory."""
    before = Service(Store("sqlite://"))
    service, (worker, *_) = Service(Store("sqlite://"), workers=before.workers), before.workers
    for request in earlier:
        _answered(before, request)
    place = Place(worker.device, worker.free_bytes)
    plans = [_timed(making.outlined(request, place, ANYBODY), request, before.paces) for request in later]
    results, seconds = timed(lambda: [_answered(service, request) for request in later])

    peaks = [pool.submit(_peak_mb, request).result() for request in later]
    worker.close()
    return Row(
        name="plan",
        work=f"{model_name(classifier)}, {name}",
        device=classifier.device.type,
        seconds=seconds,
        peak_memory_mb=max(peaks),
        facts=_facts(plans, results, seconds, peaks),
    )


def _timed(plan: Plan | None, request: CompleteRequest, paces: Paces) -> Plan:
    """``plan`` with its seconds."""
    assert plan is not None, "the models are here"
    return making.timed(plan, request, paces)


def _facts(plans: Sequence[Plan], results: Sequence[Any], seconds: float, peaks: Sequence[float]) -> dict[str, float]:
    """Sums over all runs, of memory the means."""
    passes = sum(result.cost.forward for result in results)
    forecast = sum(plan.peak or 0 for plan in plans) / len(plans) / _MB
    measured = sum(peaks) / len(peaks)
    time = together(plans).seconds or 0.0
    return {
        "passes, forecast to measured": sum(plan.forward for plan in plans) / passes,
        "MB forecast": forecast,
        "MB measured": measured,
        "memory, forecast to measured": forecast / measured,
        "s forecast": time,
        "time, forecast to measured": time / seconds,
    }


def _answered(service: Service, request: CompleteRequest) -> Any:
    """The result of a job for ``request``, which is stored as those of users are."""
    job = service.submit(resolve(request))
    service.engine.wait(job)
    assert job.result is not None, job.progress.error
    return job.result


@contextmanager
def _measuring() -> Iterator[ProcessPoolExecutor]:
    """A process in which memory that is freed goes back to the system at once, so that tensors are what is seen.

    glibc keeps what was freed in pieces, and reads this setting when a process starts.
    """
    before = os.environ.get(_SETTING)
    os.environ[_SETTING] = _THRESHOLD
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            pool.submit(os.getpid).result()
            yield pool
    finally:
        os.environ.pop(_SETTING)
        if before is not None:
            os.environ[_SETTING] = before


def _peak_mb(request: CompleteRequest) -> float:
    """MB that answering ``request`` takes beyond the model, the second time."""
    classifier = _loaded(request.model)
    answer(classifier, request, Momentary())
    return memory_beyond_mb(classifier.device, lambda: answer(classifier, request, Momentary()))[1]


@lru_cache(maxsize=1)
def _loaded(model: str) -> Classifier:
    return load_model(model)
