"""A step in parts: the gradient of the whole batch, whatever the parts; others have their turn between two."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from explainlab.errors import Cancelled
from explainlab.models import batching
from explainlab.training import settings_for, starting_point
from explainlab.training.fit import OwnRandom, Training
from explainlab.training.passes import Timed, predictions, tokenized
from explainlab.training.start import Start
from tests.training.test_train import NAMES, sentences

TEXTS = 12
SIZES = {"layers": 1, "width": 32, "heads": 2, "vocabulary": 300}
PLAIN = {"recipe": "roar", "epochs": 1, "batch_size": TEXTS, "warmup": 0.0, "weight_decay": 0.0, "prefix_weight": 0.5}
OWN = {"bilstm_attention": {"width": 32}}
ARCHITECTURES = ["bert", "gpt2", "t5_encoder", "bilstm_attention"]


@pytest.fixture
def _in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound the work of a part so that one holds three of the texts at most."""
    longest = 14
    monkeypatch.setattr(batching, "MOST_WORK", 3.5 * longest * 12 * 32 * (6 * 32 + longest))


def begin(architecture: str) -> Start:
    """Return a network without dropout; its weights are the same each time."""
    dropout = {} if architecture == "bilstm_attention" else {"dropout": 0.0}
    settings = settings_for(architecture, **PLAIN, **OWN.get(architecture, SIZES), **dropout)
    torch.manual_seed(0)
    return starting_point(architecture, sentences(TEXTS), NAMES, settings)


def trained(architecture: str, start: Start, reports: list[int]) -> dict[str, Tensor]:
    """Return the gradients of the only step of a training, from the optimizer's first moments."""
    examples = sentences(TEXTS)
    settings = settings_for(architecture, **PLAIN)
    training = Training(
        start,
        tokenized(start, examples),
        examples.classes(NAMES),
        None,
        settings,
        OwnRandom(0, torch.device("cpu")),
    )
    training.run(None, Timed(lambda done, total, phase: reports.append(done)))
    moments = {name: value for name, value in training._state().items() if name.startswith("optimizer/exp_avg/")}
    return {name.removeprefix("optimizer/exp_avg/"): value / 0.1 for name, value in moments.items()}


def slowly(start: Start) -> dict[str, Tensor]:
    """Return the gradients of the mean loss, text by text without padding, clipped to a norm of 1."""
    examples, network = sentences(TEXTS), copy.deepcopy(start.network)
    network.train()
    tokens = tokenized(start, examples)
    for ids, target in zip(tokens.ids, examples.classes(NAMES).tolist(), strict=True):
        inputs, gold = torch.tensor([ids]), torch.tensor([target])
        if start.causal:
            logits = network.score(network.base_model(input_ids=inputs).last_hidden_state)[0]
            each = [functional.cross_entropy(logits[i : i + 1], gold) for i in range(len(ids))]
            loss = 0.5 * sum(each) / len(ids) + 0.5 * each[-1]
        else:
            loss = functional.cross_entropy(network(input_ids=inputs).logits, gold)
        (loss / TEXTS).backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    return {name: weights.grad for name, weights in network.named_parameters() if weights.grad is not None}


@pytest.mark.usefixtures("_in_parts")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_gradient_of_a_step_in_parts_is_that_of_the_whole_batch(architecture: str) -> None:
    start, reports = begin(architecture), list[int]()
    expected = slowly(start)
    found = trained(architecture, start, reports)
    assert len(reports) > 2
    assert reports == [*[0] * (len(reports) - 1), 1], "a report between two parts, and one after the step"
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, rtol=1e-3, atol=1e-5), name


@pytest.mark.usefixtures("_in_parts")
def test_a_training_is_cancelled_between_two_parts_of_a_step() -> None:
    start, seen = begin("bert"), list[int]()
    weights = copy.deepcopy(start.network.state_dict())

    class Stopping(list[int]):
        def append(self, done: int) -> None:
            seen.append(done)
            raise Cancelled

    with pytest.raises(Cancelled):
        trained("bert", start, Stopping())
    assert seen == [0]
    assert all(torch.equal(weights[name], now) for name, now in start.network.state_dict().items())


def test_predictions_in_parts_are_those_of_whole_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    start, counts = begin("bert"), list[int]()
    start.network.eval()
    tokens = tokenized(start, sentences(TEXTS))

    def read() -> Tensor:
        counts.clear()
        report = Timed(lambda done, total, phase: counts.append(done))
        return predictions(start.model, start.causal, tokens, TEXTS, "validation", report)[1.0]

    whole = read()
    assert counts == [TEXTS]
    monkeypatch.setattr(batching, "MOST_BYTES", 1)
    assert torch.equal(read(), whole)
    assert counts == list(range(1, TEXTS + 1)), "a text at a time"
