"""Requests that differ in their target alone: one batch where a text takes one pass."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab import load_model
from explainlab.analyses.registry import answer_targets, targets_together
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.testing.observation import Recorder

MODEL = "embedded:bert-mini-sst2"
SOON = 60


def toward_both(question: str) -> list[Request]:
    shared = {"model": MODEL, "text": "a stirring, funny film", "question": question, "output": "logit"}
    return [Request(**shared, target=label) for label in ("negative", "positive")]


@pytest.mark.parametrize("question", ["input_x_gradient", "gradient", "lrp"])
def test_both_targets_come_from_one_batch(question: str) -> None:
    requests, recorder = toward_both(question), Recorder()
    assert all(map(targets_together, requests))
    results = answer_targets(load_model(MODEL, device="cpu"), requests, recorder.context)
    assert [(done, total) for done, total, _ in recorder.seen] == [(2, 2)]
    alone = Service(Store("sqlite://"), "cpu")
    for request, result in zip(requests, results, strict=True):
        assert result.target.label == request.target
        np.testing.assert_allclose(result.scores, alone.run(resolve(request)).scores, rtol=1e-4, atol=1e-6)


def test_jobs_that_wait_together_are_answered_by_the_first() -> None:
    service = Service(Store("sqlite://"), "cpu")
    with service.engine.together():
        jobs = [service.submit(resolve(request)) for request in toward_both("input_x_gradient")]
    assert all(service.engine.wait(job, SOON) for job in jobs)
    first, second = (job.result for job in jobs)
    assert first.cost == second.cost, "they share the seconds of their batch"
    assert not np.allclose(first.scores, second.scores)
    assert [service.find(resolve(job.request)).target.label for job in jobs] == ["negative", "positive"]


@pytest.mark.parametrize("question", ["integrated_gradients", "kernel_shap", "rpi", "occlusion"])
def test_methods_of_many_passes_run_one_target_at_a_time(question: str) -> None:
    assert not targets_together(toward_both(question)[0])
