"""A network of another library behind the protocol: its capabilities are checked, and the missing ones refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from explainlab import explain
from explainlab.attribution.registry import get_method, methods
from explainlab.errors import UnsupportedError
from explainlab.metrics.registry import get_metric, metrics
from explainlab.models.classifier import Classifier
from explainlab.models.replay import Replay
from explainlab.testing import check_method, check_metric, check_model
from explainlab.testing.observation import watched
from tests.conftest import Zoo
from tests.tiers import first
from tests.toys import recurrent

QUICK = {
    "gradient": {},
    "input_x_gradient": {},
    "integrated_gradients": {"steps": 5},
    "occlusion": {},
    "lime": {"samples": 40},
}
REASONS = {
    "lrp": "there are no relevance rules for its layers",
    "attention_last": "it has no attention",
    "attention_average": "it has no attention",
    "attention_rollout": "it has no attention",
    "gae": "it has no attention",
    "globenc": "it has no attention",
    "alti": "it has no attention",
    "decompx": "it has no attention",
    "rpi": "it has no attention",
    "rpi_g": "it has no attention",
    "sp_pi": "it is not a causal decoder",
    "mp_pi": "it is not a causal decoder",
    "llm_ranking": "it does not classify by a prompt, so it cannot be asked in words",
}


@pytest.fixture(scope="module")
def lstm(zoo: Zoo) -> Classifier:
    return recurrent(zoo("bert").tokenizer)


def test_it_keeps_the_contract_of_models(lstm: Classifier) -> None:
    check_model(lstm)


@pytest.mark.parametrize("method", first(["input_x_gradient", "occlusion"], QUICK, "up to 2 s: many passes"))
def test_methods_run_on_it(lstm: Classifier, method: str) -> None:
    check_method(get_method(method), lstm, **QUICK[method])


@pytest.mark.parametrize(
    "metric",
    first(["comprehensiveness", "infidelity"], metrics(), "no metric knows the kind of a network: two stand for all"),
)
def test_metrics_evaluate_it(lstm: Classifier, metric: str) -> None:
    check_metric(get_metric(metric), lstm)


def test_the_methods_that_it_cannot_support_are_known(lstm: Classifier) -> None:
    refused = [name for name, method in methods().items() if method.unsupported(lstm.architecture)]
    assert sorted(refused) == sorted(REASONS)


@pytest.mark.parametrize("method", REASONS)
def test_a_method_that_it_cannot_support_refuses_with_the_reason_once(lstm: Classifier, method: str) -> None:
    with pytest.raises(UnsupportedError) as refusal:
        explain(lstm, "a funny film", method)
    assert refusal.value.problem.endswith(f"cannot run on a recurrent model: {REASONS[method]}.")


def test_a_replay_is_refused(lstm: Classifier) -> None:
    with pytest.raises(UnsupportedError, match="it has no attention"):
        Replay(lstm, lstm.encode("a funny film"))


def test_integrated_gradients_add_up(lstm: Classifier) -> None:
    result = explain(lstm, "a funny film", "integrated_gradients", steps=200)
    assert result.completeness is not None
    assert abs(result.completeness.sum - result.completeness.expected) < 1e-3


def test_its_passes_are_counted(lstm: Classifier) -> None:
    with watched(lstm) as passes:
        inputs = lstm.inputs([lstm.encode("a funny film"), lstm.encode("film")])
        point = lstm.embed(inputs.ids).requires_grad_()
        torch.autograd.grad(lstm.logits(inputs, point).sum(), point)
    assert (passes.calls, passes.forward, passes.backward, passes.widest) == (1, 2, 2, 2)


def test_a_token_behind_the_end_changes_nothing(lstm: Classifier) -> None:
    inputs = lstm.inputs([lstm.encode("a funny film"), lstm.encode("film")])
    other = lstm.embed(inputs.ids)
    other[1, -1] = 7
    expected, found = lstm.logits(inputs), lstm.logits(inputs, other)
    np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())
