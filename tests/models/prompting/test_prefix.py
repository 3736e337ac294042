"""Common beginnings of texts, read once: the same numbers as whole passes, of ids and of embeddings, with less work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from explainlab.attribution.subject import Subject
from explainlab.metrics import distinct
from explainlab.metrics.evaluate import Case, evaluate
from explainlab.metrics.registry import parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.inputs import LEAST_PREFIX
from explainlab.models.loading import load_model
from explainlab.models.prompting import save_template
from tests.attribution.plain import close
from tests.conftest import ASKED, SPEAKERS

TEXT = "A funny film."
LONG = ASKED.model_copy(update={"name": "long", "instruction": "good or bad"})


@pytest.fixture(params=SPEAKERS)
def speaking(request: pytest.FixtureRequest, speaker_path: Callable[[str], Path]) -> Classifier:
    """A tiny language model behind a long prompt."""
    save_template(LONG)
    return load_model(f"completion:{LONG.name}:{speaker_path(request.param)}", device="cpu")


@pytest.fixture
def ran(speaking: Classifier):
    """Return the number of tokens of every pass."""
    lengths: list[int] = []
    hook = speaking.model.network.base_model.register_forward_hook(
        lambda _, __, output: lengths.append(output.last_hidden_state.shape[1])
    )
    yield lengths
    hook.remove()


def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """No prefix is long enough from here on."""
    monkeypatch.setattr("explainlab.attribution.batch.LEAST_PREFIX", 10**9)
    monkeypatch.setattr(distinct, "LEAST_PREFIX", 10**9)


def test_logits_after_a_prefix_are_those_of_whole_passes(speaking: Classifier) -> None:
    encodings = [speaking.encode(text) for text in (TEXT, "A film.", "Good.")]
    inputs = speaking.inputs(encodings)
    assert inputs.padded
    length = int(encodings[0].content.argmax())
    read = speaking.prefix(inputs.ids[0, :length])
    assert read.length == length > LEAST_PREFIX
    expected = speaking.logits(inputs)
    close(speaking.logits(inputs, prefix=read).numpy(), expected.numpy(), 1e-5)
    embeddings = speaking.embed(inputs.ids).requires_grad_()
    close(speaking.logits(inputs, embeddings, read).detach().numpy(), expected.numpy(), 1e-5)
    close(speaking.logits(inputs, prefix=read).numpy(), expected.numpy(), 1e-5)  # the cache has not grown


def test_texts_share_the_memory_of_what_they_begin_with(speaking: Classifier) -> None:
    read = speaking.prefix(speaking.inputs([speaking.encode(TEXT)]).ids[0, :20])
    for (keys, values), layer in zip(read.layers, read.cache(50).layers, strict=True):
        assert layer.keys.shape[0] == layer.values.shape[0] == 50
        assert (layer.keys.data_ptr(), layer.values.data_ptr()) == (keys.data_ptr(), values.data_ptr())


def test_masked_texts_share_the_prompt(speaking: Classifier, ran: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def values() -> np.ndarray:
        subject = Subject(speaking, speaking.encode(TEXT))
        keep = np.random.default_rng(0).random((9, len(subject.units.content))) < 0.5
        return subject.masked(keep, "mask")

    found, after_prompt = values(), ran[1:]
    whole(monkeypatch)
    ran.clear()
    close(found, values(), 1e-5)
    assert max(after_prompt) <= min(ran) - LEAST_PREFIX


@pytest.mark.parametrize("metric", ["comprehensiveness", "aopc_sufficiency:removal=delete"])
def test_metrics_share_the_prompt(speaking: Classifier, monkeypatch: pytest.MonkeyPatch, metric: str) -> None:
    def values() -> list[float]:
        subject = Subject(speaking, speaking.encode(TEXT))
        scores = np.random.default_rng(0).random((6, len(subject.units.features)))
        case = Case(subject.encoding, subject.units, subject.original, subject.target.index, scores)
        (judged,) = evaluate([case], [parse_metric(metric)], Batcher(speaking, RunContext()))
        return [one.value for (one,) in judged]

    used: list[int] = []
    read = Classifier.prefix
    monkeypatch.setattr(Classifier, "prefix", lambda self, ids: used.append(len(ids)) or read(self, ids))
    found = values()
    assert used
    assert min(used) >= LEAST_PREFIX
    whole(monkeypatch)
    close(np.array(found), np.array(values()), 1e-5)
