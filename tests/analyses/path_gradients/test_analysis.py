"""The path_gradients study: closed forms, scores as means, shared points, where the gradient lives over a data set."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab import explain, study
from explainlab.analyses.path_gradients.analysis import BINS
from explainlab.models.classifier import Classifier
from tests.attribution.conftest import Toys
from tests.attribution.plain import close
from tests.toys import Linear, Squares

TEXT = "A funny film. It isn't good!"


def test_a_linear_model_has_the_same_gradient_everywhere(toys: Toys) -> None:
    body = study(toys(Linear), "path_gradients", TEXT, steps=[4, 8], output="logit", target="first").body
    for path in body.paths:
        assert path.total == pytest.approx([body.expected] * path.steps, rel=1e-4)


def test_the_gradient_of_squares_grows_with_alpha(toys: Toys) -> None:
    body = study(toys(Squares), "path_gradients", TEXT, steps=[5], baseline="zero", output="logit", target="first").body
    (path,) = body.paths
    special = [f.special for f in body.features]
    inner = np.array(path.per_feature)[~np.array(special)]
    assert (np.diff(inner, axis=1) > 0).all()
    assert not np.array(path.per_feature)[special].any()


@pytest.mark.parametrize("rule", ["right", "midpoint"])
def test_means_over_the_path_are_the_scores(model: Classifier, rule: str) -> None:
    body = study(model, "path_gradients", TEXT, steps=[3, 12], rule=rule).body
    for path in body.paths:
        scores = explain(model, TEXT, rule=rule, steps=path.steps).scores
        close(np.mean(path.per_feature, axis=1), scores, 1e-5)
        close(np.sum(path.per_feature, axis=0), np.array(path.total), 1e-5)
        assert np.shape(path.per_feature) == (len(body.features), len(path.alphas))
    assert body.expected == pytest.approx(body.end - body.start)


def test_step_counts_share_their_points(encoder: Classifier) -> None:
    assert study(encoder, "path_gradients", TEXT, steps="6,12,24").cost.backward == 24


def test_a_text_equal_to_its_baseline_cancels_and_another_does_not(encoder: Classifier) -> None:
    assert study(encoder, "path_gradients", "[UNK]", baseline="unk", steps=[2]).body.cancels
    assert not study(encoder, "path_gradients", TEXT, steps=[2]).body.cancels


def test_a_data_set_tells_in_which_twentieth_the_gradient_lives(encoder: Classifier, tmp_path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("text\na good film\nnot good at all\n", encoding="utf-8")
    body = study(encoder, "path_gradients", data=str(path), steps=[40]).body
    assert body.summary.n == 2
    for text in body.texts:
        assert len(text.shares["40"]) == BINS
        assert sum(text.shares["40"]) == pytest.approx(1)
        alone = study(encoder, "path_gradients", text.text, steps=[40]).body.paths[0]
        sizes = np.abs(alone.total).reshape(BINS, 2).sum(axis=1)
        assert text.shares["40"] == pytest.approx(sizes / sizes.sum(), rel=1e-3, abs=1e-5)
