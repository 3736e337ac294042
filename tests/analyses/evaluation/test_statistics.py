"""The statistics of an evaluation's table, against slow loops over its texts."""

from __future__ import annotations

import csv
import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, kendalltau, rankdata, wilcoxon

from explainlab import evaluate, load_model, study
from explainlab.analyses.evaluation.result import EvaluationData, EvaluationText
from explainlab.metrics.comparison import bootstrap, holm
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext

METHODS = ["input_x_gradient", "occlusion", "gradient", "random"]
METRICS = ["comprehensiveness", "log_odds:k=40"]


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return load_model("embedded:bert-mini-sst2", device="cpu")


@pytest.fixture(scope="module")
def body(classifier: Classifier) -> EvaluationData:
    evaluated = evaluate(classifier, "embedded:sentiment", METHODS, METRICS, limit=24).body
    assert isinstance(evaluated, EvaluationData)
    return evaluated


def values(body: EvaluationData, method: str, metric: str) -> np.ndarray:
    return np.array([text.values[method][metric] for text in body.texts])


def test_every_row_says_how_far_it_is_from_the_best(body: EvaluationData) -> None:
    asked = dict.fromkeys(row.asked for row in body.rows)
    pairs = {
        (metric, pair): wilcoxon(
            values(body, pair[0], metric) - values(body, pair[1], metric), zero_method="zsplit"
        ).pvalue
        for metric in asked
        for pair in combinations(METHODS, 2)
    }
    corrected = dict(zip(pairs, holm(np.array([*pairs.values()])), strict=True))
    for metric in asked:
        rows = {row.method: row for row in body.rows if row.asked == metric}
        sign = next(iter(rows.values())).sign
        best = max(METHODS, key=lambda method: sign * rows[method].mean)
        assert [name for name, row in rows.items() if row.to_best is None] == [best]
        floor = friedmanchisquare(*(values(body, method, metric) for method in METHODS)).pvalue
        for method, row in rows.items():
            if method != best and method in METHODS:
                difference = sign * (values(body, best, metric) - values(body, method, metric))
                assert row.to_best is not None
                means = (row.to_best.mean, row.to_best.low, row.to_best.high)
                assert means == pytest.approx(bootstrap(difference), abs=1e-12)
                pair = (best, method) if METHODS.index(best) < METHODS.index(method) else (method, best)
                assert row.to_best.p == pytest.approx(max(corrected[metric, pair], floor))
        assert all(row.told_apart == (row.to_best.p < 0.05) for row in rows.values() if row.to_best)


def test_ranks_are_those_of_the_methods_without_controls(body: EvaluationData) -> None:
    assert [(rank.metric, rank.method) for rank in body.ranks] == [(key, name) for key in METRICS for name in METHODS]
    for asked, critical in zip(dict.fromkeys(row.asked for row in body.rows), body.critical, strict=True):
        sign = next(row.sign for row in body.rows if row.asked == asked)
        columns = np.array([values(body, method, asked) for method in METHODS])
        expected = rankdata(-sign * columns, axis=0).mean(axis=1)
        assert [rank.rank for rank in body.ranks if rank.metric == critical.metric] == pytest.approx(expected)
        assert (critical.texts, critical.none, len(critical.pairs)) == (24, "", 6)
        assert {name for group in critical.groups for name in group} <= set(METHODS)


def test_agreement_is_that_of_the_texts_content_scores(classifier: Classifier, body: EvaluationData) -> None:
    taus: dict[tuple[str, str], list[float]] = {}
    for text in body.texts:
        alone = study(classifier, "evaluation", text.text, methods=METHODS, metrics=METRICS).body
        assert isinstance(alone, EvaluationText)
        content = [not feature.special for feature in alone.features]
        scores = {name: np.array(column)[content] for name, column in alone.scores.items()}
        assert text.features == sum(content)
        for pair in body.agreement:
            tau = kendalltau(scores[pair.first], scores[pair.second]).statistic
            taus.setdefault((pair.first, pair.second), []).append(tau)
    assert len(body.agreement) == 6
    for pair in body.agreement:
        expected = taus[pair.first, pair.second]
        assert (pair.tau.mean, pair.tau.low, pair.tau.high) == pytest.approx(bootstrap(expected))
        assert [text.tau for text in pair.most_apart] == pytest.approx(sorted(expected)[:10])
        by_row = {text.row: tau for text, tau in zip(body.texts, expected, strict=True)}
        assert all(by_row[text.row] == pytest.approx(text.tau) for text in pair.most_apart)
        assert (pair.sign_conflicts is None) == ("gradient" in (pair.first, pair.second) or pair.second == "random")


def test_slices_are_the_table_over_their_texts(body: EvaluationData) -> None:
    kinds: dict[str, list[str]] = {}
    for part in body.slices:
        kinds.setdefault(part.by, []).append(part.name)
    assert list(kinds) == ["label", "prediction", "length"]
    assert kinds["label"] == ["negative", "positive"]
    assert len(kinds["length"]) == 3
    for by in kinds:
        assert sum(part.n for part in body.slices if part.by == by) == body.n
    for part in body.slices:
        assert part.few == (part.n < 20)
        if part.by == "label":
            texts = [text for text in body.texts if text.label == part.name]
        elif part.by == "prediction":
            texts = [text for text in body.texts if (text.label == text.predicted) == (part.name == "right")]
        else:
            low, _, high = part.name.partition(" to ")
            texts = [text for text in body.texts if int(low) <= (text.features or 0) <= int(high or low)]
        assert part.n == len(texts)
        assert len(part.rows) == 7 * 2
        asked = {row.key: row.asked for row in body.rows}
        for row in part.rows:
            own = [text.values[row.method][asked[row.metric]] for text in texts]
            assert row.mean == pytest.approx(np.mean(own))
            assert row.n == len(own)


def test_little_data_has_no_diagram_and_says_why(classifier: Classifier, tmp_path) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [("text", "label"), ("a good film, at last", 1), ("dull", 0), ("a long dull film tonight", 0)]
        )
    context = RunContext()
    few = evaluate(classifier, str(path), METHODS, METRICS, context=context).body
    assert {critical.none for critical in few.critical} == {
        "A diagram needs at least 5 texts for which every method has a value."
    }
    assert all(not math.isnan(rank.rank) for rank in few.ranks)
    (pair,) = evaluate(classifier, str(path), ["occlusion"], METRICS, context=context).body.agreement
    assert pair.tau.n == 2, "a single feature has no order"
    alone = evaluate(classifier, str(path), ["random"], METRICS, context=context).body
    assert [row.method for row in alone.rows] == ["random", "random"]
    assert alone.agreement == []
    assert "3 methods" in alone.critical[0].none
