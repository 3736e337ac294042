"""Areas under activation curves: a slow loop, closed forms, the order of equal scores, and nothing run twice."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
import torch
from sklearn.metrics import auc
from torch import Tensor, nn

from explainlab.attribution.subject import Subject
from explainlab.errors import UnsupportedError
from explainlab.metrics.evaluate import Case, evaluate
from explainlab.metrics.registry import get_metric, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import Unit
from explainlab.testing import traces
from tests.attribution.conftest import Toys
from tests.conftest import Zoo, loaded
from tests.metrics.conftest import PAIR, TEXT, case_of, judged, value_of
from tests.metrics.slow import log_probability
from tests.metrics.test_evaluate import runs
from tests.tiers import full

BOTH = ("activation_auc", "inverse_activation_auc")


class Additive(nn.Module):
    """The probability of the first class is a half and what every token adds, wherever it stands."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6) / 1000)

    def forward(self, x: Tensor) -> Tensor:
        p = 0.5 + (x @ self.weight).sum(dim=1)
        return torch.stack([p, 1 - p], dim=-1).log()


def slow_curve(classifier: Classifier, case: Case, scores: list[float], rising: bool, baseline: str) -> list[float]:
    """The target's probability after k features, one text at a time, token by token."""
    order = sorted(case.units.content.tolist(), key=lambda i: scores[i] if rising else -scores[i])
    encoding, found = case.encoding, []
    for k in range(len(order) + 1):
        hidden = order[k:]
        ids = [
            classifier.filler_id(baseline) if case.units.membership[i] in hidden else int(encoding.ids[i])
            for i in range(len(encoding))
        ]
        found.append(np.exp(log_probability(classifier, ids, encoding.types.tolist(), case.target)))
    return found


def slow_area(curve: list[float]) -> float:
    """The trapezoids over k/n, added up."""
    n = len(curve) - 1
    return sum((curve[k] + curve[k + 1]) / 2 / n for k in range(n))


def terms_of(classifier: Classifier, case: Case) -> np.ndarray:
    """Return each token's contribution to the target's probability, over the mask token, in an additive model."""
    words = classifier.embed(torch.tensor(case.encoding.ids))
    filler = classifier.embed(torch.tensor(classifier.filler_id("mask")))
    terms = (words - filler) @ classifier.model.network.head.weight
    return terms.double().numpy() * (1 if case.target == 0 else -1)


# Values --------------------------------------------------------------------------------------------------------------


SLOW = "a slow loop takes a second or more"


@pytest.mark.parametrize(
    ("name", "pair", "unit", "baseline"),
    [
        ("bert", PAIR, "word", "unk"),
        ("gpt2", None, "word", "mask"),
        full("bert", None, "token", "mask", reason=SLOW),
        full("bert", None, "token", "pad", reason=SLOW),
        full("roberta", PAIR, "sentence", "mask", reason=SLOW),
        full("llama", None, "token", "mask", reason=SLOW),
        full("t5", None, "word", "unk", reason=SLOW),
        full("modernbert-mean", PAIR, "word", "mask", reason=SLOW),
        full("embedded:gpt2-mini-ag-news", None, "word", "mask", reason=SLOW),
        full("embedded:bert-mini-sst2", None, "sentence", "mask", reason=SLOW),
    ],
)
def test_an_area_is_that_of_a_slow_loop(zoo: Zoo, name: str, pair: str | None, unit: Unit, baseline: str) -> None:
    classifier = loaded(name) if ":" in name else zoo(name)
    case = case_of(classifier, pair=pair, unit=unit, maps=2)
    (found,) = judged(classifier, [case], *(f"{metric}:baseline={baseline}" for metric in BOTH))
    for row, scores in zip(found, case.scores.tolist(), strict=True):
        for metric_result, rising in zip(row, (False, True), strict=True):
            curve = slow_curve(classifier, case, scores, rising, baseline)
            assert metric_result.value == pytest.approx(slow_area(curve), abs=2e-6)
            assert metric_result.value == pytest.approx(auc(np.linspace(0, 1, len(curve)), curve), abs=2e-6)
            assert metric_result.probabilities[:, case.target] == pytest.approx(curve, abs=2e-6)
            assert metric_result.probabilities.sum(axis=1) == pytest.approx(np.ones(len(curve)))
            assert metric_result.counted == len(case.units.content)


def test_padding_in_place_of_a_feature_moves_no_position(zoo: Zoo) -> None:
    roberta = zoo("roberta")
    case = case_of(roberta, maps=1)
    n = len(case.units.content)
    places = np.argsort(np.argsort(-case.scores[0, case.units.content], kind="stable"))
    keep = places[None] < np.arange(n + 1)[:, None]
    subject = Subject(roberta, case.encoding, target=str(case.target))
    (((metric_result,),),) = judged(roberta, [case], "activation_auc:baseline=pad")
    np.testing.assert_allclose(metric_result.probabilities[:, case.target], subject.masked(keep, "pad"), atol=2e-6)


def test_the_steps_tell_what_is_revealed(encoder: Classifier) -> None:
    text = "a good film, a great story"
    n = len(case_of(encoder, text).units.content)
    scores = np.arange(n + 2, 0, -1, dtype=float)[None]
    (((metric_result, inverse),),) = judged(encoder, [case_of(encoder, text, scores=scores)], *BOTH)
    assert [step.removed for step in metric_result.steps] == [tuple(range(1 + k, 1 + n)) for k in range(n + 1)]
    assert [step.removed for step in inverse.steps] == [tuple(range(1, 1 + n - k)) for k in range(n + 1)]
    assert [step.text.count("[MASK]") for step in metric_result.steps] == list(range(n, -1, -1))
    assert (metric_result.steps[0].level, metric_result.steps[-1].level) == (0, 100)


