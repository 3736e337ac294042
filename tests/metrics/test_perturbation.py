"""Closed forms of the metrics, and the ranking of features by a map."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explainlab.metrics.presets import PRESETS
from explainlab.metrics.registry import get_metric
from explainlab.models.classifier import Classifier
from explainlab.request import Unit
from explainlab.text.units import Feature, Units
from tests.attribution.conftest import Toys
from tests.failures import check_each
from tests.metrics.conftest import PERTURBING, TEXT, WITH_PRESETS, case_of, judged, value_of
from tests.metrics.slow import log_probability
from tests.toys import Linear

every_metric = pytest.mark.parametrize("metric", PERTURBING)
every_preset = pytest.mark.parametrize("preset", PRESETS)


class Constant(nn.Module):
    """The same scores for every text."""

    def forward(self, x: Tensor) -> Tensor:
        return x.new_tensor([1.0, -1.0]).expand(len(x), 2)


class Bag(nn.Module):
    """Every token adds to the first class what its embedding weighs, wherever it stands."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6) / 20)

    def forward(self, x: Tensor) -> Tensor:
        total = (x @ self.weight).sum(dim=1)
        return torch.stack([total, -total], dim=-1)


# Closed forms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["token", "word"])
@pytest.mark.parametrize("removal", ["delete", "mask"])
def test_all_kept_or_none_removed_changes_nothing(classifier: Classifier, unit: Unit, removal: str) -> None:
    case = case_of(classifier, unit=unit)
    names = [f"sufficiency:k=100:removal={removal}", f"comprehensiveness:k=0:removal={removal}", "log_odds:k=0"]
    for row in judged(classifier, [case], *names)[0]:
        assert [metric_result.value for metric_result in row] == [0, 0, 0]


def test_a_constant_model_scores_nothing(toys: Toys) -> None:
    classifier = toys(Constant)

    def check(case: tuple[str, str]) -> None:
        for row in judged(classifier, [case_of(classifier)], f"{case[0]}:preset={case[1]}")[0]:
            assert row[0].value == 0

    check_each(check, product(WITH_PRESETS, PRESETS))


def test_a_metric_that_is_the_same_at_every_level() -> None:
    def check(case: tuple[str, str, str]) -> None:
        metric, preset, divisor = case
        found = get_metric(metric)
        parameters = found.Parameters(preset=preset, bins=(10, 20, 30, 40), divisor=divisor)
        scores = np.arange(20, 0, -1, dtype=float)[None]
        perturbed = found.perturb(scores, _line(20), parameters)
        value = found.value(perturbed, np.log(0.9), np.full((1, 4), np.log(0.6)), parameters)
        assert value == pytest.approx(0.3 * (4 / 5 if divisor == "bins_plus_one" else 1))

    metrics = ("aopc_sufficiency", "aopc_comprehensiveness")
    check_each(check, product(metrics, PRESETS, ("bins", "bins_plus_one")))


def test_the_envelope_never_falls_back() -> None:
    scores = np.arange(20, 0, -1, dtype=float)[None]
    found = np.log([[0.9, 0.5, 0.7, 0.2]])
    expected = {"aopc_comprehensiveness": (0, 0.4, 0.4, 0.7), "aopc_sufficiency": (0, 0, 0, 0)}
    for metric, effects in expected.items():
        asked = get_metric(metric)
        parameters = asked.Parameters(preset="alti", bins=(0, 10, 20, 30))
        value = asked.value(asked.perturb(scores, _line(20), parameters), np.log(0.9), found, parameters)
        assert value == pytest.approx(np.mean(effects))


def test_log_odds_are_natural_logarithms() -> None:
    metric = get_metric("log_odds")
    parameters = metric.Parameters()
    perturbed = metric.perturb(np.ones((1, 20)), _line(20), parameters)
    assert metric.value(perturbed, np.log(0.8), np.log([[0.2]]), parameters) == pytest.approx(np.log(0.25))
    assert metric.value(perturbed, np.log(0.8), np.log([[0.8]]), parameters) == 0


