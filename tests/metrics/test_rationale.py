"""The seven metrics of a rationale: closed forms, random orders, scikit-learn, and slow loops in their own words."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import auc, average_precision_score, f1_score, jaccard_score, precision_recall_curve

from explainlab.metrics.metric import PlausibilityMetric
from explainlab.metrics.registry import get_metric, metric_ids, parse_metric
from explainlab.models.classifier import Classifier
from explainlab.request import Unit
from explainlab.text.units import Feature, Units, group, marked_features
from tests.failures import check_each
from tests.metrics.conftest import PAIR, TEXT, case_of, judged

ALL = metric_ids("Rationale")


def line(first: int, second: int = 0) -> Units:
    """Return the features of a text and of its pair, with a special one at the ends and between."""
    parts = [-1, *[0] * first, -1, *[1] * second, *([-1] if second else [])]
    features = tuple(Feature("", i, i + 1, part < 0, max(part, 0)) for i, part in enumerate(parts))
    return Units(features, np.arange(len(features)))


def values(name: str, scores: Any, rationale: Any, units: Units) -> np.ndarray:
    """The metric of ``scores`` [C, n] for the features of the text that are in G, a bool [n]; special ones score 0."""
    request = parse_metric(name)
    metric = get_metric(request.metric)
    assert isinstance(metric, PlausibilityMetric)
    full = np.zeros((len(scores), len(units.features)))
    full[:, units.content] = scores
    marked = np.zeros(len(units.features), dtype=bool)
    marked[units.content] = rationale
    return metric.value(full, units, marked, request.parameters)


def drawn(rng: np.random.Generator, n: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    """Five random attributions of ``n`` features, and a random G."""
    scores = rng.normal(size=(5, n))
    rationale = rng.random(n) < 0.4
    rationale[rng.integers(n)] = True
    return (np.round(scores) if ties else scores), rationale


CASES = [(seed, n, ties) for seed, n in enumerate([1, 2, 3, 7, 20, 61, 130]) for ties in (False, True)]
random_cases = pytest.mark.parametrize(("seed", "n", "ties"), CASES)


# Closed forms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marked", [1, 2, 5, 10])
def test_a_rationale_that_is_ranked_first(marked: int) -> None:
    rationale = np.random.default_rng(marked).permutation(np.arange(10) < marked)
    scores = [np.where(rationale, 2.0, 1.0) + np.random.default_rng(1).random(10) / 2]
    expected = {
        "ground_truth_overlap": 1,
        "ground_truth_overlap:exact=true": 1,
        "mean_rank": marked,
        "mean_rank_percentage": marked / 10,
        f"token_f1:k={10 * marked}": 1,
        f"token_iou:k={10 * marked}": 1,
        f"iou_f1:k={10 * marked}:threshold=1": 1,
        "auprc": 1,
        "auprc:area=trapezoid": 1,
    }
    for name, value in expected.items():
        assert values(name, scores, rationale, line(10)) == pytest.approx(value, abs=1e-15), name


def test_a_rationale_that_is_ranked_last() -> None:
    rationale = np.arange(10) < 3
    scores = [np.arange(10.0)]
    expected = {"ground_truth_overlap": 0, "mean_rank": 10, "mean_rank_percentage": 1, "token_f1": 0, "token_iou": 0}
    expected |= {"iou_f1": 0, "auprc": (1 / 8 + 2 / 9 + 3 / 10) / 3}
    for name, value in expected.items():
        assert values(name, scores, rationale, line(10)) == pytest.approx(value), name


@pytest.mark.parametrize(("n", "marked"), [(12, 1), (12, 4), (30, 7)])
def test_random_orders_have_the_expected_means(n: int, marked: int) -> None:
    """E[overlap] = |G| / n and E[mean rank] = |G| (n + 1) / (|G| + 1), within five standard errors of 10,000 draws.

    A right program fails one time in two million; the draws are the same in every run.
    """
    scores = np.random.default_rng(n + marked).random((10_000, n))
    rationale = np.arange(n) < marked
    expected = {"ground_truth_overlap": marked / n, "mean_rank": marked * (n + 1) / (marked + 1)}
    expected["mean_rank_percentage"] = expected["mean_rank"] / n
    for name, mean in expected.items():
        found = values(name, scores, rationale, line(n))
        assert abs(found.mean() - mean) < 5 * found.std() / 100, name


def test_the_mean_rank_is_that_of_the_last_one_found() -> None:
    rationale = np.array([False, True, False, True, False])
    scores = [[5, 4, 3, 2, 1], [1, 5, 2, 4, 3], [4, 1, 5, 3, 2]]
    assert values("mean_rank", scores, rationale, line(5)).tolist() == [4, 2, 5]
    assert values("mean_rank_percentage", scores, rationale, line(5)).tolist() == [0.8, 0.4, 1]
    assert values("ground_truth_overlap", scores, rationale, line(5)).tolist() == [0.5, 1, 0]
    assert values("ground_truth_overlap:exact=true", scores, rationale, line(5)).tolist() == [0, 1, 0]


def test_equal_scores_are_ranked_in_the_order_of_the_text() -> None:
    flat = [np.zeros(4)]
    for i, rank in enumerate([1, 2, 3, 4]):
        rationale = np.arange(4) == i
        assert values("mean_rank", flat, rationale, line(4)) == rank
        assert values("ground_truth_overlap", flat, rationale, line(4)) == (i == 0)
        assert values("token_f1:k=50", flat, rationale, line(4)) == pytest.approx(2 / 3 if i < 2 else 0)
        assert values("auprc", flat, rationale, line(4)) == pytest.approx(1 / 4), "of equal scores there is one cut"


def test_by_size_a_strong_negative_score_comes_first() -> None:
    rationale = np.array([True, False, False])
    scores = [[-3.0, 2.0, 1.0]]
    assert values("mean_rank", scores, rationale, line(3)) == 3
    for name in ALL:
        first = values(f"{name}:ranking=absolute", scores, rationale, line(3))
        assert first == values(name, np.abs(scores), rationale, line(3)), name
        assert first != values(name, scores, rationale, line(3)), name


def test_k_is_rounded_down_and_selects_at_least_one() -> None:
    rationale = np.arange(9) < 3
    scores = [np.arange(9, 0, -1)]
    for k, selected in {1: 1, 20: 1, 22: 1, 23: 2, 33: 2, 34: 3, 100: 9}.items():
        shared = min(selected, 3)
        assert values(f"token_f1:k={k}", scores, rationale, line(9)) == pytest.approx(2 * shared / (selected + 3))
        assert values(f"token_iou:k={k}", scores, rationale, line(9)) == pytest.approx(shared / max(selected, 3))


def test_the_thesis_ranks_and_counts_special_tokens() -> None:
    units = line(4)
    marked = np.array([False, False, True, False, False, False])
    scores = np.array([[9.0, 1, 5, 2, 3, 7]])

    def of(name: str, preset: str) -> float:
        request = parse_metric(f"{name}:preset={preset}")
        return get_metric(name).value(scores, units, marked, request.parameters)[0]

    assert of("mean_rank", "ours") == 1
    assert of("mean_rank", "thesis") == 3
    assert of("mean_rank_percentage", "ours") == 1 / 4
    assert of("mean_rank_percentage", "thesis") == 3 / 6
    assert of("ground_truth_overlap", "ours") == 1
    assert of("ground_truth_overlap", "thesis") == 0


# Independent ---------------------------------------------------------------------------------------------------------


@random_cases
def test_areas_and_scores_are_those_of_scikit_learn(seed: int, n: int, ties: bool) -> None:
    scores, rationale = drawn(np.random.default_rng(seed), n, ties)
    count = max(1, 20 * n // 100)
    for i, own in enumerate(scores):
        selected = np.zeros(n, dtype=bool)
        selected[np.argsort(-own, kind="stable")[:count]] = True
        precision, recall, _ = precision_recall_curve(rationale, own)
        expected = {
            "auprc": average_precision_score(rationale, own),
            "auprc:area=trapezoid": auc(recall, precision),
            "token_f1": f1_score(rationale, selected),
            "token_iou": jaccard_score(rationale, selected),
        }
        for name, value in expected.items():
            assert values(name, scores, rationale, line(n))[i] == pytest.approx(value, abs=1e-12), name


def slow_runs(chosen: np.ndarray, parts: list[int]) -> list[set[int]]:
    """The runs of neighbours, one by one."""
    runs: list[set[int]] = []
    for i, part in enumerate(parts):
        if chosen[i]:
            if i and chosen[i - 1] and parts[i - 1] == part:
                runs[-1].add(i)
            else:
                runs.append({i})
    return runs


def slow_iou_f1(selected: np.ndarray, rationale: np.ndarray, parts: list[int], threshold: float) -> float:
    """F1 of the share of our runs that are met and the share of theirs."""
    ours, theirs = slow_runs(selected, parts), slow_runs(rationale, parts)

    def met(runs: list[set[int]], others: list[set[int]]) -> float:
        return sum(any(len(a & b) / len(a | b) >= threshold for b in others) for a in runs) / len(runs)

    precision, recall = met(ours, theirs), met(theirs, ours)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@random_cases
def test_runs_are_met_as_in_a_slow_loop(seed: int, n: int, ties: bool) -> None:
    scores, rationale = drawn(np.random.default_rng(seed + 50), n, ties)

    def check(case: tuple[float, int]) -> None:
        threshold, second = case
        units = line(n - second, second)
        parts = [units.features[i].part for i in units.content]
        for k in (1, 20, 50, 100):
            count = max(1, k * n // 100)
            found = values(f"iou_f1:k={k}:threshold={threshold}", scores, rationale, units)
            for own, value in zip(scores, found, strict=True):
                selected = np.zeros(n, dtype=bool)
                selected[np.argsort(-own, kind="stable")[:count]] = True
                assert value == pytest.approx(slow_iou_f1(selected, rationale, parts, threshold), abs=1e-12)

    check_each(check, product((0.1, 0.3, 0.5, 1.0), (0, n // 2)))


def eraser_iou_f1(selected: np.ndarray, rationale: np.ndarray, threshold: float) -> float:
    """ERASER's rule: the runs of A that are met, over those of A, and over those of G."""
    ours, theirs = slow_runs(selected, [0] * len(selected)), slow_runs(rationale, [0] * len(rationale))
    met = sum(max(len(a & b) / len(a | b) for b in theirs) >= threshold for a in ours)
    precision, recall = met / len(ours), met / len(theirs)
    return 2 * precision * recall / (precision + recall) if met else 0.0


