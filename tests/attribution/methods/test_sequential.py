"""Sequential integrated gradients: against a slow loop over plain transformers, leaving one out, and closed forms."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from typing import get_args

import numpy as np
import pytest
from torch import Tensor

from explainlab import Attribution, explain
from explainlab.attribution.path import Rule, nodes
from explainlab.errors import RequestError
from explainlab.limits import Limits
from explainlab.models.classifier import Classifier
from explainlab.testing.observation import Recorder, watched
from tests.attribution.conftest import Toys, on_models
from tests.attribution.plain import Plain, Scalar, close, gradient
from tests.conftest import Zoo
from tests.failures import check_each
from tests.toys import Linear, Squares, perceptron

TEXT = "A funny film. It isn't good!"
METHOD = "sequential_integrated_gradients"
STEPS = 4

RULES = get_args(Rule)
OUTPUTS = ("probability", "logit")


def without(start: Tensor, end: Tensor, token: int) -> Tensor:
    """The text [1, N, d] with one token at its baseline."""
    point = end.clone()
    point[:, token] = start[:, token]
    return point


def by_loop(scalar: Scalar, start: Tensor, end: Tensor, rule: str, steps: int) -> np.ndarray:
    """Sequential integrated gradients [N], one token and one point at a time."""
    scores = np.zeros(end.shape[1])
    for token in range(end.shape[1]):
        first = without(start, end, token)
        for alpha, weight in zip(*nodes(rule, steps), strict=True):
            slope = gradient(scalar, first + alpha * (end - first))[0, token]
            scores[token] += weight * float(slope @ (end - first)[0, token])
    return scores


def losses(scalar: Scalar, start: Tensor, end: Tensor) -> np.ndarray:
    """F(x) - F(x with one token at its baseline), [N]."""
    return np.array([float(scalar(end) - scalar(without(start, end, token))) for token in range(end.shape[1])])


def content(result: Attribution) -> np.ndarray:
    return np.array([not feature.special for feature in result.features])


# Against others ------------------------------------------------------------------------------------------------------


@on_models(rule=RULES, output=OUTPUTS)
def test_equals_a_loop_over_single_points(model: Classifier, plain: Plain, rule: str, output: str) -> None:
    text = "It isn't good!"
    start, end = plain.baseline(text), plain.embed(plain.ids(text))
    scalar = plain.scalar(output, plain.predicted(text))
    found = explain(model, text, METHOD, rule=rule, steps=STEPS, output=output)
    close(found.scores, by_loop(scalar, start, end, rule, STEPS))


@pytest.mark.parametrize("baseline", ["pad", "unk", "zero"])
def test_equals_a_loop_from_every_baseline(encoder: Classifier, baseline: str) -> None:
    plain = Plain(encoder.id, encoder.tokenizer)
    start, end = plain.baseline(TEXT, baseline), plain.embed(plain.ids(TEXT))
    found = explain(encoder, TEXT, METHOD, steps=STEPS, baseline=baseline, target=1)
    close(found.scores, by_loop(plain.scalar("probability", 1), start, end, "gauss_legendre", STEPS))


def test_many_batches_equal_a_loop(encoder: Classifier) -> None:
    """Batches of three points run over the borders between tokens."""
    plain = Plain(encoder.id, encoder.tokenizer)
    start, end = plain.baseline(TEXT), plain.embed(plain.ids(TEXT))
    classifier = replace(encoder, limits=Limits(batch_tokens=3 * end.shape[1]))
    recorder = Recorder()
    found = explain(classifier, TEXT, METHOD, steps=STEPS, output="logit", target=0, context=recorder.context)
    close(found.scores, by_loop(plain.scalar("logit", 0), start, end, "gauss_legendre", STEPS))
    total = STEPS * int(content(found).sum())
    ends = [0, *(done for done, of, _ in recorder.seen if of == total)]
    assert ends[-1] == total
    assert all(0 < after - before <= 3 for before, after in pairwise(ends))


@on_models(output=OUTPUTS)
def test_a_score_comes_to_what_leaving_the_token_out_costs(model: Classifier, plain: Plain, output: str) -> None:
    start, end = plain.baseline(TEXT), plain.embed(plain.ids(TEXT))
    expected = losses(plain.scalar(output, plain.predicted(TEXT)), start, end)
    deviations = [
        np.abs(explain(model, TEXT, METHOD, steps=steps, output=output).scores - expected).max() for steps in (2, 60)
    ]
    assert deviations[1] < 1e-3 * np.abs(expected).max()
    assert deviations[1] < deviations[0]


# Closed forms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [Linear, Squares])
def test_an_additive_model_gives_integrated_gradients(toys: Toys, head: type) -> None:
    classifier = toys(head)

    def check(case: tuple[str, str]) -> None:
        options = {"rule": case[0], "baseline": case[1], "steps": 3, "output": "logit", "target": "first"}
        found, whole = (explain(classifier, TEXT, method, **options) for method in (METHOD, "integrated_gradients"))
        close(found.scores, whole.scores, 1e-6)
        assert found.completeness is None

    check_each(check, product(RULES, ("mask", "zero")))


def test_tokens_that_interact_are_not_shared_out(toys: Toys) -> None:
    """Each token is charged with all that its absence costs, so the sum is not that of the text's."""
    classifier = toys(lambda: perceptron(8, bias=True))
    options = {"steps": 2000, "rule": "midpoint", "output": "logit", "target": "first"}
    found = explain(classifier, TEXT, METHOD, **options)
    occlusion = explain(classifier, TEXT, "occlusion", output="logit", target="first")
    close(found.scores, occlusion.scores, 1e-3)
    whole = explain(classifier, TEXT, **options)
    assert abs(found.scores.sum() - whole.scores.sum()) > 0.01 * np.abs(whole.scores).max()


