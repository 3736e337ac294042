"""Facts of a text: the numbers come back, and take few bytes."""

from __future__ import annotations

import numpy as np

from explainlab import load_model, study
from explainlab.analyses.evaluation.statistics import facts_dtype, facts_of

MOST_BYTES = 400


def test_the_numbers_of_a_text_come_back_and_are_few() -> None:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    asked = {"methods": ["gradient", "occlusion"], "metrics": ["comprehensiveness", "token_f1"]}
    body = study(classifier, "evaluation", "a slow film that is worth every minute of it", **asked).body
    names, metrics = list(body.values), list(body.counted)
    counts = len(body.scores), len(body.costs), len(names) - len(body.scores), len(metrics)
    dtype = facts_dtype(*counts, classifier.labels)
    facts = np.array([facts_of(body)] * 2, dtype)[1]
    values = [[None if value != value else value for value in row] for row in facts["values"].tolist()]
    assert values == [[row[metric] for metric in metrics] for row in body.values.values()]
    assert values[names.index("occlusion")][metrics.index("token_f1")] is None
    assert facts["passes"].tolist() == [[cost.forward, cost.backward] for cost in body.costs.values()]
    assert facts["features"] == sum(not feature.special for feature in body.features)
    assert facts["negative"].tolist() == [min(scores) < 0 for scores in body.scores.values()]
    assert (facts["predicted"], facts["text_seed"]) == (body.prediction.label, body.text_seed)
    assert dtype.itemsize < MOST_BYTES
