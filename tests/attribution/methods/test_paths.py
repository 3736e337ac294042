"""Integrated gradients and Gradient SHAP: against Captum, slow loops over plain transformers, and closed forms."""

from __future__ import annotations

from itertools import product
from typing import get_args

import numpy as np
import pytest
import torch
from captum.attr import GradientShap, IntegratedGradients
from torch import Tensor

from explainlab import Attribution, explain
from explainlab.attribution.path import Rule, nodes
from explainlab.models.classifier import Classifier
from explainlab.testing.observation import Recorder
from tests.attribution.conftest import Toys, on_models
from tests.attribution.plain import Plain, Scalar, close, gradient
from tests.conftest import Zoo
from tests.failures import check_each
from tests.toys import Linear, Squares

TEXT = "A funny film. It isn't good!"
STEPS = 8

RULES = get_args(Rule)
OUTPUTS = ("probability", "logit")


def content(result: Attribution) -> np.ndarray:
    return np.array([not feature.special for feature in result.features])


def ends(plain: Plain, text: str, baseline: str) -> tuple[Tensor, Tensor]:
    """Baseline and text, [1, N, d] each; the test is over where the tokenizer has no such filler."""
    if baseline != "zero" and plain.filler(baseline) is None:
        pytest.skip("refused, see test_contract")
    return plain.baseline(text, baseline), plain.embed(plain.ids(text))


def by_loop(scalar: Scalar, start: Tensor, end: Tensor, rule: str, steps: int) -> Tensor:
    """Integrated gradients [N] from one point at a time."""
    total = torch.zeros_like(end)
    for alpha, weight in zip(*nodes(rule, steps), strict=True):
        total += weight * gradient(scalar, start + alpha * (end - start))
    return ((end - start) * total).sum(dim=-1)[0]


def linear(classifier: Classifier, baseline: str = "mask") -> np.ndarray:
    """(x - x') * w of every token, for the first logit of a linear toy."""
    ids = torch.tensor(classifier.tokenizer(TEXT)["input_ids"])
    filler = classifier.tokenizer(" ...")["input_ids"][-1]
    table = classifier.model.network.embeddings.weight
    start = torch.zeros(len(ids), table.shape[1]) if baseline == "zero" else table[[filler] * len(ids)]
    weight = classifier.model.network.head.weight[: len(ids), :, 0]
    return ((table[ids] - start) * weight).sum(dim=-1).numpy()


# Integrated gradients against others ---------------------------------------------------------------------------------

CAPTUM = {
    "right": "riemann_right",
    "left": "riemann_left",
    "midpoint": "riemann_middle",
    "gauss_legendre": "gausslegendre",
}
"""Captum's trapezoid has weights that sum to (n - 1) / n, so it is compared with a loop only."""


@on_models(rule=CAPTUM, output=OUTPUTS)
def test_agrees_with_captum(model: Classifier, plain: Plain, rule: str, output: str) -> None:
    start, end = ends(plain, TEXT, "mask")
    scalar = plain.scalar(output, plain.predicted(TEXT))
    captum = IntegratedGradients(scalar).attribute(end, start, n_steps=STEPS, method=CAPTUM[rule])
    found = explain(model, TEXT, rule=rule, steps=STEPS, output=output)
    close(found.scores, captum.sum(dim=-1)[0])


@on_models(baseline=["mask", "pad", "unk", "zero"])
def test_agrees_with_captum_from_every_baseline(model: Classifier, plain: Plain, baseline: str) -> None:
    start, end = ends(plain, TEXT, baseline)
    captum = IntegratedGradients(plain.scalar("probability", 1)).attribute(end, start, n_steps=STEPS)
    found = explain(model, TEXT, rule="gauss_legendre", steps=STEPS, baseline=baseline, target=1)
    close(found.scores, captum.sum(dim=-1)[0])