# Special cases and costs ---------------------------------------------------------------------------------------------


def test_special_tokens_score_nothing(model: Classifier) -> None:
    result = explain(model, TEXT, METHOD, steps=2)
    assert (result.scores[~content(result)] == 0).all()
    assert (result.scores[content(result)] != 0).all()


@on_models(rule=RULES, target=["predicted", 1])
def test_cost_is_steps_for_every_token(model: Classifier, rule: str, target: str | int) -> None:
    result = explain(model, "A funny film", METHOD, rule=rule, steps=3, target=target)
    passes = int(content(result).sum()) * (3 + (rule == "trapezoid"))
    assert (result.cost.forward, result.cost.backward) == (passes + 1, passes)


def test_a_token_that_is_its_baseline_costs_nothing(encoder: Classifier) -> None:
    result = explain(encoder, "a [MASK] film", METHOD, steps=5)
    assert result.scores[2] == 0
    assert (result.scores[[1, 3]] != 0).all()
    assert (result.cost.forward, result.cost.backward) == (11, 10)


@pytest.mark.parametrize(("name", "text", "baseline"), [("bert", "😀 😀", "unk"), ("gpt2", " ... ...", "mask")])
def test_a_text_that_is_its_own_baseline_takes_no_gradient(zoo: Zoo, name: str, text: str, baseline: str) -> None:
    result = explain(zoo(name), text, METHOD, baseline=baseline)
    assert (result.scores == 0).all()
    assert (result.cost.forward, result.cost.backward) == (1, 0)


@on_models(unit=["word", "sentence"])
def test_units_are_sums_of_their_tokens(model: Classifier, unit: str) -> None:
    run = partial(explain, model, TEXT, METHOD, steps=2)
    tokens, units = run(), run(unit=unit)
    for feature, score in zip(units.features, units.scores, strict=True):
        inside = [
            token.special == feature.special and feature.start <= token.start and token.end <= feature.end
            for token in tokens.features
        ]
        if not feature.special:
            assert score == pytest.approx(tokens.scores[inside].sum(), rel=1e-9, abs=1e-12)


# Errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": 10_001}, {"rule": "simpson"}, {"baseline": "nothing"}])
def test_parameters_out_of_range_are_refused(encoder: Classifier, wrong: dict[str, object]) -> None:
    with pytest.raises(RequestError, match=rf"{METHOD}: {next(iter(wrong))} = .* is not accepted"):
        explain(encoder, TEXT, METHOD, **wrong)


@pytest.mark.parametrize(("rule", "passes"), [("gauss_legendre", 30), ("trapezoid", 33)])
def test_more_evaluations_than_allowed_are_refused_before_any(encoder: Classifier, rule: str, passes: int) -> None:
    def run(most: int) -> Attribution:
        classifier = replace(encoder, limits=Limits(max_evaluations=most))
        return explain(classifier, "a funny film", METHOD, rule=rule, steps=10)

    assert run(passes).cost.backward == passes
    with (
        watched(encoder) as seen,
        pytest.raises(RequestError, match=f"{passes} model .* 3 tokens.* limit is {passes - 1}"),
    ):
        run(passes - 1)
    assert seen.backward == 0
