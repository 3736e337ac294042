"""The judged_map study: the values and texts behind given scores, recomputed by hand, and its refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest

from explainlab import study
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier

TEXT = "A funny film. It isn't good, and the plot is thin!"
METRICS = "comprehensiveness,sufficiency:k=50,aopc_comprehensiveness:bins=10+50"


def test_a_candidate_has_the_values_it_has_among_all(encoder: Classifier) -> None:
    found = study(encoder, "rpi_candidates", TEXT, samples=2, steps=2, metrics=METRICS).body
    for candidate in found.candidates:
        judged = study(encoder, "judged_map", TEXT, scores=candidate.scores, metrics=METRICS)
        values = {metric.key: metric.value for metric in judged.body.metrics}
        assert values == pytest.approx(candidate.metrics, abs=1e-6)
        json.dumps(judged.to_json(), allow_nan=False)


def test_every_value_is_made_of_its_steps(encoder: Classifier) -> None:
    n = len(study(encoder, "rpi_candidates", TEXT, samples=1, steps=1, metrics="sufficiency").body.features)
    scores = np.random.default_rng(3).normal(size=n).tolist()
    body = study(encoder, "judged_map", TEXT, scores=scores, metrics=METRICS).body
    before = body.prediction.probabilities[body.target.label]
    content = [i for i, feature in enumerate(body.features) if not feature.special]
    ranked = sorted(content, key=lambda i: -scores[i])
    for metric in body.metrics:
        effects = [before - step.probability for step in metric.steps]
        assert metric.value == pytest.approx(np.mean(effects), abs=1e-6)
        for step in metric.steps:
            top = ranked[: len(ranked) * step.level // 100]
            gone = [i for i in content if (i in top) == metric.higher_is_better]
            assert step.removed == [body.features[i].text for i in gone]


def test_scores_that_do_not_fit_are_refused(encoder: Classifier) -> None:
    with pytest.raises(RequestError, match="do not fit a text"):
        study(encoder, "judged_map", TEXT, scores=[1.0, 2.0])
    with pytest.raises(RequestError, match="scores"):
        study(encoder, "judged_map", TEXT, scores="nan,1")
