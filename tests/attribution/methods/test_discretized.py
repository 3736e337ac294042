"""Discretized integrated gradients: against a slow search and single points, closed forms, and the path itself."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from explainlab import Attribution, explain
from explainlab.attribution.methods.discretized import Vocabulary
from explainlab.errors import Cancelled, RequestError
from explainlab.limits import Limits
from explainlab.models.classifier import Classifier
from explainlab.testing.observation import Recorder
from tests.attribution.conftest import Toys, on_models
from tests.attribution.plain import Plain, Scalar, close, gradient
from tests.conftest import Zoo
from tests.failures import check_each
from tests.toys import Linear

TEXT = "A funny film. It isn't good!"
METHOD = "discretized_integrated_gradients"

every_strategy = pytest.mark.parametrize("strategy", ["greedy", "maxcount"])


class Slow:
    """The search for one path, word by word and dimension by dimension as the paper tells it."""

    def __init__(self, table: np.ndarray, goal: np.ndarray, steps: int, neighbours: int, strategy: str) -> None:
        self.table, self.goal, self.steps = table, goal, steps
        self.neighbours, self.strategy = neighbours, strategy

    def path(self, word: int) -> np.ndarray:
        """float32 [steps + 2, d] from the goal to the word."""
        anchors: list[int] = [word]
        points = [self.table[word]]
        for _ in range(self.steps):
            following = None if anchors[-1] is None else self.following(anchors)
            anchors.append(following)
            points.append(self.goal if following is None else self.monotone(points[-1], self.table[following]))
        return np.stack([self.goal, *reversed(points)])

    def following(self, anchors: list[int]) -> int | None:
        last = self.table[anchors[-1]]
        distance = np.sqrt(np.square(self.table - last).sum(axis=1))
        distance[anchors[-1]] = np.inf
        best, lowest = None, np.inf
        for word in np.argsort(distance, kind="stable")[: min(self.neighbours, len(self.table) - 1)]:
            if word in anchors or np.array_equal(self.table[word], self.goal):
                continue
            cost = self.cost(last, self.table[word])
            if cost < lowest:
                best, lowest = int(word), cost
        return best

    def cost(self, last: np.ndarray, word: np.ndarray) -> float:
        if self.strategy == "greedy":
            return float(np.sqrt(np.square(word - self.monotone(last, word)).sum()))
        return float((~self.between(last, word)).sum())

    def between(self, last: np.ndarray, word: np.ndarray) -> np.ndarray:
        return np.where(last > self.goal, (self.goal <= word) & (word <= last), (last <= word) & (word <= self.goal))

    def monotone(self, last: np.ndarray, word: np.ndarray) -> np.ndarray:
        return np.where(self.between(last, word), word, last - (last - self.goal) / np.float32(self.steps))


def slow_paths(plain: Plain, text: str, start: Tensor, **options: object) -> Tensor:
    """[steps + 2, N, d]: the paths of all tokens; special ones stay where they are."""
    table, ids = plain.model.get_input_embeddings().weight.numpy(), plain.ids(text)
    paths = []
    for token, special in enumerate(plain.special(text).tolist()):
        if special:
            paths.append(np.repeat(table[ids[token]][None], options["steps"] + 2, axis=0))
        else:
            paths.append(Slow(table, start[0, token].numpy(), **options).path(int(ids[token])))
    return torch.from_numpy(np.stack(paths, axis=1))


def by_loop(scalar: Scalar, path: Tensor) -> Tensor:
    """Scores [N] by the left rule over a path [m + 2, N, d], one point at a time."""
    steps = [(gradient(scalar, here[None])[0] * (there - here)) for here, there in pairwise(path)]
    return torch.stack(steps).sum(dim=(0, 2))


def content(result: Attribution) -> np.ndarray:
    return np.array([not feature.special for feature in result.features])


# Against a slow search and single points -----------------------------------------------------------------------------


@on_models(strategy=["greedy", "maxcount"])
def test_equals_a_loop_over_single_points(model: Classifier, plain: Plain, strategy: str) -> None:
    start, end = plain.baseline(TEXT), plain.embed(plain.ids(TEXT))
    options = {"steps": 4, "neighbours": 30, "strategy": strategy}
    paths = slow_paths(plain, TEXT, start, **options)
    for output in ("probability", "logit"):
        scalar = plain.scalar(output, plain.predicted(TEXT))
        found = explain(model, TEXT, METHOD, output=output, **options)
        close(found.scores, by_loop(scalar, paths))
        expected = float(scalar(end) - scalar(start))
        assert found.completeness.expected == pytest.approx(expected, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("baseline", ["pad", "unk", "zero"])
def test_equals_a_loop_from_every_baseline(encoder: Classifier, baseline: str) -> None:
    plain = Plain(encoder.id, encoder.tokenizer)
    options = {"steps": 6, "neighbours": 50, "strategy": "greedy"}
    found = explain(encoder, TEXT, METHOD, baseline=baseline, target=1, **options)
    paths = slow_paths(plain, TEXT, plain.baseline(TEXT, baseline), **options)
    close(found.scores, by_loop(plain.scalar("probability", 1), paths))


@every_strategy
def test_many_batches_and_blocks_equal_a_loop(
    encoder: Classifier, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """Neither how many points run at once nor how many words are looked at together changes the scores."""
    plain = Plain(encoder.id, encoder.tokenizer)
    options = {"steps": 7, "neighbours": 40, "strategy": strategy}
    classifier = replace(encoder, limits=Limits(batch_tokens=3 * len(plain.ids(TEXT))))
    monkeypatch.setattr("explainlab.attribution.methods.discretized.CANDIDATES", 3 * 40 * 32)
    monkeypatch.setattr("explainlab.attribution.methods.discretized.DISTANCES", 2 * len(encoder.tokenizer))
    monkeypatch.setattr("explainlab.attribution.methods.discretized.ROWS", 17)
    found = explain(classifier, TEXT, METHOD, output="logit", target=0, **options)
    paths = slow_paths(plain, TEXT, plain.baseline(TEXT), **options)
    close(found.scores, by_loop(plain.scalar("logit", 0), paths))


# Closed forms --------------------------------------------------------------------------------------------------------


def test_a_linear_model_is_exact_on_any_path(toys: Toys) -> None:
    classifier = toys(Linear)

    def check(case: tuple[str, str, tuple[int, int]]) -> None:
        strategy, baseline, (steps, neighbours) = case
        options = {"baseline": baseline, "output": "logit", "target": "first"}
        found = explain(classifier, TEXT, METHOD, strategy=strategy, steps=steps, neighbours=neighbours, **options)
        close(found.scores, explain(classifier, TEXT, rule="midpoint", **options).scores, 1e-5)
        assert found.completeness.approximation_error < 1e-5
        assert found.scores[Linear.UNUSED] == 0

    check_each(check, product(("greedy", "maxcount"), ("mask", "zero"), ((0, 1), (1, 10), (5, 1), (30, 500))))


def test_without_anchors_it_is_one_step_from_the_baseline(model: Classifier, plain: Plain) -> None:
    start, end = plain.baseline(TEXT), plain.embed(plain.ids(TEXT))
    slope = gradient(plain.scalar("probability", 1), start)
    found = explain(model, TEXT, METHOD, steps=0, target=1)
    close(found.scores, (slope * (end - start)).sum(dim=-1)[0])
    assert (found.cost.forward, found.cost.backward) == (3, 1)


# The path ------------------------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 10**6),
    size=st.integers(2, 40),
    steps=st.integers(0, 12),
    neighbours=st.integers(1, 60),
    strategy=st.sampled_from(["greedy", "maxcount"]),
    decimals=st.sampled_from([0, 1, 6]),
)
def test_a_path_never_turns_back_and_its_ends_are_exact(
    seed: int, size: int, steps: int, neighbours: int, strategy: str, decimals: int
) -> None:
    """Also where words share numbers or are equal (few decimals); the path is that of the slow search."""
    table = torch.randn(size, 5, generator=torch.Generator().manual_seed(seed)).round(decimals=decimals)
    words, goals = torch.arange(size), table[[seed % size]].expand(size, -1)
    path = Vocabulary(table, steps, neighbours, strategy).paths(words, goals)
    assert path.shape == (steps + 2, size, 5)
    assert torch.equal(path[0], goals)
    assert torch.equal(path[-1], table)
    moves = path.diff(dim=0)
    assert ((moves >= 0).all(dim=0) | (moves <= 0).all(dim=0)).all()
    if decimals == 6:
        slow = Slow(table.numpy(), goals[0].numpy(), steps, neighbours, strategy)
        expected = np.stack([slow.path(word) for word in range(size)], axis=1)
        np.testing.assert_allclose(path.numpy(), expected, atol=1e-6)


def test_every_word_may_have_a_goal_of_its_own() -> None:
    table = torch.randn(50, 6, generator=torch.Generator().manual_seed(1))
    words, goals = torch.tensor([3, 3, 7]), table[[10, 11, 12]]
    vocabulary = Vocabulary(table, 8, 20, "greedy")
    together = vocabulary.paths(words, goals)
    for i in range(3):
        torch.testing.assert_close(together[:, [i]], vocabulary.paths(words[[i]], goals[[i]]))


def test_a_path_rests_at_its_goal_when_no_word_is_left() -> None:
    """Two words and the goal in a row: the first anchor is the only one."""
    table = torch.tensor([[0.0], [1.0], [2.0]])
    path = Vocabulary(table, 4, 500, "greedy").paths(torch.tensor([2]), table[[0]])
    assert path[:, 0, 0].tolist() == [0, 0, 0, 0, 1, 2]


def test_the_strategies_choose_as_the_paper_says() -> None:
    """Points from (8, 8) to the origin: one word leaves the box far in one dimension, the other a little in both."""
    table = torch.tensor([[0.0, 0.0], [8.0, 8.0], [-9.0, 3.0], [8.5, 8.5]])
    first = {
        strategy: Vocabulary(table, 2, 3, strategy).paths(torch.tensor([1]), table[[0]])[2, 0].tolist()
        for strategy in ("greedy", "maxcount")
    }
    assert first == {"greedy": [4, 4], "maxcount": [4, 3]}


# Special cases and costs ---------------------------------------------------------------------------------------------


def test_special_tokens_score_nothing(model: Classifier) -> None:
    result = explain(model, TEXT, METHOD, steps=2, neighbours=50)
    assert (result.scores[~content(result)] == 0).all()
    assert (result.scores[content(result)] != 0).all()


@every_strategy
@pytest.mark.parametrize("target", ["predicted", 1])
def test_cost_is_one_gradient_more_than_anchors(model: Classifier, strategy: str, target: str | int) -> None:
    cost = explain(model, TEXT, METHOD, steps=5, neighbours=20, strategy=strategy, target=target).cost
    assert (cost.forward, cost.backward) == (8, 6)


def test_a_typed_mask_is_a_token_that_says_nothing(encoder: Classifier) -> None:
    result = explain(encoder, "a [MASK] film", METHOD, steps=4)
    assert result.scores[2] == 0
    assert (result.scores[[1, 3]] != 0).all()


@pytest.mark.parametrize(("name", "text", "baseline"), [("bert", "😀 😀", "unk"), ("gpt2", " ... ...", "mask")])
def test_a_text_that_is_its_own_baseline_takes_no_gradient(zoo: Zoo, name: str, text: str, baseline: str) -> None:
    result = explain(zoo(name), text, METHOD, baseline=baseline)
    assert (result.scores == 0).all()
    assert result.completeness.expected == 0
    assert (result.cost.forward, result.cost.backward) == (1, 0)


def test_a_word_is_the_sum_of_its_tokens(model: Classifier) -> None:
    run = partial(explain, model, TEXT, METHOD, steps=3, neighbours=20)
    tokens, words = run(), run(unit="word")
    for feature, score in zip(words.features, words.scores, strict=True):
        inside = [not t.special and feature.start <= t.start and t.end <= feature.end for t in tokens.features]
        if not feature.special:
            assert score == pytest.approx(tokens.scores[inside].sum(), rel=1e-9, abs=1e-12)


def test_the_search_can_be_cancelled(encoder: Classifier) -> None:
    with pytest.raises(Cancelled):
        explain(encoder, TEXT, METHOD, steps=30, context=Recorder(last=5).context)


# Errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [{"steps": -1}, {"steps": 1_001}, {"neighbours": 0}, {"neighbours": 10_001}, {"strategy": "random"}],
)
def test_parameters_out_of_range_are_refused(encoder: Classifier, wrong: dict[str, object]) -> None:
    with pytest.raises(RequestError, match=rf"{METHOD}: {next(iter(wrong))} = .* is not accepted"):
        explain(encoder, TEXT, METHOD, **wrong)


def test_more_evaluations_than_allowed_are_refused(encoder: Classifier) -> None:
    classifier = replace(encoder, limits=Limits(max_evaluations=10))
    assert explain(classifier, TEXT, METHOD, steps=9).cost.backward == 10
    with pytest.raises(RequestError, match=r"11 model evaluations .* limit is 10;"):
        explain(classifier, TEXT, METHOD, steps=10)