def test_the_best_order_of_a_linear_model_is_by_its_terms(toys: Toys) -> None:
    classifier = toys(Linear)
    text = "a good film, a"
    encoding = classifier.encode(text)
    n = len(encoding)
    assert n == 5
    target = case_of(classifier, text).target
    head = classifier.model.network.head
    weight = head.weight[:n, :, target] - head.weight[:n, :, 1 - target]
    words = classifier.embed(torch.tensor(encoding.ids))
    filler = classifier.embed(torch.tensor(classifier.filler_id("mask")))
    terms = (weight * (words - filler)).sum(dim=-1).double().numpy()
    orders = np.array([np.argsort(order) for order in permutations(range(n))], dtype=float)
    case = case_of(classifier, text, scores=np.concatenate([terms[None], orders]))
    for k in (20, 40, 60, 80):
        names = [f"comprehensiveness:k={k}:removal=mask", f"sufficiency:k={k}:removal=mask", f"log_odds:k={k}"]
        best, *others = (
            [metric_result.value for metric_result in row] for row in judged(classifier, [case], *names)[0]
        )
        assert best[0] == pytest.approx(max(other[0] for other in others), abs=1e-6)
        assert best[2] == pytest.approx(min(other[2] for other in others), abs=1e-6)
        if n * k // 100:
            assert best[1] == pytest.approx(min(other[1] for other in others), abs=1e-6)


def test_the_best_order_of_a_bag_of_words_when_tokens_are_deleted(toys: Toys) -> None:
    classifier = toys(Bag)
    probe = case_of(classifier)
    words = classifier.embed(torch.tensor(probe.encoding.ids))
    sign = 1 if probe.target == 0 else -1
    terms = sign * (words @ classifier.model.network.head.weight).double().numpy()
    random = np.random.default_rng(0).normal(size=(50, len(terms)))
    case = case_of(classifier, scores=np.concatenate([terms[None], random]))
    best, *others = (
        [j.value for j in row] for row in judged(classifier, [case], "comprehensiveness", "sufficiency")[0]
    )
    assert best[0] > max(other[0] for other in others)
    assert best[1] < min(other[1] for other in others)


# Ranks ---------------------------------------------------------------------------------------------------------------


@every_preset
def test_ties_go_by_position_and_signs_count(encoder: Classifier, preset: str) -> None:
    case = case_of(encoder)
    n = len(case.units.features)
    scores = np.zeros((2, n))
    scores[0] = 1
    scores[1, 3] = -5
    scores[1, 5] = 2
    case = case_of(encoder, scores=scores)
    steps = [row[0].steps[0] for row in judged(encoder, [case], f"comprehensiveness:preset={preset}:k=10")[0]]
    first, count = 0 if PRESETS[preset].special else 1, len(steps[0].removed)
    start = n - 1 - count if preset == "ferret" else first
    assert steps[0].removed == tuple(range(start, start + count))
    assert 5 in steps[1].removed
    assert 3 not in steps[1].removed
    if preset == "ferret":
        assert steps[1].removed == (5,)


def test_special_tokens_never_rank_unless_the_preset_says_so(encoder: Classifier) -> None:
    n = len(case_of(encoder, pair=TEXT).units.features)
    case = case_of(encoder, pair=TEXT, scores=np.arange(n, 0, -1, dtype=float)[None])
    special = {i for i, feature in enumerate(case.units.features) if feature.special}
    assert len(special) == 3
    for preset, row in PRESETS.items():
        (((metric_result,),),) = judged(encoder, [case], f"comprehensiveness:preset={preset}:k=90")
        assert bool(special & set(metric_result.steps[0].removed)) == row.special


