"""Relevance propagation: against rules written out by hand, conservation on every architecture, and clean hands."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from explainlab import explain
from explainlab.attribution.methods.lrp import relevance_rules
from explainlab.models.classifier import Classifier
from explainlab.testing import traces
from tests.attribution.plain import close
from tests.attribution.relevance import Rules, attend, bert, gpt2
from tests.conftest import ONE_OF_EACH, Zoo
from tests.tiers import first
from tests.toys import with_network
from tests.zoo import model_of

TEXT = "I did not like this film at all. It isn't funny!"
RULES = ("conservative", "attn")
ACTIVATIONS = ("identity", "gradient")

every_rule = pytest.mark.parametrize("rule", RULES)
every_activation = pytest.mark.parametrize("activation", ACTIVATIONS)


def logits_of(classifier: Classifier, rule: str, activation: str = "identity") -> tuple[Tensor, Tensor]:
    """The logits [classes] under the rules, and the word embeddings [1, N, d] that they come from."""
    inputs = classifier.inputs([classifier.encode(TEXT)])
    point = classifier.embed(inputs.ids).requires_grad_()
    with relevance_rules(classifier.model.activations, rule, activation):
        return classifier.logits(inputs, point)[0], point


# By hand -------------------------------------------------------------------------------------------------------------


@every_rule
@every_activation
@pytest.mark.parametrize(("name", "by_hand"), [("bert", bert), ("gpt2", gpt2)])
def test_equals_rules_by_hand(zoo: Zoo, name: str, by_hand: Any, rule: str, activation: str) -> None:
    classifier = zoo(name)
    weights = {key: value.double().numpy() for key, value in classifier.model.network.state_dict().items()}
    ids = classifier.encode(TEXT).ids
    for target in (0, 2):
        logits, relevance = by_hand(weights, ids, 4, target, Rules(rule, activation))
        close(classifier.logits(classifier.inputs([classifier.encode(TEXT)]))[0], logits)
        options = {"rule": rule, "activation": activation, "target": target}
        found = explain(classifier, TEXT, "lrp", **options)
        close(found.scores, relevance.sum(axis=1), 5e-4)
        assert found.signed
        norms = explain(classifier, TEXT, "lrp", reduction="l2", **options)
        close(norms.scores, np.linalg.norm(relevance, axis=1), 5e-4)
        assert not norms.signed


def test_the_choices_differ(zoo: Zoo) -> None:
    """Only where all activations are gates, and gates are constant, is it all one how they pass relevance on."""
    for name in ("bert", "gpt2", "llama"):
        choices = [{"rule": rule, "activation": activation} for rule in RULES for activation in ACTIVATIONS]
        maps = [explain(zoo(name), TEXT, "lrp", target=0, **chosen).scores for chosen in choices]
        maps.append(explain(zoo(name), TEXT, "input_x_gradient", output="logit", target=0).scores)
        for i, one in enumerate(maps):
            for j, other in enumerate(maps[:i]):
                same = name == "llama" and (j, i) == (0, 1)
                assert (np.abs(one - other).max() > 0.01 * np.abs(one).max()) != same


def test_explains_the_logit_by_default(encoder: Classifier) -> None:
    found = explain(encoder, TEXT, "lrp")
    assert found.request.output == "logit"
    assert found.completeness is None
    assert (found.cost.forward, found.cost.backward) == (1, 1)


@every_rule
def test_a_probability_is_logits_weighed(zoo: Zoo, rule: str) -> None:
    """dp_t = Σ_c p_t (δ_tc - p_c) dz_c: the softmax over the classes has no rule."""
    for name in ("bert", "gpt2"):
        each = np.stack([explain(zoo(name), TEXT, "lrp", rule=rule, target=c).scores for c in range(3)])
        found = explain(zoo(name), TEXT, "lrp", rule=rule, target=1, output="probability")
        p = np.array(list(found.prediction.probabilities.values()))
        close(found.scores, (p[1] * ((np.arange(3) == 1) - p)) @ each)


# Conservation --------------------------------------------------------------------------------------------------------

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"bert, {name}": ("bert", {"hidden_act": name}) for name in ("relu", "gelu_new", "quick_gelu", "gelu_python")},
    "gpt2, gelu_fast": ("gpt2", {"activation_function": "gelu_fast"}),
    "t5, gated": ("t5", {"feed_forward_proj": "gated-gelu"}),
    "deberta, convolution": ("deberta", {"conv_kernel_size": 3, "conv_act": "gelu"}),
}


def with_parameters(classifier: Classifier, model: nn.Module) -> Classifier:
    """The classifier with another model, whose parameters ask for gradients."""
    return with_network(classifier, model.requires_grad_())


def added(classifier: Classifier) -> list[nn.Parameter]:
    """Return the model's own additions: biases, positions, types, T5's start token.

    T5's biases by distance are in the attention, which is constant.
    """
    biases = [parameter for name, parameter in classifier.model.network.named_parameters() if name.endswith("bias")]
    tables = {
        id(module.weight): module.weight
        for name, module in classifier.model.network.named_modules()
        if isinstance(module, nn.Embedding) and not name.endswith("relative_attention_bias")
    }
    return [*biases, *tables.values()]


def conserves(classifier: Classifier) -> None:
    """Each logit is the relevance of the text and of what is added."""
    logits, point = logits_of(classifier, "conservative")
    parts = [point, *added(classifier)]
    texts = []
    for logit in logits:
        slopes = torch.autograd.grad(logit, parts, allow_unused=True, retain_graph=True)
        pairs = zip(parts, slopes, strict=True)
        shares = [0.0 if slope is None else (part * slope).detach().double().sum().item() for part, slope in pairs]
        assert sum(shares) == pytest.approx(logit.item(), rel=1e-5, abs=1e-5)
        texts.append(shares[0])
    assert np.abs(texts).max() > 0.01


def test_relevance_is_conserved_on_every_architecture(every_classifier: Classifier) -> None:
    """A function that no rule reaches would show: without any one of the rules some logit is missed by 0.2 or more."""
    if not every_classifier.architecture.relevance:
        pytest.skip("there are no rules for its layers")
    conserves(with_parameters(every_classifier, copy.deepcopy(every_classifier.model.network)))


@pytest.mark.parametrize("name", VARIANTS)
def test_relevance_is_conserved_by_every_activation_and_gate(zoo: Zoo, name: str) -> None:
    species, options = VARIANTS[name]
    conserves(with_parameters(zoo(species), model_of(species, **options)))


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "modernbert"])
def test_without_biases_every_layer_holds_the_whole_logit(zoo: Zoo, name: str) -> None:
    classifier = with_network(zoo(name), copy.deepcopy(zoo(name).model.network))
    words = classifier.model.network.get_input_embeddings().weight
    for parameter in (p for p in added(classifier) if p is not words):
        parameter.zero_()
    lists = [module for module in classifier.model.network.modules() if isinstance(module, nn.ModuleList)]
    states: list[Tensor] = []
    hooks = [layer.register_forward_hook(lambda _, __, output: states.append(output)) for layer in lists[0]]
    logits, point = logits_of(classifier, "conservative")
    for hook in hooks:
        hook.remove()
    assert len(states) == 3
    for target in range(3):
        slopes = torch.autograd.grad(logits[target], [point, *states], retain_graph=True)
        for state, slope in zip([point, *states], slopes, strict=True):
            assert (state * slope).sum().item() == pytest.approx(logits[target].item(), rel=1e-5, abs=1e-5)
    found = explain(classifier, TEXT, "lrp", target=2)
    assert found.scores.sum() == pytest.approx(logits[2].item(), rel=1e-5, abs=1e-5)


@every_rule
@pytest.mark.parametrize("name", ["bert", "t5", "llama", "qwen3"])
def test_attention_in_one_function_or_written_out_is_the_same(zoo: Zoo, name: str, rule: str) -> None:
    model = copy.deepcopy(zoo(name).model.network)
    model.set_attn_implementation("eager")
    written = with_network(zoo(name), model)
    found = explain(written, TEXT, "lrp", rule=rule, target=1).scores
    close(found, explain(zoo(name), TEXT, "lrp", rule=rule, target=1).scores)


# Single rules --------------------------------------------------------------------------------------------------------


def by_matmul(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.matmul(functional.softmax(torch.matmul(q, k.transpose(1, 2)) / 2, dim=-1), v)


def by_bmm(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.bmm(functional.softmax(torch.bmm(q, k.transpose(1, 2)) / 2, dim=-1), v)


@every_rule
@pytest.mark.parametrize("attention", [by_matmul, by_bmm, functional.scaled_dot_product_attention])
def test_attention_equals_its_rule_by_hand_however_it_is_written(attention: Callable[..., Tensor], rule: str) -> None:
    drawn = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sides = [side[None].clone().requires_grad_() for side in drawn]
    with relevance_rules([], rule, "identity"):
        read = attention(*sides)
    slopes = torch.autograd.grad(read.square().sum() / 2, sides, allow_unused=True)
    expected, back = attend(*drawn.numpy(), causal=False, rules=Rules(rule, "identity"))
    np.testing.assert_allclose(read[0].detach(), expected, rtol=1e-10)
    for side, slope, relevance in zip(sides, slopes, back(expected**2), strict=True):
        found = np.zeros((5, 4)) if slope is None else (side * slope)[0].detach().numpy()
        np.testing.assert_allclose(found, relevance, rtol=1e-8, atol=1e-12)


@every_rule
def test_normalisation_sees_no_constant(rule: str) -> None:
    """Adding a number to all dimensions changes neither value nor relevance, and no relevance is the number's."""
    norm, generator = nn.LayerNorm(7), torch.Generator().manual_seed(0)
    x, weight = torch.randn(3, 7, generator=generator), torch.randn(7, generator=generator)
    norm.weight.data.copy_(weight)
    found = []
    for point in (x, x + 2.5):
        point.requires_grad_()
        with relevance_rules([], rule, "identity"):
            y = norm(point)
        (slope,) = torch.autograd.grad((y * torch.arange(7)).sum(), point)
        found.append((y, slope))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)
    assert found[0][1].sum(dim=-1).abs().max() < 1e-4
    deviation = x.detach().std(dim=-1, correction=0)
    weights = torch.arange(7) * weight
    torch.testing.assert_close(found[0][1], (weights - weights.mean()) / deviation[:, None], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["llama", "modernbert"])
