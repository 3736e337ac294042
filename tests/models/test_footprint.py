"""The memory of a batch by shapes: what torch's own profiler sees in the pass itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from explainlab.models.classifier import Classifier
from explainlab.models.footprint import batch_bytes
from explainlab.models.inputs import Unpadded
from explainlab.models.loading import load_model, outline
from tests.tiers import full

ENCODER, DECODER = "embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"
LENGTH, ROWS = 30, 6


def outlined(model: str) -> Classifier:
    found = outline(model)
    assert found is not None
    return found


def measured(run: Callable[[], object]) -> int:
    """The most bytes that torch has allocated at once while ``run`` runs the second time."""
    run()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        kept = run()
    del kept
    found = seen.profiler.kineto_results.events()
    steps = sorted((event.start_ns(), event.nbytes()) for event in found if event.name() == "[memory]")
    return int(np.cumsum([size for _, size in steps]).max())


def text() -> Unpadded:
    ids = np.arange(1000, 1000 + LENGTH)
    return Unpadded(ids, np.zeros_like(ids))


@pytest.mark.parametrize(
    ("model", "gradients"),
    [
        (ENCODER, True),
        (DECODER, False),
        full(ENCODER, False, reason="profiles another pass"),
        full(DECODER, True, reason="profiles another pass"),
    ],
)
def test_a_pass_takes_what_its_shapes_say(model: str, gradients: bool) -> None:
    classifier = load_model(model)
    inputs = classifier.inputs([text()]).repeat(ROWS)

    def run() -> None:
        with torch.set_grad_enabled(gradients):
            embeddings = classifier.embed(inputs.ids).requires_grad_(gradients)
            logits = classifier.logits(inputs, embeddings)
            if gradients:
                torch.autograd.grad(logits.sum(), embeddings)

    assert batch_bytes(outlined(model), LENGTH, ROWS, gradients) == pytest.approx(measured(run), rel=0.1)


def test_memory_grows_with_the_batch_and_with_the_number_format() -> None:
    whole = outlined(ENCODER)
    one, two = (batch_bytes(whole, LENGTH, rows, gradients=True) for rows in (ROWS, 2 * ROWS))
    assert two == pytest.approx(2 * one, rel=0.05)
    half = outline(ENCODER, "bfloat16")
    assert half is not None
    assert batch_bytes(half, LENGTH, ROWS, gradients=True) == pytest.approx(one / 2, rel=0.1)


def test_an_outline_reads_texts_as_the_model_does_and_has_no_weights() -> None:
    for model in (ENCODER, DECODER):
        whole, loaded = outlined(model), load_model(model)
        assert whole.encode("A film.").ids.tolist() == loaded.encode("A film.").ids.tolist()
        assert (whole.bytes, whole.labels, whole.model.depth) == (loaded.bytes, loaded.labels, loaded.model.depth)
        assert all(own.is_meta for own in whole.model.network.parameters())
    assert outline("nobody/no-such-model") is None
