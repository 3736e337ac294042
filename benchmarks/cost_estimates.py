"""Cost estimates beside the true costs: passes, and seconds after earlier runs about other texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from benchmarks.runner import Row, examples, model_name, timed
from explainlab.analyses.registry import new_request
from explainlab.attribution.registry import get_method
from explainlab.data import read_dataset
from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from explainlab.reader import ANYBODY
from explainlab.request import CompleteRequest
from explainlab.service.cost_estimates import CostEstimate, estimate_cost, total, with_seconds
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.throughput import Paces
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
"""Number of earlier runs, and of other planned ones: adaptive methods need several times more for some texts."""
EARLIER, EARLIER_ROWS, ROWS = 4, 10, 50


def rows() -> Iterator[Row]:
    """Yield a row for each model and method, and for an evaluation of a data set."""
    shared = ROOT.parent / "shared" / "models" / "minilm-sst2"
    models = ["embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"]
    for model in [str(shared), *models] if shared.is_dir() else models:
        classifier = load_model(model)
        for name in METHODS:
            if not get_method(name).unsupported(classifier.architecture):
                yield _measured(classifier, name, *_of_texts(classifier, name))
        yield _measured(classifier, f"evaluation of {ROWS} texts", *_of_rows(classifier))


def _of_texts(classifier: Classifier, method: str) -> tuple[list[CompleteRequest], list[CompleteRequest]]:
    """Return the same question to some texts, two rows of the examples each, and to others."""
    rows = read_dataset(examples(classifier), limit=4 * TEXTS).rows
    texts = [f"{first.text} {second.text}" for first, second in zip(rows[::2], rows[1::2], strict=True)]
    asked = [_asked(classifier, method, text=text) for text in texts]
    return asked[:TEXTS], asked[TEXTS:]


def _of_rows(classifier: Classifier) -> tuple[list[CompleteRequest], list[CompleteRequest]]:
    """Return evaluations of a few texts of the examples, and one of many."""
    parameters = {"methods": ["gradient", "occlusion"], "metrics": ["comprehensiveness", "sufficiency"]}
    make = partial(_asked, classifier, "evaluation", data=examples(classifier))
    drawn = {**parameters, "sample": "random", "rows": EARLIER_ROWS}
    earlier = [make(parameters=drawn, seed=seed) for seed in range(EARLIER)]
    return earlier, [make(parameters={**parameters, "rows": ROWS})]


def _asked(classifier: Classifier, question: str, **fields: Any) -> CompleteRequest:
    return resolve(new_request(question=question, model=classifier.id, **fields), unrestricted=True).request


def _measured(
    classifier: Classifier, name: str, earlier: Sequence[CompleteRequest], later: Sequence[CompleteRequest]
) -> Row:
    """Run the ``earlier`` requests, estimate the ``later`` ones, and run these."""
    before = Service(Store("sqlite://"))
    service, (worker, *_) = Service(Store("sqlite://"), workers=before.workers), before.workers
    for request in earlier:
        _answered(before, request)
    estimates = [_estimate(request, before.paces) for request in later]
    results, seconds = timed(lambda: [_answered(service, request) for request in later])
    worker.close()
    return Row(
        name="cost_estimates",
        work=f"{model_name(classifier)}, {name}",
        device=classifier.device.type,
        seconds=seconds,
        facts=_facts(estimates, results, seconds),
    )


def _estimate(request: CompleteRequest, paces: Paces) -> CostEstimate:
    """Return the estimate of ``request``, with its seconds."""
    estimate = estimate_cost(request, ANYBODY)
    assert estimate is not None, "the models are here"
    return with_seconds(estimate, request, paces)


def _facts(estimates: Sequence[CostEstimate], results: Sequence[Any], seconds: float) -> dict[str, float]:
    """Return the sums over all runs."""
    passes = sum(result.cost.forward for result in results)
    time = total(estimates).seconds or 0.0
    return {
        "passes, forecast to measured": sum(estimate.forward for estimate in estimates) / passes,
        "s forecast": time,
        "time, forecast to measured": time / seconds,
    }


def _answered(service: Service, request: CompleteRequest) -> Any:
    """Return the result of a job for ``request``, which is stored as those of users are."""
    job = service.submit(resolve(request))
    service.engine.wait(job)
    assert job.result is not None, job.progress.error
    return job.result
