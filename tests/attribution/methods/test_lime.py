"""LIME: closed forms on games given by a formula, and the same numbers as scikit-learn and Captum on real models."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import LimeBase
from sklearn.linear_model import Ridge

from explainlab import explain
from explainlab.attribution.methods.lime import maskings, nearness, slopes
from explainlab.attribution.subject import Subject
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier

TEXT = "A funny film. It isn't good!"


@pytest.fixture(params=["encoder", "decoder"])
def model(request: pytest.FixtureRequest) -> Classifier:
    return request.getfixturevalue(request.param)


def test_a_linear_game_gives_its_coefficients() -> None:
    keep = maskings(6, 200, seed=1)
    truth = np.array([3.0, -2.0, 0.5, 0.0, 1.0, -1.0])
    found = slopes(keep, keep @ truth + 7, nearness(keep, 0.25), alpha=0)
    np.testing.assert_allclose(found, truth, atol=1e-10)


def test_the_ridge_shrinks_towards_zero_and_spares_the_intercept() -> None:
    keep = maskings(4, 100, seed=0)
    weights = nearness(keep, 0.25)
    norms = [np.linalg.norm(slopes(keep, keep.sum(axis=1), weights, alpha)) for alpha in (0, 0.01, 1, 100)]
    assert norms == sorted(norms, reverse=True)
    np.testing.assert_allclose(slopes(keep, np.full(100, 1e6), weights, 10), 0, atol=1e-6)


def test_nearness_is_the_cosine_kernel() -> None:
    keep = maskings(7, 50, seed=0)
    cosine = keep.sum(axis=1) / np.sqrt(np.maximum(keep.sum(axis=1), 1) * 7)
    np.testing.assert_allclose(nearness(keep, 0.4), np.exp(-((1 - cosine) ** 2) / (2 * 0.4**2)), rtol=1e-12)


def test_draws_are_nested_and_begin_with_the_full_text() -> None:
    assert maskings(9, 300, seed=3)[0].all()
    assert np.array_equal(maskings(9, 300, seed=3)[:120], maskings(9, 120, seed=3))
    assert not np.array_equal(maskings(9, 50, seed=3), maskings(9, 50, seed=4))


@pytest.mark.parametrize("unit", ["token", "word"])
def test_equals_scikit_learn_on_a_loop_of_single_passes(model: Classifier, unit: str) -> None:
    found = explain(model, TEXT, "lime", unit=unit, seed=5, samples=30)
    subject = Subject(model, model.encode(TEXT), unit=unit)
    keep = maskings(len(subject.units.content), 30, seed=5)
    values = np.array([_value(subject, row) for row in keep])
    cosine = keep.sum(axis=1) / np.sqrt(np.maximum(keep.sum(axis=1), 1) * keep.shape[1])
    kernel = np.exp(-((1 - cosine) ** 2) / (2 * 0.25**2))
    expected = Ridge(alpha=0.01, solver="cholesky").fit(keep, values, sample_weight=kernel).coef_
    tolerance = 1e-4 * np.abs(expected).max()
    np.testing.assert_allclose(found.scores[subject.units.content], expected, rtol=0, atol=tolerance)


def test_agrees_with_captum_given_the_same_masks(model: Classifier) -> None:
    subject = Subject(model, model.encode(TEXT))
    keep = maskings(len(subject.units.content), 30, seed=2)
    rows = iter(keep)
    captum = LimeBase(
        lambda mask: torch.as_tensor([_value(subject, mask[0].numpy() > 0.5)]),
        SkLearnRidge(alpha=0.01),
        similarity_func=lambda _, __, mask, **___: torch.as_tensor(nearness(mask.numpy() > 0.5, 0.25)),
        perturb_func=lambda *_, **__: torch.as_tensor(next(rows)[None], dtype=torch.float64),
        perturb_interpretable_space=True,
        from_interp_rep_transform=lambda mask, *_, **__: mask,
        to_interp_rep_transform=None,
    ).attribute(torch.ones(1, keep.shape[1]), n_samples=30)
    found = explain(model, TEXT, "lime", seed=2, samples=30).scores[subject.units.content]
    np.testing.assert_allclose(found, captum[0].numpy(), rtol=0, atol=1e-4 * np.abs(found).max())


def test_equal_maskings_run_once_but_keep_their_weight(model: Classifier) -> None:
    result = explain(model, "film", "lime", unit="word", samples=40)
    assert result.cost.forward == 2
    subject = Subject(model, model.encode("film"), unit="word")
    keep = maskings(1, 40, seed=0)
    values = subject.masked(keep, "mask")
    expected = Ridge(alpha=0.01).fit(keep, values, sample_weight=nearness(keep, 0.25)).coef_
    np.testing.assert_allclose(result.scores[subject.units.content], expected, rtol=1e-6)


def test_a_kernel_that_counts_nothing_warns(model: Classifier) -> None:
    result = explain(model, TEXT, "lime", kernel_width=0.01, samples=30)
    assert any("kernel width" in warning for warning in result.warnings)
    assert np.isfinite(result.scores).all()
    assert not explain(model, TEXT, "lime", samples=30).warnings


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"samples": 10**9}, {"kernel_width": 0}, {"alpha": -1}])
def test_parameters_out_of_range_are_refused(encoder: Classifier, wrong: dict[str, float]) -> None:
    with pytest.raises(RequestError, match=next(iter(wrong))):
        explain(encoder, TEXT, "lime", **wrong)


def _value(subject: Subject, keep: np.ndarray) -> float:
    """The explained scalar of one masked text, in a pass of its own."""
    tokens = torch.as_tensor(subject.units.token_mask(keep[None])[0])[:, None]
    return subject.values(torch.where(tokens, subject.embeddings, subject.baseline("mask"))[None])[0]
