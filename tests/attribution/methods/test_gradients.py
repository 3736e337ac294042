"""Gradient and input times gradient: against Captum, plain autograd, and a closed form."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from captum.attr import InputXGradient, Saliency

from explainlab import explain
from explainlab.attribution.methods.gradients import CANCELLED
from explainlab.errors import ModelError
from explainlab.models.classifier import Classifier
from tests.attribution.conftest import Toys, on_models
from tests.attribution.plain import Plain, close, gradient
from tests.conftest import Zoo
from tests.toys import Broken, Linear, perceptron

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:captum")
TEXT = "A funny film. It isn't good!"

OUTPUTS = ("probability", "logit")


@on_models(target=["predicted", 0, 1], output=OUTPUTS)
def test_agree_with_captum_and_autograd(model: Classifier, plain: Plain, target: str | int, output: str) -> None:
    point = plain.embed(plain.ids(TEXT))
    scalar = plain.scalar(output, plain.predicted(TEXT) if target == "predicted" else target)
    slopes = Saliency(scalar).attribute(point, abs=False)
    torch.testing.assert_close(slopes, gradient(scalar, point))
    products = InputXGradient(scalar).attribute(point)
    found = partial(explain, model, TEXT, target=target, output=output)
    close(found("gradient").scores, slopes.norm(dim=-1)[0])
    close(found("input_x_gradient").scores, products.sum(dim=-1)[0].detach())
    close(found("input_x_gradient", reduction="l2").scores, products.norm(dim=-1)[0].detach())
    close(found("input_x_gradient", reduction="abs").scores, products.sum(dim=-1)[0].detach().abs())
    one_hot = slopes[0].double() @ plain.model.get_input_embeddings().weight.double().T  # [N, V]
    close(found("gradient", norm="one_hot").scores, one_hot.norm(dim=-1))


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", ["llama", "qwen3"])
def test_the_signed_sum_agrees_with_autograd(zoo: Zoo, name: str, output: str) -> None:
    plain = Plain(zoo(name).id, zoo(name).tokenizer)
    found = explain(zoo(name), TEXT, "gradient", norm="signed_sum", target=1, output=output)
    close(found.scores, gradient(plain.scalar(output, 1), plain.embed(plain.ids(TEXT))).sum(dim=-1)[0])
    assert not found.warnings


def test_a_signed_sum_that_layer_normalisation_cancels_is_told(model: Classifier) -> None:
    found = explain(model, TEXT, "gradient", norm="signed_sum")
    assert np.abs(found.scores).max() < 1e-4 * explain(model, TEXT, "gradient").scores.max()
    assert found.warnings == (CANCELLED,)
    assert not explain(model, TEXT, "gradient").warnings


@pytest.mark.parametrize("method", ["gradient", "input_x_gradient"])
def test_cost_is_one_pass_each_way(model: Classifier, method: str) -> None:
    for target in ("predicted", 1):
        cost = explain(model, TEXT, method, target=target).cost
        assert (cost.forward, cost.backward) == (1, 1)


@pytest.mark.parametrize(
    ("method", "options", "signed"),
    [
        ("gradient", {}, False),
        ("gradient", {"norm": "signed_sum"}, True),
        ("gradient", {"norm": "one_hot"}, False),
        ("input_x_gradient", {}, True),
        ("input_x_gradient", {"reduction": "l2"}, False),
        ("input_x_gradient", {"reduction": "abs"}, False),
    ],
)
def test_a_norm_has_no_sign(encoder: Classifier, method: str, options: dict[str, str], signed: bool) -> None:
    result = explain(encoder, TEXT, method, **options)
    assert result.signed == signed
    assert (result.scores.min() < 0) == signed
    assert result.completeness is None


def test_the_gradient_of_a_linear_model_is_its_weights(toys: Toys) -> None:
    classifier = toys(Linear)
    for index, label in enumerate(classifier.labels):
        found = explain(classifier, TEXT, "gradient", norm="signed_sum", output="logit", target=label)
        close(found.scores, classifier.model.network.head.weight[: len(found.scores), :, index].sum(dim=-1), 1e-6)


@pytest.mark.parametrize("widths", [(8,), (16, 5)])
def test_input_times_gradient_adds_up_without_biases(toys: Toys, widths: tuple[int, ...]) -> None:
    """A homogeneous function of degree one is its gradient times its argument (Euler)."""
    for bias in (False, True):
        classifier = toys(lambda: perceptron(*widths, bias=bias))  # noqa: B023
        logits = classifier.logits(classifier.inputs([classifier.encode(TEXT)]))[0]
        for target, logit in enumerate(logits.tolist()):
            found = explain(classifier, TEXT, "input_x_gradient", output="logit", target=target)
            assert (found.scores.sum() == pytest.approx(logit, rel=1e-5, abs=1e-5)) == (not bias)
            assert np.abs(found.scores).max() > 0


def test_the_gradient_of_a_probability_is_that_of_the_logits_weighed(toys: Toys) -> None:
    """dp/dx = p (1 - p) d(z - z')/dx for two classes."""
    classifier = toys(Linear)
    found = explain(classifier, TEXT, "gradient", norm="signed_sum", target="first")
    p = found.prediction.probabilities["first"]
    weight = classifier.model.network.head.weight[: len(found.scores)]
    assert p * (1 - p) > 1e-3
    close(found.scores, p * (1 - p) * (weight[..., 0] - weight[..., 1]).sum(dim=-1), 1e-5)


def test_infinite_gradients_are_told(toys: Toys) -> None:
    with pytest.raises(ModelError, match=r"Gradient on toy .* not finite"):
        explain(toys(Broken), TEXT, "gradient")