# Closed forms --------------------------------------------------------------------------------------------------------


def test_the_terms_of_an_additive_model_are_the_best_order_and_the_worst(toys: Toys) -> None:
    classifier = toys(Additive)
    probe = case_of(classifier, "a good film, a")
    terms = terms_of(classifier, probe)
    assert len(terms) == 5
    orders = np.array([np.argsort(order) for order in permutations(range(5))], dtype=float)
    case = case_of(classifier, "a good film, a", scores=np.concatenate([terms[None], orders]))
    best, *others = ([metric_result.value for metric_result in row] for row in judged(classifier, [case], *BOTH)[0])
    assert best[0] == pytest.approx(max(other[0] for other in others), abs=1e-6)
    assert best[1] == pytest.approx(min(other[1] for other in others), abs=1e-6)
    assert best[0] > best[1] + 1e-4


def test_an_order_and_its_reverse_of_an_additive_model_add_up_to_the_ends(toys: Toys) -> None:
    classifier = toys(Additive)
    case = case_of(classifier, maps=4)
    for row in judged(classifier, [case], *BOTH)[0][1:]:  # the first map has ties, whose order is not turned round
        probabilities = row[0].probabilities[:, case.target]
        assert sum(metric_result.value for metric_result in row) == pytest.approx(
            probabilities[0] + probabilities[-1], abs=1e-6
        )


def test_one_direction_is_the_other_of_the_opposite_map(classifier: Classifier) -> None:
    before = traces(classifier)
    case = case_of(classifier, unit="word", maps=3)
    opposite = case_of(classifier, unit="word", scores=-case.scores)
    for row, other in zip(judged(classifier, [case], *BOTH)[0], judged(classifier, [opposite], *BOTH)[0], strict=True):
        assert (row[0].value, row[1].value) == pytest.approx((other[1].value, other[0].value), abs=2e-6)
        assert 0 <= row[0].value <= 1
    assert traces(classifier) == before


def test_all_maps_start_and_end_alike(encoder: Classifier) -> None:
    case = case_of(encoder, maps=5)
    ends = {tuple(j.probabilities[[0, -1]].ravel()) for row in judged(encoder, [case], *BOTH)[0] for j in row}
    assert len(ends) == 1
    original = torch.tensor(case.logits).softmax(dim=0).numpy()
    assert next(iter(ends))[len(encoder.labels) :] == pytest.approx(original)


@pytest.mark.parametrize("metric", BOTH)
def test_a_text_of_one_feature_has_one_trapezoid(encoder: Classifier, metric: str) -> None:
    case = case_of(encoder, "film", unit="word", maps=1)
    (((metric_result,),),) = judged(encoder, [case], metric)
    ends = slow_curve(encoder, case, case.scores[0].tolist(), False, "mask")
    assert len(ends) == 2
    assert metric_result.value == pytest.approx(sum(ends) / 2, abs=1e-6)


@pytest.mark.parametrize(("metric", "order"), [("activation_auc", [5, 1, 2, 4, 3]), (BOTH[1], [3, 1, 2, 4, 5])])
def test_equal_scores_go_by_position_and_special_tokens_not_at_all(
    encoder: Classifier, metric: str, order: list[int]
) -> None:
    case = case_of(encoder, "a good film, a", scores=np.array([[9.0, 0.0, -0.0, -1.0, 0.0, 1.0, -9.0]]))
    assert get_metric(metric).order(case.scores, case.units).tolist() == [order]
    (((metric_result,),),) = judged(encoder, [case], metric)
    hidden = [set(step.removed) for step in metric_result.steps]
    assert [(before - after).pop() for before, after in pairwise(hidden)] == order


# Passes and refusals -------------------------------------------------------------------------------------------------


def test_equal_inputs_of_maps_directions_and_texts_are_run_once(encoder: Classifier) -> None:
    text = "a good film, but its story never ends"
    probe = case_of(encoder, text)
    n = len(probe.units.content)
    assert len(set(probe.encoding.ids.tolist())) == n + 2, "different tokens make different texts"
    ranks = np.arange(n + 2, dtype=float)
    case = case_of(encoder, text, scores=np.stack([ranks, -ranks, 2 * ranks]))
    with runs(encoder) as seen:
        evaluate([case, case], [parse_metric(name) for name in BOTH], Batcher(encoder, RunContext()))
    assert len(seen) == len(set(seen)) == 2 * (n - 1) + 1, "two orders of n - 1 proper parts, and the masked text"
    assert tuple(case.encoding.ids.tolist()) not in seen


@pytest.mark.parametrize(("baseline", "told"), [("pad", "has no pad token"), ("unk", "has no unk token")])
def test_a_token_that_the_tokenizer_lacks_is_refused(decoder: Classifier, baseline: str, told: str) -> None:
    with runs(decoder) as seen, pytest.raises(UnsupportedError, match=told):
        value_of(decoder, case_of(decoder), f"activation_auc:baseline={baseline}")
    assert len(seen) == 1, "only the text itself, to make the case"


def test_curves_are_judged_beside_other_metrics(encoder: Classifier) -> None:
    cases = [case_of(encoder, TEXT), case_of(encoder, PAIR, unit="word")]
    names = ["comprehensiveness", BOTH[0], "log_odds", BOTH[1]]
    together = judged(encoder, cases, *names)
    for case, rows in zip(cases, together, strict=True):
        for candidate, row in enumerate(rows):
            alone = [value_of(encoder, case, name, candidate) for name in names]
            assert [metric_result.value for metric_result in row] == pytest.approx(alone, abs=2e-6)
