"""GlobEnc, ALTI and DecompX against a slow loop over single vectors, written from the formulas, and closed forms."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from explainlab import explain
from explainlab.attribution import decomposition
from explainlab.attribution.methods import decompx
from explainlab.attribution.registry import get_method
from explainlab.attribution.subject import Subject
from explainlab.errors import MemoryShortage, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.testing.exact import exact
from explainlab.testing.methods import MethodRun
from tests.conftest import Zoo
from tests.tiers import first
from tests.toys import with_network

TEXT = "a funny film, isn't it?"
FAMILIES = {
    "bert": "bert",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
    "camembert": "roberta",
    "electra": "electra",
    "distilbert": "distilbert",
}
Array = np.ndarray


def of(zoo: Zoo, family: str) -> Classifier:
    """A tiny model of the ``family``: those that are RoBERTa by another name get its weights."""
    classifier = zoo(FAMILIES[family])
    if family == FAMILIES[family]:
        return classifier
    own = classifier.model.network
    options = {
        name: value for name, value in own.config.to_dict().items() if name not in ("model_type", "architectures")
    }
    network = AutoModelForSequenceClassification.from_config(AutoConfig.for_model(family, **options)).eval()
    network.load_state_dict(own.state_dict())
    return with_network(classifier, network.requires_grad_(False))


@pytest.fixture(params=first(("bert", "distilbert"), FAMILIES, "the others have the blocks of BERT under other names"))
def classifier(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    return of(zoo, request.param)


def scores(classifier: Classifier, method: str, padding: int = 0, **options: object) -> Array:
    return MethodRun(get_method(method), classifier, dict(options)).on(classifier, TEXT, padding=padding).scores


# The slow loop -------------------------------------------------------------------------------------------------------


@dataclass
class Layer:
    """Return the weights and biases of a block by name, its input, attention and true states."""

    w: dict[str, tuple[Array, Array]]
    x: Array
    a: Array
    eps: float
    act: Callable[[Array], Array]

    def __post_init__(self) -> None:
        self.heads = len(self.a)
        value = self.x @ self.w["v"][0].T + self.w["v"][1]
        read = np.concatenate([a @ v for a, v in zip(self.a, np.split(value, self.heads, axis=1), strict=True)], axis=1)
        self.s1 = read @ self.w["o"][0].T + self.w["o"][1] + self.x
        self.y1 = np.array([norm(s, s, self.w["n1"][0], self.eps) + self.w["n1"][1] for s in self.s1])
        self.z = self.y1 @ self.w["in"][0].T + self.w["in"][1]
        self.s2 = self.act(self.z) @ self.w["out"][0].T + self.w["out"][1] + self.y1

    def sent(self, i: int, j: int, x: Array, bias: bool) -> Array:
        """Return the contribution of vector ``x`` at j to the sum at i through all heads."""
        value = self.w["v"][0] @ x + bias * self.w["v"][1]
        weights = np.split(self.w["o"][0], self.heads, axis=1)
        parts = zip(self.a, np.split(value, self.heads), weights, strict=True)
        return sum(a[i, j] * (weight @ v) for a, v, weight in parts)


def norm(vector: Array, whole: Array, gamma: Array, eps: float) -> Array:
    return gamma * (vector - vector.mean()) / np.sqrt(whole.var() + eps)


def share(vectors: list[Array], bias: Array) -> list[Array]:
    dots = [abs(vector @ bias) for vector in vectors]
    return [vector + dot / (sum(dots) + 1e-12) * bias for vector, dot in zip(vectors, dots, strict=True)]


BERT = {"v": "attention.self.value", "o": "attention.output.dense", "n1": "attention.output.LayerNorm",
        "in": "intermediate.dense", "out": "output.dense", "n2": "output.LayerNorm"}  # fmt: skip
DISTILBERT = {"v": "attention.v_lin", "o": "attention.out_lin", "n1": "sa_layer_norm",
              "in": "ffn.lin1", "out": "ffn.lin2", "n2": "output_layer_norm"}  # fmt: skip


def gelu(x: Array) -> Array:
    return nn.functional.gelu(torch.from_numpy(x)).numpy()


def layers_of(classifier: Classifier) -> list[Layer]:
    """By transformers' own hidden states and attention, in float64."""
    network = copy.deepcopy(classifier.model.network).double()
    network.set_attn_implementation("eager")
    with torch.no_grad():
        ids = torch.tensor([classifier.encode(TEXT).ids])
        found = network(input_ids=ids, output_attentions=True, output_hidden_states=True)
    lists = next(module for module in network.modules() if isinstance(module, nn.ModuleList))
    names = DISTILBERT if "distilbert" in type(network).__name__.lower() else BERT
    layers = []
    for block, state, attention in zip(lists, found.hidden_states, found.attentions, strict=False):
        parts = {short: block.get_submodule(name) for short, name in names.items()}
        w = {short: (part.weight.numpy(), part.bias.numpy()) for short, part in parts.items()}
        layers.append(Layer(w, state[0].numpy(), attention[0].numpy(), parts["n1"].eps, gelu))
    return layers


