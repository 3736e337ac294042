"""DeepLift: against Captum on plain transformers, and against the rescale rule written out."""

from __future__ import annotations

import pytest
import torch
from captum.attr import DeepLift
from torch import Tensor, nn

from explainlab import explain
from explainlab.models.classifier import Classifier
from explainlab.testing import traces
from tests.attribution.conftest import Toys, on_models
from tests.attribution.plain import Plain, Scalar, close, gradient
from tests.conftest import Zoo
from tests.toys import perceptron

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:captum")
TEXT = "A funny film. It isn't good!"


class Wrapped(nn.Module):
    """The explained scalar as a module, with the model inside for Captum to find its activations."""

    def __init__(self, plain: Plain, scalar: Scalar) -> None:
        super().__init__()
        self.model = plain.model
        self.scalar = scalar

    def forward(self, embeddings: Tensor) -> Tensor:
        return self.scalar(embeddings)


def captum(plain: Plain, text: str, output: str, target: int, baseline: str = "mask") -> Tensor:
    """Scores [N] without any of our code."""
    explainer = DeepLift(Wrapped(plain, plain.scalar(output, target)))
    point = plain.embed(plain.ids(text))
    return explainer.attribute(point, plain.baseline(text, baseline)).sum(dim=-1)[0].detach()


@on_models(baseline=["mask", "zero"], target=[0, 1], output=["probability", "logit"])
def test_agrees_with_captum(model: Classifier, plain: Plain, baseline: str, target: int, output: str) -> None:
    found = explain(model, TEXT, "deep_lift", target=target, output=output, baseline=baseline)
    close(found.scores, captum(plain, TEXT, output, target, baseline))
    scalar = plain.scalar(output, target)
    change = float(scalar(plain.embed(plain.ids(TEXT))) - scalar(plain.baseline(TEXT, baseline)))
    assert found.completeness.expected == pytest.approx(change, rel=1e-3, abs=1e-6)
    assert (found.cost.forward, found.cost.backward) == (4, 2)


@pytest.mark.parametrize("name", ["distilbert", "albert", "electra", "llama"])
def test_agrees_with_captum_on_other_heads(zoo: Zoo, name: str) -> None:
    """DistilBERT's head has a ReLU, ALBERT's a tanh."""
    plain = Plain(zoo(name).id, zoo(name).tokenizer)
    found = explain(zoo(name), TEXT, "deep_lift", target=2, output="logit")
    close(found.scores, captum(plain, TEXT, "logit", 2))


def test_the_poolers_tanh_is_rescaled(encoder: Classifier) -> None:
    """The one activation of BERT that Captum knows: its slope is the secant, all else has its plain gradient."""
    plain = Plain(encoder.id, encoder.tokenizer)
    start, end = plain.baseline(TEXT), plain.embed(plain.ids(TEXT))
    bert, weight = plain.model.bert, plain.model.classifier.weight[1]

    def before_tanh(embeddings: Tensor) -> Tensor:
        return bert.pooler.dense(bert(inputs_embeds=embeddings).last_hidden_state[:, 0])

    low, high = before_tanh(start), before_tanh(end)
    secant = (high.tanh() - low.tanh()) / (high - low)
    slopes = gradient(lambda point: (before_tanh(point) * secant * weight).sum(dim=-1), end)
    found = explain(encoder, TEXT, "deep_lift", target=1, output="logit").scores
    close(found, ((end - start) * slopes).sum(dim=-1)[0])
    by_gradient = ((end - start) * gradient(plain.scalar("logit", 1), end)).sum(dim=-1)[0]
    assert (torch.tensor(found) - by_gradient).abs().max() > 0.01 * by_gradient.abs().max()


@pytest.mark.parametrize("widths", [(8,), (16, 5)])
@pytest.mark.parametrize("baseline", ["mask", "zero"])
def test_the_scores_of_a_relu_network_add_up(toys: Toys, widths: tuple[int, ...], baseline: str) -> None:
    classifier = toys(lambda: perceptron(*widths, bias=True))
    found = explain(classifier, TEXT, "deep_lift", baseline=baseline, output="logit")
    assert found.completeness.approximation_error < 1e-5
    head, target = classifier.model.network.head, found.target.index
    ids = torch.tensor(classifier.tokenizer(TEXT)["input_ids"])
    end = classifier.model.network.embeddings.weight[ids]
    filler = classifier.model.network.embeddings.weight[classifier.filler_id("mask")].expand(len(ids), -1)
    start = filler if baseline == "mask" else torch.zeros_like(end)
    assert found.completeness.expected == pytest.approx(
        float((head(end[None]) - head(start[None]))[0, target]), rel=1e-5
    )


def test_one_hidden_layer_by_hand(toys: Toys) -> None:
    """Every hidden unit passes its output's change on, in shares of its input's change."""
    classifier = toys(lambda: perceptron(8, bias=True))
    first, relu, last = classifier.model.network.head
    ids = torch.tensor(classifier.tokenizer(TEXT)["input_ids"])
    table = classifier.model.network.embeddings.weight
    end, start = table[ids], table[[classifier.filler_id("mask")] * len(ids)]
    low, high = first(start[None])[0], first(end[None])[0]
    secant = (relu(high) - relu(low)) / (high - low)
    shares = torch.einsum("nd,ndh->nh", end - start, first.weight[: len(ids)])
    found = explain(classifier, TEXT, "deep_lift", target="second", output="logit")
    close(found.scores, shares @ (secant * last.weight[1]), 1e-5)


@pytest.mark.parametrize("widths", [(8,), (16, 5)])
def test_without_biases_from_zero_it_is_input_times_gradient(toys: Toys, widths: tuple[int, ...]) -> None:
    classifier = toys(lambda: perceptron(*widths, bias=False))
    options = {"output": "logit", "target": "first"}
    found = explain(classifier, TEXT, "deep_lift", baseline="zero", **options)
    close(found.scores, explain(classifier, TEXT, "input_x_gradient", **options).scores, 1e-5)


def test_an_error_leaves_no_hook_behind(encoder: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_, **__) -> Tensor:
        raise ZeroDivisionError

    before = traces(encoder)
    monkeypatch.setattr("explainlab.attribution.methods.deep_lift._Scalar.forward", fail)
    with pytest.raises(ZeroDivisionError):
        explain(encoder, TEXT, "deep_lift")
    assert traces(encoder) == before