@every_activation
def test_a_gate_is_constant_or_shares(zoo: Zoo, name: str, activation: str) -> None:
    """y = W (f(g) · u): conservative gives all to u; attn half to u, half to g by the activation's rule."""
    model = zoo(name).model
    part = next(module for module in model.network.modules() if type(module).__name__.endswith("MLP"))
    x = torch.randn(1, 5, 32, generator=torch.Generator().manual_seed(0)).requires_grad_()
    found = {}
    for rule in RULES:
        with relevance_rules(model.activations, rule, activation):
            y = part(x)
        (found[rule],) = torch.autograd.grad(y[0, 2, 3], x)
    if name == "llama":
        enter, up, down, f = part.gate_proj.weight, part.up_proj.weight, part.down_proj.weight, functional.silu
    else:
        (enter, up), down, f = part.Wi.weight.chunk(2), part.Wo.weight, functional.gelu
    expected = {rule: torch.zeros(32, dtype=torch.float64) for rule in RULES}
    row = x[0, 2].detach().double()
    for i in range(down.shape[1]):
        g, u = enter[i].double() @ row, up[i].double() @ row
        slope = f(g) / g if activation == "identity" else (f(g + 1e-6) - f(g - 1e-6)) / 2e-6
        expected["conservative"] += down[3, i].double() * f(g) * up[i].double()
        expected["attn"] += down[3, i].double() * (f(g) * up[i].double() + slope * u * enter[i].double()) / 2
    for rule in RULES:
        close(found[rule][0, 2], expected[rule])