def rollout(classifier: Classifier, matrix: Callable[[Layer, int, int], float], normalise: bool) -> Array:
    row = np.eye(len(classifier.encode(TEXT)))[0]
    for layer in reversed(layers_of(classifier)):
        n = len(layer.x)
        c = np.array([[matrix(layer, i, j) for j in range(n)] for i in range(n)])
        row = row @ (c / c.sum(axis=1, keepdims=True) if normalise else c)
    return row


def first_norm(layer: Layer, i: int, j: int) -> Array:
    f = layer.sent(i, j, layer.x[j], True) + (i == j) * layer.x[i]
    return norm(f, layer.s1[i], layer.w["n1"][0], layer.eps)


def head_of(classifier: Classifier) -> tuple[tuple[Array, Array], tuple[Array, Array], Callable[[Array], Array]]:
    network = copy.deepcopy(classifier.model.network).double()
    kind = type(network).__name__
    if kind.startswith("Bert"):
        dense, last, act = network.bert.pooler.dense, network.classifier, np.tanh
    elif kind.startswith("DistilBert"):
        dense, last, act = network.pre_classifier, network.classifier, lambda x: np.maximum(x, 0)
    else:
        dense, last = network.classifier.dense, network.classifier.out_proj
        act = gelu if kind.startswith("Electra") else np.tanh
    return (dense.weight.numpy(), dense.bias.numpy()), (last.weight.numpy(), last.bias.numpy()), act


def decomposed(classifier: Classifier, biases: bool) -> Array:
    """[N, classes], by a loop over rows and tokens."""
    layers = layers_of(classifier)
    n, given = len(layers[0].x), (share if biases else lambda vectors, _: vectors)
    vectors = [[layers[0].x[i] if i == j else np.zeros_like(layers[0].x[i]) for j in range(n)] for i in range(n)]
    for number, layer in enumerate(layers):
        w, following = layer.w, []
        bias = w["o"][1] + (w["o"][0] @ w["v"][1] if number else 0)
        for i in range(n):
            mixed = [
                sum(layer.sent(i, k, vectors[k][j], number == 0 and k == j) for k in range(n)) + vectors[i][j]
                for j in range(n)
            ]
            mixed = given(mixed, bias)
            middle = given([norm(v, layer.s1[i], w["n1"][0], layer.eps) for v in mixed], w["n1"][1])
            wide = given([w["in"][0] @ v for v in middle], w["in"][1])
            fed = [w["out"][0] @ (v * layer.act(layer.z[i]) / (layer.z[i] + 1e-12)) for v in wide]
            total = [f + m for f, m in zip(given(fed, w["out"][1]), middle, strict=True)]
            following.append(given([norm(v, layer.s2[i], w["n2"][0], layer.eps) for v in total], w["n2"][1]))
        vectors = following
    dense, last, act = head_of(classifier)
    s2, w = layers[-1].s2[0], layers[-1].w
    z = dense[0] @ (norm(s2, s2, w["n2"][0], layers[-1].eps) + w["n2"][1]) + dense[1]
    pooled = [v * act(z) / (z + 1e-12) for v in given([dense[0] @ v for v in vectors[0]], dense[1])]
    return np.array(given([last[0] @ v for v in pooled], last[1]))


@pytest.mark.parametrize("norms", [True, False])
def test_globenc_equals_a_loop(classifier: Classifier, norms: bool) -> None:
    def size(layer: Layer, i: int, j: int) -> float:
        vector = first_norm(layer, i, j)
        if norms:
            vector = norm(vector, layer.s2[i], layer.w["n2"][0], layer.eps)
        return float(np.sqrt((vector**2).sum()))

    expected = rollout(classifier, size, False)
    with exact(classifier) as twin:
        for padding in (0, 3):
            found = scores(twin, "globenc", padding, include_ffn_norm=norms)
            np.testing.assert_allclose(found[: len(expected)], expected, rtol=1e-7)
            assert not found[len(expected) :].any()