@pytest.mark.parametrize("n", [1, 2, 5, 7, 19, 20, 33, 100, 129, 512])
def test_counts_are_exact_for_every_length(n: int) -> None:
    scores = np.arange(n, 0, -1, dtype=float)[None]
    for preset, up in (("rpi", False), ("eraser", False), ("alti", True)):
        metric = get_metric("aopc_comprehensiveness")
        parameters = metric.Parameters(preset=preset, bins=tuple(range(101)))
        found = metric.perturb(scores, _line(n), parameters).counts[0].tolist()
        assert found == [(k * n + 99) // 100 if up else k * n // 100 for k in range(101)]
    for metric_id, expected in (
        ("aopc_comprehensiveness", [(k * n + 99) // 100 for k in range(101)]),
        ("aopc_sufficiency", [n - ((100 - k) * n + 99) // 100 for k in range(101)]),
    ):
        metric = get_metric(metric_id)
        parameters = metric.Parameters(preset="thesis", bins=tuple(range(101)))
        assert metric.perturb(scores, _line(n), parameters).counts[0].tolist() == expected


def test_ferret_leaves_out_what_it_has_seen() -> None:
    metric = get_metric("aopc_comprehensiveness")
    parameters = metric.Parameters(preset="ferret")
    scores = np.array([[3.0, 2.0, -1.0, -2.0, 0.0]])
    perturbed = metric.perturb(scores, _line(5), parameters)
    assert perturbed.counts.tolist() == [[0, 1, 1, 2, 2, 2, 2, 2, 2, 2]]
    found = np.log(np.linspace(0.85, 0.4, 10))[None]
    assert metric.value(perturbed, np.log(0.9), found, parameters) == pytest.approx(0.9 - (0.8 + 0.7) / 2)
    none = metric.perturb(-np.abs(scores), _line(5), parameters)
    assert none.meant.tolist() == [[False, True] + [False] * 8], "20% of five features is the first that is one"
    assert metric.value(none, np.log(0.9), found, parameters) == pytest.approx(0.9 - 0.8)


def _ferret(scores: list[float]) -> list[tuple[int, ...]]:
    """The rationales that ferret's measures read one after another, by its rules as its code has them."""
    read: list[tuple[int, ...]] = []
    for tenth in range(1, 11):
        size = tenth * len(scores) // 10
        top = [i for i in np.argsort(scores, kind="stable")[::-1][:size] if scores[i] > 0]
        if size and (not read or set(top) != set(read[-1])):
            read.append(tuple(sorted(top)))
    return read


@pytest.mark.parametrize(
    "scores",
    [
        [-1.0, -2.0, -3.0, -0.5, -1.5, -4.0, -2.5, -3.5],
        [0.0] * 12,
        [-1.0] * 3,
        [1.0] * 9,
        [0.5, -1.0, 0.5, 0.5, -1.0, 0.0, 0.5],
        [2.0, 1.0, 1.0, 1.0, -1.0, 1.0, 0.0, 2.0, 2.0, 0.5, 0.5],
        [-1.0],
        [3.0],
    ],
)
def test_ferret_reads_the_last_of_equal_scores_and_nothing_of_a_map_without_a_positive_one(scores: list[float]) -> None:
    for name, keeps in (("aopc_sufficiency", True), ("aopc_comprehensiveness", False)):
        metric = get_metric(name)
        parameters = metric.Parameters(preset="ferret")
        perturbed = metric.perturb(np.array([scores]), _line(len(scores)), parameters)
        stays = perturbed.stays[0, perturbed.meant[0]]
        assert [tuple(np.flatnonzero(row == keeps).tolist()) for row in stays] == _ferret(scores)


def test_without_a_positive_score_nothing_of_the_text_is_left_for_ferret(encoder: Classifier) -> None:
    """Its sufficiency is p(x) - p(the text of special tokens alone), its comprehensiveness 0."""
    n = len(case_of(encoder).units.features)
    case = case_of(encoder, scores=-np.arange(1, n + 1, dtype=float)[None])
    nothing = log_probability(encoder, case.encoding.ids[[0, -1]].tolist(), [0, 0], case.target)
    whole = torch.tensor(case.logits).softmax(dim=0)[case.target].item()
    assert value_of(encoder, case, "aopc_sufficiency:preset=ferret") == pytest.approx(whole - np.exp(nothing), abs=1e-6)
    assert value_of(encoder, case, "aopc_comprehensiveness:preset=ferret") == pytest.approx(0, abs=1e-6)
    assert abs(whole - np.exp(nothing)) > 1e-3


@every_metric
def test_better_is_as_declared(toys: Toys, metric: str) -> None:
    classifier = toys(Bag)
    probe = case_of(classifier)
    words = classifier.embed(torch.tensor(probe.encoding.ids))
    terms = (words @ classifier.model.network.head.weight).double().numpy() * (1 if probe.target == 0 else -1)
    case = case_of(classifier, scores=np.stack([terms, -terms]))
    good, bad = (value_of(classifier, case, metric, candidate) for candidate in (0, 1))
    assert (good > bad) == get_metric(metric).higher_is_better


def _line(n: int) -> Units:
    """``n`` features that are no special tokens."""
    return Units(tuple(Feature("x", i, i + 1, False, 0) for i in range(n)), np.arange(n))