@on_models(rule=RULES)
def test_equals_a_loop_over_single_points(model: Classifier, plain: Plain, rule: str) -> None:
    start, end = ends(plain, TEXT, "mask")
    scalar = plain.scalar("probability", plain.predicted(TEXT))
    found = explain(model, TEXT, rule=rule, steps=STEPS)
    close(found.scores, by_loop(scalar, start, end, rule, STEPS))
    assert (found.cost.forward, found.cost.backward) == (
        STEPS + 2 + (rule == "trapezoid"),
        STEPS + (rule == "trapezoid"),
    )
    expected = float(scalar(end) - scalar(start))
    assert found.completeness.expected == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_many_batches_equal_a_loop(encoder: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Plain(encoder.id, encoder.tokenizer)
    start, end = ends(plain, TEXT, "mask")
    monkeypatch.setattr("explainlab.models.batching.batch_tokens", lambda *_: 3 * end.shape[1])
    recorder = Recorder()
    asked = {"rule": "gauss_legendre", "steps": 20, "output": "logit", "target": 0, "context": recorder.context}
    found = explain(encoder, TEXT, **asked)
    close(found.scores, by_loop(plain.scalar("logit", 0), start, end, "gauss_legendre", 20))
    assert [done for done, _, _ in recorder.seen] == [2, 3, 6, 9, 12, 15, 18, 20]


def test_scores_come_to_add_up(model: Classifier) -> None:
    """Random weights make a rough path: the trained models need fewer steps than the tiny ones."""
    few, many = (
        explain(model, TEXT, rule="gauss_legendre", steps=steps).completeness.approximation_error for steps in (3, 300)
    )
    assert many < 5e-3
    assert many < few


def test_special_tokens_score_nothing(model: Classifier) -> None:
    for baseline in ("mask", "zero"):
        result = explain(model, TEXT, rule="gauss_legendre", steps=2, baseline=baseline)
        assert (result.scores[~content(result)] == 0).all()
        assert (result.scores[content(result)] != 0).all()


# Integrated gradients in closed form ---------------------------------------------------------------------------------


def test_a_linear_model_is_exact_with_any_number_of_steps(toys: Toys) -> None:
    classifier = toys(Linear)

    def check(case: tuple[str, int, str]) -> None:
        rule, steps, baseline = case
        result = explain(classifier, TEXT, rule=rule, steps=steps, baseline=baseline, output="logit", target="first")
        close(result.scores, linear(classifier, baseline), 1e-6)
        assert result.completeness.approximation_error < 1e-5
        assert result.scores[Linear.UNUSED] == 0

    check_each(check, product(RULES, (1, 2, 10), ("mask", "zero")))


def test_squares_show_the_error_of_the_one_sided_rules_alone(toys: Toys) -> None:
    classifier = toys(Squares)
    ids = torch.tensor(classifier.tokenizer(TEXT)["input_ids"])
    squares = classifier.model.network.embeddings.weight[ids].square().sum(dim=-1)

    def check(case: tuple[str, int]) -> None:
        rule, steps = case
        result = explain(classifier, TEXT, rule=rule, steps=steps, baseline="zero", output="logit", target="first")
        bias = {"right": 1 / steps, "left": -1 / steps}.get(rule, 0)
        close(result.scores, squares * (1 + bias), 1e-6)
        assert result.completeness.approximation_error == pytest.approx(abs(bias), abs=1e-6)

    check_each(check, product(RULES, (1, 4, 20)))


@pytest.mark.parametrize(("name", "text", "baseline"), [("bert", "😀 😀", "unk"), ("gpt2", " ... ...", "mask")])
@pytest.mark.parametrize("method", ["integrated_gradients", "gradient_shap", "deep_lift"])
def test_a_text_that_is_its_own_baseline_scores_nothing(
    zoo: Zoo, name: str, text: str, baseline: str, method: str
) -> None:
    result = explain(zoo(name), text, method, baseline=baseline)
    assert [feature.ids for feature in result.features if not feature.special] == [(zoo(name).filler_id(baseline),)] * 2
    assert (result.scores == 0).all()
    assert result.completeness.expected == 0
    assert result.completeness.approximation_error is None


def test_a_typed_mask_is_a_token_that_says_nothing(encoder: Classifier) -> None:
    result = explain(encoder, "a [MASK] film", steps=4)
    assert [feature.special for feature in result.features] == [True, False, False, False, True]
    assert result.scores[2] == 0
    assert (result.scores[[1, 3]] != 0).all()


# Gradient SHAP -------------------------------------------------------------------------------------------------------


class Draws:
    """The random numbers of a run, drawn once more: which draws start from the text, their α, and their noise."""

    def __init__(self, seed: int, samples: int, free: Tensor, width: int, noise: float) -> None:
        rng = np.random.default_rng(seed)
        self.from_text, self.alphas, self.noise = [], [], []
        for _ in range(samples):
            first, alpha = rng.random(2)
            self.from_text.append(first < 0.5)
            self.alphas.append(alpha)
            self.noise.append(torch.zeros(len(free), width))
            if noise:
                self.noise[-1][free] = torch.tensor(rng.standard_normal((int(free.sum()), width)) * noise).float()

    def __iter__(self):
        return zip(self.from_text, self.alphas, self.noise, strict=True)


@on_models(noise=[0.05, 0], output=OUTPUTS)
def test_equals_a_loop_over_the_same_draws(model: Classifier, plain: Plain, noise: float, output: str) -> None:
    """The first draws of a larger run are the smaller run: one set of draws serves all sizes."""
    start, end = ends(plain, TEXT, "mask")
    scalar, bottom, top = plain.scalar(output, 1), *(float(plain.scalar(output, 1)(p)) for p in (start, end))
    parts, promised = [], []
    for from_text, alpha, noisy in Draws(3, 6, ~plain.special(TEXT), end.shape[-1], noise):
        first, last = end if from_text else start, end + noisy
        parts.append(((last - first) * gradient(scalar, first + alpha * (last - first))).sum(dim=-1)[0].numpy())
        promised.append(top - (top if from_text else bottom))
    for samples in (1, 3, 6):
        found = explain(model, TEXT, "gradient_shap", samples=samples, noise=noise, seed=3, output=output, target=1)
        close(found.scores, np.mean(parts[:samples], axis=0))
        assert found.completeness.expected == pytest.approx(np.mean(promised[:samples]), rel=1e-3, abs=1e-6)


def test_draws_from_the_text_cost_nothing_without_noise(encoder: Classifier) -> None:
    free = torch.ones(1, dtype=bool)
    for seed in range(6):
        from_text = Draws(seed, 5, free, 1, 0).from_text
        cost = explain(encoder, TEXT, "gradient_shap", seed=seed).cost
        assert cost.backward == 5 - sum(from_text)
        assert cost.forward == cost.backward + 2
    assert explain(encoder, TEXT, "gradient_shap", noise=0.1).cost.backward == 5


def test_a_linear_model_gives_all_or_nothing_in_every_draw(toys: Toys) -> None:
    classifier = toys(Linear)
    whole = linear(classifier)
    shares = set()
    for seed in range(12):
        result = explain(classifier, TEXT, "gradient_shap", samples=1, seed=seed, output="logit", target="first")
        shares.add(round(result.scores[0] / whole[0]))
        np.testing.assert_allclose(result.scores, round(result.scores[0] / whole[0]) * whole, atol=1e-5)
        error = result.completeness.approximation_error
        assert error is None if result.scores[0] == 0 else error < 1e-5
    assert shares == {0, 1}


def test_a_linear_model_agrees_with_captum_in_expectation(toys: Toys) -> None:
    """Half of the way, give or take three standard errors of 3,000 draws."""
    classifier, draws = toys(Linear), 3000
    close_enough = 3 * np.sqrt(0.25 / draws)
    ids = torch.tensor(classifier.tokenizer(TEXT)["input_ids"])
    table = classifier.model.network.embeddings.weight
    end, start = table[ids][None], table[[classifier.filler_id("mask")] * len(ids)][None]
    np.random.seed(0)
    captum = GradientShap(lambda points: classifier.model.network.head(points)[:, 0]).attribute(
        end, torch.cat([start, end]), n_samples=draws
    )
    result = explain(classifier, TEXT, "gradient_shap", samples=draws, output="logit", target="first")
    for found in (result.scores, captum.sum(dim=-1)[0].numpy()):
        close(found, 0.5 * linear(classifier), 2 * close_enough)
    assert result.completeness.approximation_error < 1e-5


def test_noise_leaves_a_linear_model_its_expectation(toys: Toys) -> None:
    """Noise enters the scores, but on average it adds nothing."""
    classifier = toys(Linear)
    options = {"method": "gradient_shap", "samples": 3000, "output": "logit", "target": "first"}
    noisy, still = (explain(classifier, TEXT, noise=noise, **options) for noise in (0.5, 0))
    difference = np.abs(noisy.scores - still.scores)
    assert 0 < difference.max() < 0.2
    assert noisy.completeness.expected == pytest.approx(still.completeness.expected, rel=0.1)


def test_many_draws_come_to_add_up(encoder: Classifier) -> None:
    errors = [
        explain(encoder, TEXT, "gradient_shap", samples=samples, seed=1).completeness.approximation_error
        for samples in (4, 3000)
    ]
    assert errors[1] < 0.1
    assert errors[1] < errors[0]