@pytest.mark.parametrize("distance", ["l1", "l2"])
def test_alti_equals_a_loop(classifier: Classifier, distance: str) -> None:
    order = int(distance[1])

    def near(layer: Layer, i: int, j: int) -> float:
        whole = layer.y1[i]
        return max(0.0, float(np.linalg.norm(whole, order) - np.linalg.norm(whole - first_norm(layer, i, j), order)))

    expected = rollout(classifier, near, True)
    with exact(classifier) as twin:
        found = scores(twin, "alti", distance=distance)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("biases", [True, False])
def test_decompx_equals_a_loop(classifier: Classifier, biases: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decomposition, "PART", 1000)  # several parts
    expected = decomposed(classifier, biases)
    with exact(classifier) as twin:
        for target, padding in ((0, 0), (2, 3)):
            found = MethodRun(get_method("decompx"), twin, {"biases": biases}).on(
                twin, TEXT, padding=padding, target=classifier.labels[target]
            )
            np.testing.assert_allclose(found.scores[: len(expected)], expected[:, target], rtol=1e-7, atol=1e-10)
            assert (abs(found.completeness.sum - found.completeness.expected) < 1e-9) == biases


def test_decompx_sums_to_every_state(classifier: Classifier) -> None:
    with exact(classifier) as twin, torch.no_grad():
        encoding = twin.encode(TEXT)
        subject = decomposition.Subject(twin, encoding)

        def check(_: object, steps: list[decomposition.Step]) -> Array:
            vectors, following = None, [*(step.state for step in steps[1:]), steps[-1].result]
            for step, state in zip(steps, following, strict=True):
                vectors = decomposition.through(step, vectors, True)
                np.testing.assert_allclose(vectors.sum(dim=1), state, rtol=1e-9, atol=1e-9)
            return np.empty(0)

        decomposition.steps_of([subject], check)


# Closed forms --------------------------------------------------------------------------------------------------------


def without_attention(classifier: Classifier) -> Classifier:
    network = copy.deepcopy(classifier.model.network)
    found = with_network(classifier, network)
    for block in found.model.blocks:
        for part in (block.value, block.attention_output):
            part.weight.data.zero_()
            part.bias.data.zero_()
    return found


@pytest.mark.parametrize("method", ["globenc", "alti", "decompx"])
def test_without_attention_the_class_token_has_all(classifier: Classifier, method: str) -> None:
    found = explain(without_attention(classifier), TEXT, method).scores
    assert abs(found[0]) > 0.001
    np.testing.assert_allclose(found[1:], 0, atol=1e-6)


def test_globenc_scales_with_the_first_gains(zoo: Zoo) -> None:
    network = copy.deepcopy(zoo("bert").model.network)
    scaled = with_network(zoo("bert"), network)
    before = explain(zoo("bert"), TEXT, "globenc", include_ffn_norm=False).scores
    scaled.model.blocks[-1].attention_norm.weight.data *= 2
    np.testing.assert_allclose(explain(scaled, TEXT, "globenc", include_ffn_norm=False).scores, 2 * before, rtol=1e-5)


def test_a_probability_is_explained_by_its_slope(zoo: Zoo) -> None:
    logits = [explain(zoo("bert"), TEXT, "decompx", target=target).scores for target in range(3)]
    found = explain(zoo("bert"), TEXT, "decompx", target=1, output="probability")
    p = np.array(list(found.prediction.probabilities.values()))
    slope = p[1] * (np.eye(3)[1] - p)
    np.testing.assert_allclose(found.scores, slope @ np.array(logits), rtol=1e-4, atol=1e-6)


def test_too_little_memory_is_told_with_the_size(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = zoo("bert")
    whole, (n, d) = explain(classifier, TEXT, "decompx"), Subject(classifier, classifier.encode(TEXT)).embeddings.shape
    needed = 3 * n * n * d * 4
    monkeypatch.setattr(decomposition, "PART", n * d)  # a row at a time
    monkeypatch.setattr(decompx, "free_memory", lambda _: needed)
    np.testing.assert_allclose(explain(classifier, TEXT, "decompx").scores, whole.scores, atol=1e-6)
    monkeypatch.setattr(decompx, "free_memory", lambda _: needed - 1)
    with pytest.raises(MemoryShortage, match=f"DecompX of {n} tokens .* Shorten"):
        explain(classifier, TEXT, "decompx")


REASONS = {
    "gpt2": "normalise before they add",
    "albert": "share their weights",
    "deberta": "but not replaced",
    "t5": "reads the text twice",
}


@pytest.mark.parametrize(("name", "reason"), REASONS.items())
def test_others_are_refused_with_the_reason(zoo: Zoo, name: str, reason: str) -> None:
    for method in ("globenc", "alti", "decompx"):
        with pytest.raises(UnsupportedError, match=reason):
            explain(zoo(name), TEXT, method)