@random_cases
def test_above_a_half_runs_are_met_as_in_erasers_code(seed: int, n: int, ties: bool) -> None:
    scores, rationale = drawn(np.random.default_rng(seed + 70), n, ties)
    for k, threshold in product((20, 50), (0.51, 0.7, 1.0)):
        found = values(f"iou_f1:k={k}:threshold={threshold}", scores, rationale, line(n))
        for own, value in zip(scores, found, strict=True):
            selected = np.zeros(n, dtype=bool)
            selected[np.argsort(-own, kind="stable")[: max(1, k * n // 100)]] = True
            assert value == pytest.approx(eraser_iou_f1(selected, rationale, threshold), abs=1e-12)


@pytest.mark.parametrize(
    ("selected", "rationale", "threshold", "ours", "erasers"),
    [
        ([1, 1, 0, 1, 1, 0], [1, 1, 1, 1, 1, 0], 0.4, 1.0, 4 / 3),
        ([1, 1, 1, 1, 1, 0], [1, 1, 0, 1, 1, 0], 0.4, 1.0, 2 / 3),
        ([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], 0.5, 1.0, 1.0),
        ([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], 0.6, 0.0, 0.0),
        ([1, 0, 1, 0, 0, 1], [1, 1, 1, 0, 0, 1], 0.3, 1.0, 6 / 5),
    ],
)
def test_where_a_run_meets_several_erasers_code_differs_and_the_definition_says_so(
    selected: list[int], rationale: list[int], threshold: float, ours: float, erasers: float
) -> None:
    marked, count = np.array(rationale, dtype=bool), sum(selected)
    name = f"iou_f1:k={-(-100 * count // len(selected))}:threshold={threshold}"
    assert values(name, [[float(i) for i in selected]], marked, line(len(selected)))[0] == pytest.approx(ours)
    assert eraser_iou_f1(np.array(selected, dtype=bool), marked, threshold) == pytest.approx(erasers)
    assert ("ERASER's code counts" in parse_metric(name).definition) == (threshold <= 0.5)


def test_a_run_ends_with_its_text() -> None:
    """The end of the first text and the beginning of the second are no neighbours."""
    rationale, scores = np.array([False, True, True, False]), [[1.0, 4, 3, 2]]
    assert values("iou_f1:k=50:threshold=1", scores, rationale, line(2, 2)) == 1
    assert values("iou_f1:k=25:threshold=1", scores, rationale, line(2, 2)) == pytest.approx(2 / 3)
    assert values("iou_f1:k=25:threshold=0.5", scores, rationale, line(4)) == 1
    assert values("iou_f1:k=25:threshold=0.51", scores, rationale, line(4)) == 0


@random_cases
def test_attributions_do_not_depend_on_those_beside_them(seed: int, n: int, ties: bool) -> None:
    scores, rationale = drawn(np.random.default_rng(seed + 9), n, ties)
    for name in [*ALL, "auprc:area=trapezoid", "ground_truth_overlap:exact=true", "mean_rank:preset=thesis"]:
        together = values(name, scores, rationale, line(n))
        assert together.dtype == np.float64
        assert np.isfinite(together).all()
        for i, own in enumerate(scores):
            assert values(name, own[None], rationale, line(n)) == together[i], name


# Of real texts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", [None, PAIR])
@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_every_unit_and_pairs(encoder: Classifier, unit: Unit, pair: str | None) -> None:
    """The evidence, in both texts, ranked first."""
    encoding = encoder.encode(TEXT, pair)
    units = group(encoding, unit)
    second = None if pair is None else ((2, 6),)
    rationale = marked_features(encoding, units, (((9, 17),), second))
    assert {units.features[i].part for i in np.flatnonzero(rationale)} == ({0} if pair is None else {0, 1})
    case = case_of(encoder, TEXT, pair, unit, scores=rationale.astype(float)[None], rationale=rationale)
    ((found,),) = judged(encoder, [case], *ALL)
    by_name = dict(zip(ALL, found, strict=True))
    assert by_name["ground_truth_overlap"].value == by_name["auprc"].value == 1
    assert by_name["mean_rank"].value == rationale.sum()
    assert by_name["mean_rank_percentage"].value == rationale.sum() / len(units.content)
    assert all(metric_result.counted == rationale.sum() and not metric_result.steps for metric_result in found)
