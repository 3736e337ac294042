"""Plans against what jobs then take: passes, peak memory, and seconds after one earlier run about other texts."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from explainlab.analyses.registry import new_request
from explainlab.attribution.registry import get_method
from explainlab.bench.runner import Row, examples, memory_beyond_mb, model_name, text_of, timed
from explainlab.models.classifier import Classifier
from explainlab.models.context import Momentary
from explainlab.models.devices import choose_device
from explainlab.models.loading import load_model
from explainlab.reader import ANYBODY
from explainlab.request import CompleteRequest
from explainlab.service import plan as planning
from explainlab.service.plan import Place, Plan
from explainlab.service.questions import asked_by
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL
from explainlab.settings import ROOT

METHODS = ("gradient", "integrated_gradients", "kernel_shap", "occlusion", "rpi")
EARLIER, TOKENS = 30, 45
"""The tokens of the text of an earlier run, and of the one that is planned."""
EARLIER_ROWS, ROWS = 10, 50
_MMAP_THRESHOLD, _SMALL, _USUAL = -3, 2**16, 2**25
"""glibc's setting, in bytes: from which size on memory goes back when it is freed; it grows to the usual by itself."""
_MB = 2**20


def rows() -> Iterator[Row]:
    """A row for each model and method, and for an evaluation of a data set."""
    shared = ROOT.parent / "shared" / "models" / "minilm-sst2"
    models = ["embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"]
    for model in [str(shared), *models] if shared.is_dir() else models:
        classifier = load_model(model)
        for name in METHODS:
            if not get_method(name).unsupported(classifier.architecture):
                yield _measured(classifier, name, *_of_texts(classifier, name))
        yield _measured(classifier, f"evaluation of {ROWS} texts", *_of_rows(classifier))


def _of_texts(classifier: Classifier, method: str) -> tuple[CompleteRequest, CompleteRequest]:
    """The same question to a short text, and to a longer one without its words."""
    earlier = text_of(classifier, EARLIER)
    later = text_of(classifier, EARLIER + TOKENS).removeprefix(earlier)
    return _asked(classifier, method, text=earlier), _asked(classifier, method, text=later)


def _of_rows(classifier: Classifier) -> tuple[CompleteRequest, CompleteRequest]:
    """An evaluation of a few texts of the examples, and of many."""
    parameters = {"methods": ["gradient", "occlusion"], "metrics": ["comprehensiveness", "sufficiency"]}
    make = partial(_asked, classifier, "evaluation", data=examples(classifier))
    earlier, later = (make(parameters={**parameters, "rows": rows}) for rows in (EARLIER_ROWS, ROWS))
    return earlier, later


def _asked(classifier: Classifier, question: str, **fields: Any) -> CompleteRequest:
    return asked_by(new_request(question=question, model=classifier.id, **fields), LOCAL)


def _measured(classifier: Classifier, name: str, earlier: CompleteRequest, later: CompleteRequest) -> Row:
    """One earlier run, the plan of the later one, and that run: alone for the time, and twice more for the memory."""
    before = Service(Store("sqlite://"))
    service, (worker, *_) = Service(Store("sqlite://"), workers=before.workers), before.workers
    _answered(before, earlier)
    plan = planning.outlined(later, Place(worker.device, worker.free_bytes), ANYBODY)
    assert plan is not None, "the models are here"
    plan = planning.timed(plan, later, before.paces)
    result, seconds = timed(lambda: _answered(service, later))

    def run() -> None:
        worker.answer([later], Momentary())

    device = choose_device(worker.device)
    _, plain = memory_beyond_mb(device, run)
    with _returning():
        _, peak = memory_beyond_mb(device, run)
    worker.close()
    return Row(
        name="plan",
        work=f"{model_name(classifier)}, {name}",
        device=device.type,
        seconds=seconds,
        peak_memory_mb=peak,
        facts=_facts(plan, result, seconds, peak, plain),
    )


def _facts(plan: Plan, result: Any, seconds: float, peak: float, plain: float) -> dict[str, float]:
    passes = result.cost.forward + result.cost.backward
    return {
        "passes, forecast to measured": plan.passes / passes,
        "MB forecast": plan.peak / _MB,
        "MB measured": peak,
        "MB with what malloc keeps": plain,
        "memory, forecast to measured": plan.peak / _MB / peak,
        "s forecast": plan.seconds or 0.0,
        "time, forecast to measured": (plan.seconds or 0.0) / seconds,
    }


def _answered(service: Service, request: CompleteRequest) -> Any:
    """The result of a job for ``request``, which is stored as those of users are."""
    job = service.submit(request)
    service.engine.wait(job)
    assert job.result is not None, job.progress.error
    return job.result


@contextmanager
def _returning() -> Iterator[None]:
    """What is freed inside goes back to the system at once, so that a process shows what its tensors take."""
    option = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
    if option is None:
        yield
        return
    option(_MMAP_THRESHOLD, _SMALL)
    try:
        yield
    finally:
        option(_MMAP_THRESHOLD, _USUAL)
