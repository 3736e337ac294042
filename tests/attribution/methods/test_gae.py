"""Generic attention explainability: against a slow loop over transformers' own attention, and closed forms."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import numpy as np
import pytest
import torch
from torch import Tensor

from explainlab import explain
from explainlab.attribution.registry import get_method
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from tests.attribution.linear import attention_only, slope
from tests.attribution.plain import Plain, close
from tests.conftest import Zoo
from tests.tiers import first
from tests.toys import with_network

TEXT = "I did not like this film at all. It isn't funny!"


MODELS = ("bert", "roberta", "distilbert", "albert", "deberta", "modernbert-mean", "gpt2", "llama", "mistral", "qwen3")


@pytest.fixture(params=first(("bert", "modernbert-mean", "gpt2"), MODELS, "one for each kind of pooling is enough"))
def classifier(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    return zoo(request.param)


Layers = list[tuple[np.ndarray, np.ndarray]]
"""Of every layer attention and gradient, [heads, N, N] each."""


def in_numpy(attentions: Iterable[Tensor], slopes: Iterable[Tensor], text: int = 0) -> Layers:
    pairs = zip(attentions, slopes, strict=True)
    return [(a[text].detach().double().numpy(), g[text].double().numpy()) for a, g in pairs]


def layers_of(plain: Plain, target: int, output: str) -> Layers:
    """Return the maps and gradients of transformers and autograd."""
    point = plain.embed(plain.ids(TEXT)).requires_grad_()
    found = plain.model(inputs_embeds=point, output_attentions=True)
    value = (found.logits.softmax(dim=-1) if output == "probability" else found.logits)[0, target]
    return in_numpy(found.attentions, torch.autograd.grad(value, found.attentions))


def by_loop(layers: Layers) -> np.ndarray:
    """R [N, N], entry by entry."""
    n = layers[0][0].shape[-1]
    relevance = np.eye(n)
    for attention, gradient in layers:
        before = relevance.copy()
        for i in range(n):
            for k in range(n):
                weight = np.mean([max(0, a[i, k] * g[i, k]) for a, g in zip(attention, gradient, strict=True)])
                relevance[i] += weight * before[k]
    return relevance


def read(classifier: Classifier, relevance: np.ndarray) -> np.ndarray:
    """The row that reaches the head without its own entry, or the mean of all such."""
    without = relevance * (1 - np.eye(len(relevance)))
    pooling = classifier.architecture.pooling
    return without.mean(axis=0) if pooling == "mean" else without[0 if pooling == "first" else -1]


@pytest.mark.parametrize("output", ["logit", "probability"])
@pytest.mark.parametrize("target", [0, 2])
def test_equals_a_loop(classifier: Classifier, target: int, output: str) -> None:
    layers = layers_of(Plain(classifier.id, classifier.tokenizer), target, output)
    found = explain(classifier, TEXT, "gae", target=target, output=output)
    close(found.scores, read(classifier, by_loop(layers)))
    assert not found.signed
    assert found.completeness is None


def test_explains_the_logit_by_default(classifier: Classifier) -> None:
    found = explain(classifier, TEXT, "gae")
    assert found.request.output == "logit"
    assert np.array_equal(found.scores, explain(classifier, TEXT, "gae", output="logit").scores)


def test_costs_one_pass_each_way(classifier: Classifier) -> None:
    cost = explain(classifier, TEXT, "gae", target=1).cost
    assert (cost.forward, cost.backward) == (1, 1)


def test_the_row_that_is_read_has_no_say_of_itself(zoo: Zoo) -> None:
    assert explain(zoo("bert"), TEXT, "gae").scores[0] == 0
    assert explain(zoo("gpt2"), TEXT, "gae").scores[-1] == 0
    assert explain(zoo("modernbert-mean"), TEXT, "gae").scores.min() > 0


def test_the_last_real_row_of_a_padded_decoder_is_read(decoder: Classifier) -> None:
    """Two texts in one batch: the shorter one's maps and logits are its own."""
    encodings = [decoder.encode(TEXT), decoder.encode("a funny film")]
    n = len(encodings[1])
    inputs = decoder.inputs(encodings)
    maps, logits = decoder.attention_maps(inputs, decoder.embed(inputs.ids).requires_grad_())
    together = by_loop(in_numpy(maps, torch.autograd.grad(logits[1, 0], maps), text=1))
    alone = explain(decoder, "a funny film", "gae", target=0).scores
    close(together[n - 1, : n - 1], alone[:-1])
    assert np.array_equal(together[n - 1, n:], np.zeros(len(together) - n))


def test_half_precision(zoo: Zoo) -> None:
    """bfloat16 has three digits; the maps are of the same shape as the precise ones."""
    for name in ("bert", "llama", "deberta"):
        precise = explain(zoo(name), TEXT, "gae", target=0).scores
        half = with_network(zoo(name), copy.deepcopy(zoo(name).model.network).bfloat16())
        assert np.corrcoef(precise, explain(half, TEXT, "gae", target=0).scores)[0, 1] > 0.99


def test_t5_is_refused_with_the_reason(zoo: Zoo) -> None:
    with pytest.raises(UnsupportedError, match="cannot run on a T5"):
        explain(zoo("t5"), TEXT, "gae")


# Closed forms --------------------------------------------------------------------------------------------------------


def combine(layers: np.ndarray) -> np.ndarray:
    return get_method("gae").combine(layers, np.eye(layers.shape[-1]))


def test_no_gradient_leaves_every_token_to_itself() -> None:
    assert np.array_equal(combine(np.zeros((3, 4, 4))), np.eye(4))


def test_one_layer_is_added_to_the_identity() -> None:
    layer = np.random.default_rng(0).random((1, 5, 5))
    assert np.array_equal(combine(layer), np.eye(5) + layer[0])


def test_two_layers_are_the_product_of_both_with_the_identity() -> None:
    lower, upper = np.random.default_rng(0).random((2, 5, 5))
    np.testing.assert_allclose(combine(np.stack([lower, upper])), (np.eye(5) + upper) @ (np.eye(5) + lower), atol=1e-14)


def test_causal_layers_see_nothing_to_come() -> None:
    found = combine(np.tril(np.random.default_rng(0).random((4, 6, 6))))
    assert np.array_equal(found, np.tril(found))
    assert (found[np.tril_indices(6)] > 0).all()


def test_a_model_of_attention_alone(decoder: Classifier) -> None:
    """The gradient at its last layer is a formula."""
    classifier = attention_only(decoder.tokenizer)
    inputs = classifier.inputs([classifier.encode(TEXT)])
    for target in (0, 1):
        maps, logits = classifier.attention_maps(inputs, classifier.embed(inputs.ids).requires_grad_())
        lower, upper = torch.autograd.grad(logits[0, target], maps)
        torch.testing.assert_close(upper[0], slope(classifier, inputs.ids, target), rtol=1e-4, atol=1e-6)
        layers = in_numpy(maps, (lower, upper))
        close(explain(classifier, TEXT, "gae", target=target).scores[1:], by_loop(layers)[0, 1:])


class _Copying(torch.overrides.TorchFunctionMode):
    """``Tensor.to`` gives a copy, as between two devices."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        moved = function(*args, **(kwargs or {}))
        return moved.clone() if function is torch.Tensor.to else moved


@pytest.mark.parametrize("name", ["bert", "gpt2", "deberta"])
def test_a_model_that_is_spread_over_devices(zoo: Zoo, name: str) -> None:
    expected = explain(zoo(name), TEXT, "gae").scores
    with _Copying():
        np.testing.assert_array_equal(explain(zoo(name), TEXT, "gae").scores, expected)
