"""Adaptive integration: closed forms, an estimate that covers the error, nothing evaluated twice, where it stops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explainlab import Attribution, explain
from explainlab.attribution.path import Path, Refinement, refine
from explainlab.attribution.records import CANCELS
from explainlab.attribution.subject import Subject
from explainlab.data import read_dataset
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier
from tests.attribution.conftest import Toys
from tests.attribution.plain import close
from tests.conftest import Zoo, loaded
from tests.toys import Linear, Squares

TEXT = "A funny film. It isn't good!"


class Steep(nn.Module):
    """A logistic in one direction, as steep as ``rate``: nearly all of the path is flat."""

    def __init__(self, rate: float = 200.0) -> None:
        super().__init__()
        self.inner = Linear()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        shift = self.inner(x * 0).detach()
        return (self.rate * (self.inner(x) - shift)).sigmoid()


class Constant(nn.Module):
    """The same scores for every text."""

    def forward(self, x: Tensor) -> Tensor:
        return x.sum(dim=(1, 2))[:, None] * 0 + torch.tensor([1.0, 2.0])


@pytest.fixture(scope="module")
def sentiment() -> Classifier:
    return loaded("embedded:bert-mini-sst2")


def distance(found: Attribution, truth: Attribution) -> float:
    """L1, relative."""
    return float(np.abs(found.scores - truth.scores).sum() / np.abs(truth.scores).sum())


# Closed forms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [Linear, Squares])
def test_polynomials_are_exact_with_the_first_points(toys: Toys, head: type[nn.Module]) -> None:
    found = explain(toys(head), TEXT, output="logit", target="first")
    exact = explain(toys(head), TEXT, rule="gauss_legendre", steps=2, output="logit", target="first")
    close(found.scores, exact.scores, 1e-6)
    assert found.cost.backward == 9
    assert np.abs(found.errors).max() < 1e-5 * np.abs(found.scores).max()


def test_a_steep_path_gets_its_points_where_it_is_steep(toys: Toys) -> None:
    subject = Subject(toys(Steep), toys(Steep).encode(TEXT), output="logit", target="first")
    refinement = Refinement(Path(subject, subject.baseline("mask")), 0.01, 1024)
    refine([refinement])
    assert refinement.reached
    values = refinement.path.values(refinement.wanted)
    moving = np.abs(np.diff(values)) > 0.01 * np.ptp(values)
    gaps = np.diff(refinement.wanted)
    assert gaps[moving].max() < gaps[~moving].max() / 4


def test_a_constant_output_scores_nothing_and_ends_at_once(toys: Toys) -> None:
    found = explain(toys(Constant), TEXT, output="logit")
    assert not found.scores.any()
    assert found.cost.backward == 9
    assert found.completeness.approximation_error is None


def test_a_text_equal_to_its_baseline_scores_nothing(zoo: Zoo) -> None:
    classifier = zoo("bert")
    found = explain(classifier, "[UNK]", baseline="unk")
    assert not found.scores.any()
    assert not found.errors.any()


# The estimate against the truth --------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["probability", "logit"])
def test_the_estimate_covers_the_error(model: Classifier, output: str) -> None:
    truth = explain(model, TEXT, output=output, rule="gauss_legendre", steps=300)
    for tolerance in (0.05, 0.01, 0.002):
        found = explain(model, TEXT, tolerance=tolerance, output=output)
        covered = np.abs(found.scores - truth.scores) <= found.errors + 1e-5 * np.abs(truth.scores).max()
        assert (~covered).sum() <= 1
        assert distance(found, truth) <= 2 * tolerance
        assert np.abs(found.errors).sum() <= tolerance * np.abs(found.scores).sum()


@pytest.mark.full("300 gradients for each of many texts take eight seconds")
def test_the_estimate_covers_the_error_of_95_in_100_tokens(sentiment: Classifier) -> None:
    rows = read_dataset("embedded:sentiment", sentiment.labels).rows[::48]
    covered, worst = [], 0.0
    for row in rows:
        found = explain(sentiment, row.text)
        truth = explain(sentiment, row.text, rule="gauss_legendre", steps=300)
        content = np.array([not feature.special for feature in found.features])
        covered += (np.abs(found.scores - truth.scores) <= found.errors + 1e-6)[content].tolist()
        worst = max(worst, distance(found, truth))
        if abs(found.completeness.expected) > CANCELS * np.abs(found.scores).sum():
            assert found.completeness.approximation_error <= 0.01
    assert np.mean(covered) >= 0.95
    assert worst <= 0.02


def test_a_smaller_tolerance_goes_on_from_the_same_points(encoder: Classifier) -> None:
    subject = Subject(encoder, encoder.encode(TEXT))
    path = Path(subject, subject.baseline("mask"))
    spent = []
    for tolerance in (0.1, 0.01, 0.001):
        refinement = Refinement(path, tolerance, 5000)
        refine([refinement])
        spent.append(len(refinement.wanted))
        assert refinement.reached
    assert spent == sorted(spent)
    assert path.evaluations == subject.backward <= spent[-1] + spent[0]


# Costs and stops -----------------------------------------------------------------------------------------------------


def test_every_gradient_is_counted_and_none_is_evaluated_twice(model: Classifier) -> None:
    found = explain(model, TEXT)
    assert found.cost.forward == found.cost.backward
    assert found.cost.backward % 4 == 1


@pytest.mark.parametrize("most", [9, 12, 13, 30])
def test_it_stops_at_max_steps_and_says_so(encoder: Classifier, most: int) -> None:
    found = explain(encoder, TEXT, tolerance=1e-6, max_steps=most)
    assert found.cost.backward <= most < found.cost.backward + 4
    assert any("tolerance was not reached" in warning for warning in found.warnings)


def test_steps_that_are_not_used_are_told_of(encoder: Classifier) -> None:
    assert any("steps = 64 was not used" in warning for warning in explain(encoder, TEXT, steps=64).warnings)
    assert not any("was not used" in warning for warning in explain(encoder, TEXT).warnings)


@pytest.mark.parametrize("wrong", [{"tolerance": 0}, {"tolerance": 2}, {"max_steps": 8}, {"rule": "simpson"}])
def test_what_is_out_of_range_is_named(encoder: Classifier, wrong: dict) -> None:
    with pytest.raises(RequestError, match=next(iter(wrong))):
        explain(encoder, TEXT, **wrong)


def test_texts_refined_together_get_what_they_get_alone(encoder: Classifier) -> None:
    texts = (TEXT, "good", "a long story about a film that is not funny at all, and not good")
    subjects = [Subject(encoder, encoder.encode(text)) for text in texts]
    together = [Refinement(Path(s, s.baseline("mask")), 0.01, 1024) for s in subjects]
    refine(together)
    for text, refinement, subject in zip(texts, together, subjects, strict=True):
        alone = explain(encoder, text)
        close(subject.units.sum_tokens(refinement.scores), alone.scores)
        assert subject.target == alone.target
        assert (subject.forward, subject.backward) == (alone.cost.forward, alone.cost.backward)
