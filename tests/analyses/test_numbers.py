"""The headline numbers that analyses declare: those of their data set's result, one a measure and method."""

from __future__ import annotations

from typing import Any

import pytest

from explainlab import load_model, study
from explainlab.analyses.records import Interval
from explainlab.analyses.registry import get_study
from explainlab.analyses.summary import Measure, Number
from explainlab.models.classifier import Classifier
from tests.analyses.roar.bodies import roar_body, roar_result

ASKED: dict[str, dict[str, Any]] = {
    "activation": {"methods": ["input_x_gradient"]},
    "integration_error": {"steps": [2, 4], "rules": ["right", "midpoint"]},
    "ablation": {"methods": ["input_x_gradient"], "samples": 2, "metrics": ["sufficiency"]},
    "predictions": {},
}


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return load_model("embedded:bert-mini-sst2", device="cpu")


def numbers(classifier: Classifier, name: str) -> tuple[Any, dict[tuple[str, str], Number]]:
    result = study(classifier, name, data="embedded:sentiment", rows=4, **ASKED[name])
    return result.body, {(number.measure.key, number.of): number for number in get_study(name).report(result).numbers}


def test_activation_has_both_areas_of_every_method(classifier: Classifier) -> None:
    body, own = numbers(classifier, "activation")
    assert set(own) == {
        (way, of) for way in ("activation", "inverse_activation") for of in ("input_x_gradient", "random")
    }
    assert own["activation", "random"].value == body.rows[-1].activation
    assert not own["inverse_activation", "random"].measure.higher_is_better


def test_integration_has_the_mean_error_at_each_step_count_of_every_rule(classifier: Classifier) -> None:
    body, own = numbers(classifier, "integration_error")
    assert set(own) == {(key, rule) for key in ("error_2", "error_4", "within_1000") for rule in ("right", "midpoint")}
    assert own["error_4", "midpoint"].value.mean == body.summary.mean["midpoint"]["4"].mean
    assert own["error_4", "midpoint"].label == "Midpoint sums"
    assert own["within_1000", "right"].value.mean == body.summary.within_1000["right"] / body.summary.n


def test_ablation_has_the_first_and_the_best_map_of_every_method(classifier: Classifier) -> None:
    body, own = numbers(classifier, "ablation")
    (key,) = [metric.key for metric in body.metrics]
    assert {measure for measure, _ in own} == {f"{key}:first", f"{key}:best"}
    assert own[f"{key}:best", "random"].value == body.methods[-1].selection[key].best
    assert own[f"{key}:best", "random"].measure.directed_label.endswith("of the best map ↓")


def test_predictions_have_accuracy_f1_and_calibration(classifier: Classifier) -> None:
    body, own = numbers(classifier, "predictions")
    assert [measure for measure, _ in own] == ["accuracy", "macro_f1", "calibration_error"]
    assert own["accuracy", ""].value.low == body.accuracy.low
    assert own["calibration_error", ""].value.mean == body.calibration.ece


def test_a_measure_spells_its_values() -> None:
    assert Measure("accuracy", "Accuracy", True, ".1%").words(0.9123) == "91.2%"
    assert Measure("score", "Score", False).words(-0.5) == "−0.500"
    assert Measure("score", "Score", False).words(None) == "–"
    error = Measure("error", "Error", False, ",.2%")
    assert [error.words(value) for value in (12.3, 0.0, 0.00042, 4e-7)] == [
        "1,230.00%",
        "0.00%",
        "0.042%",
        "under 0.001%",
    ]
    assert error.mean_words(Interval(mean=0.1, low=0.0002, high=0.2)) == "10.00% (0.02% to 20.00%)"
    assert error.mean_words(Interval(mean=0.1, low=None, high=None)) == "10.00%"


def test_roar_has_the_performance_and_the_faithfulness_of_every_measure() -> None:
    result = roar_result(roar_body(recursive=(True, False)))
    own = {(number.measure.key, number.of): number for number in get_study("roar").report(result).numbers}
    measures = [own.name for own in result.body.measures if not own.random]
    kinds = ("faithfulness_recursive", "faithfulness_plain")
    assert set(own) == {("performance", ""), *((kind, name) for kind in kinds for name in measures)}
    whole = next(f for f in result.body.faithfulness if f.upto == 100 and f.measure == measures[0] and f.recursive)
    assert own["faithfulness_recursive", measures[0]].value.mean == whole.mean
    assert own["performance", ""].value.low == result.body.performance.low