def test_an_activation_at_zero_passes_nothing_on() -> None:
    for module in (nn.Tanh(), nn.GELU(), nn.SiLU(), nn.ReLU()):
        x = torch.tensor([0.0, -1.5, 2.0], requires_grad=True)
        with relevance_rules([module], "conservative", "identity"):
            y = module(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        torch.testing.assert_close(slope[1:], (y / x)[1:])
        assert slope[0] == 0


# Clean hands ---------------------------------------------------------------------------------------------------------


@every_rule
@every_activation
def test_the_rules_change_no_value(classifier: Classifier, rule: str, activation: str) -> None:
    inputs = classifier.inputs([classifier.encode(TEXT)])
    plain = classifier.logits(inputs, classifier.embed(inputs.ids).requires_grad_())[0]
    assert torch.equal(logits_of(classifier, rule, activation)[0], plain)


OTHERS = ("input_x_gradient", "attention_rollout", "gae", "occlusion")


def others(classifier: Classifier) -> Iterator[np.ndarray]:
    for method in OTHERS:
        yield explain(classifier, TEXT, method, output="logit", target=0).scores


@every_rule
def test_other_methods_are_the_same_before_during_and_after(zoo: Zoo, rule: str) -> None:
    mine, other = zoo("llama"), zoo("bert")
    before, left = [*others(mine), *others(other)], (traces(mine), traces(other))
    with ThreadPoolExecutor(1) as thread, relevance_rules(mine.model.activations, rule, "identity"):
        during = thread.submit(lambda: list(others(other))).result()
    assert (traces(mine), traces(other)) == left
    pairs = zip(before + during, [*others(mine), *others(other), *before[len(OTHERS) :]], strict=True)
    assert all(np.array_equal(*pair) for pair in pairs)


def test_two_threads_at_once_keep_to_their_own_rules(zoo: Zoo) -> None:
    """One model by one rule, another by the other, and the same numbers as one after the other."""
    chosen = [(zoo("llama"), "conservative"), (zoo("bert"), "attn"), (zoo("gpt2"), "conservative")]

    def maps(classifier: Classifier, rule: str) -> list[np.ndarray]:
        return [explain(classifier, TEXT, "lrp", rule=rule, target=target).scores for target in (0, 1, 2, 0, 1, 2)]

    alone = [maps(*each) for each in chosen]
    with ThreadPoolExecutor(len(chosen)) as threads:
        together = [running.result() for running in [threads.submit(maps, *each) for each in chosen]]
    assert np.array_equal(np.concatenate(alone, axis=1), np.concatenate(together, axis=1))


def test_the_rules_are_gone_after_an_error(decoder: Classifier) -> None:
    before, left = list(others(decoder)), traces(decoder)
    with pytest.raises(ZeroDivisionError), relevance_rules(decoder.model.activations, "attn", "identity"):
        raise ZeroDivisionError
    broken = decoder.model.network.transformer.h[1].register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        explain(decoder, TEXT, "lrp")
    broken.remove()
    assert traces(decoder) == left
    assert all(np.array_equal(*pair) for pair in zip(before, others(decoder), strict=True))


IN_HALF = ("bert", "gpt2", "modernbert", "llama", "qwen3", "t5", "deberta")


@every_rule
@pytest.mark.parametrize("name", first(ONE_OF_EACH, IN_HALF, "an encoder and a decoder stand for the others"))
def test_half_precision(zoo: Zoo, name: str, rule: str) -> None:
    """bfloat16 has three digits; relevances are of the same shape as the precise ones."""
    half = with_network(zoo(name), copy.deepcopy(zoo(name).model.network).bfloat16())
    precise, rough = (explain(c, TEXT, "lrp", rule=rule, target=0, reduction="l2").scores for c in (zoo(name), half))
    assert np.corrcoef(precise, rough)[0, 1] > 0.9
