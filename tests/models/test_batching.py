"""Batches: the time of other threads is no cost, and every halving of a run is reported."""

from __future__ import annotations

import threading
import time

import pytest

from explainlab import explain, study
from explainlab.attribution.explain import attribute_many
from explainlab.attribution.registry import complete, get_method
from explainlab.models import batching
from explainlab.models.batching import HALVED, batch_size
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import Request
from tests.attribution.test_baselines import room_for
from tests.conftest import Zoo

TEXT = "A funny film. It isn't good!"
NAP = 0.05


@pytest.mark.parametrize("question", ["occlusion", "discretized_integrated_gradients", "path_gradients"])
def test_the_work_of_others_between_batches_is_no_cost(encoder: Classifier, question: str) -> None:
    naps: list[int] = []

    def nap() -> None:
        """Let others' urgent work take a while before every batch."""
        naps.append(1)
        time.sleep(NAP)

    context, start = RunContext(check_cancelled=nap), time.perf_counter()
    if question == "path_gradients":
        cost = study(encoder, question, text=TEXT, context=context).cost
    else:
        cost = explain(encoder, TEXT, question, context=context).cost
    took = time.perf_counter() - start
    assert naps
    assert 0 < cost.seconds <= took - len(naps) * NAP


def test_the_wait_for_a_model_is_no_cost(encoder: Classifier) -> None:
    held, free, ended = threading.Event(), threading.Event(), []

    def hold() -> None:
        with encoder.lock:
            held.set()
            free.wait(60)
            ended.append(time.perf_counter())

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(60)
    start = time.perf_counter()
    threading.Timer(0.5, free.set).start()
    cost = explain(encoder, TEXT, "gradient").cost
    took = time.perf_counter() - start
    other.join()
    assert cost.seconds < took - 0.9 * (ended[0] - start)


def test_a_halving_while_the_label_shares_are_read_is_told(speaker: Zoo) -> None:
    classifier = speaker("gpt2")
    encodings = [classifier.encode(text) for text in (TEXT, "A funny film.")]
    requests = [
        complete(Request(model=classifier.id, text=encoding.text, question="occlusion")) for encoding in encodings
    ]
    with room_for(classifier, 1):
        attributions = attribute_many(classifier, encodings, get_method("occlusion"), requests)
    assert all(HALVED in attribution.warnings for attribution in attributions)
    assert not any(HALVED in warning for warning in explain(classifier, TEXT, "occlusion").warnings)


@pytest.mark.parametrize(("gradients", "size"), [(True, 2), (False, 7)])
def test_a_batch_of_a_large_model_is_bounded_by_its_seconds(
    gradients: bool, size: int, encoder: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    length = 10
    usual = batch_size(encoder, length, 60, gradients)
    assert usual == 60
    monkeypatch.setattr(batching, "MOST_WORK", 2.5 * length * encoder.model.work_per_token(length))
    assert batch_size(encoder, length, 60, gradients) == size
    assert batch_size(encoder, 10 * length, 60, gradients) == 1, "one text is read whole"
