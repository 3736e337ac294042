"""Charts of intermediate predictions against the study and a plain difference of its logits."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from explainlab import Attribution, explain, load_model, study
from explainlab.analyses.intermediate_predictions.figures import class_curves, feature_changes
from explainlab.analyses.intermediate_predictions.result import IntermediatePredictionsText
from explainlab.figures.palette import PALETTES
from explainlab.models.classifier import Classifier

TEXT = "The champion sued <b>the phone</b> maker, and the court agreed."


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return load_model("embedded:gpt2-mini-ag-news", device="cpu")


@pytest.fixture(scope="module")
def body(classifier) -> IntermediatePredictionsText:
    return study(classifier, "intermediate_predictions", TEXT, unit="word").body


@pytest.fixture(scope="module")
def changes(classifier) -> Attribution:
    return explain(classifier, TEXT, "sp_pi", unit="word", output="logit")


def test_every_class_has_a_line_and_the_target_comes_first(body) -> None:
    chart = class_curves(body)
    target = body.target.label
    assert chart.figure.data[0].name == f"{target} (explained)"
    assert {line.name.split(" (")[0] for line in chart.figure.data} == set(body.prediction.probabilities)
    assert len({(line.line.color, line.line.dash) for line in chart.figure.data}) == 4
    for line in chart.figure.data:
        label = line.name.split(" (")[0]
        assert list(line.y) == [position.probabilities[label] for position in body.positions]
    rows = list(csv.DictReader(io.StringIO(chart.to_csv())))
    assert [row["text"] for row in rows] == [feature.text for feature in body.features]
    assert float(rows[-1][f"p({target})"]) == pytest.approx(body.prediction.probabilities[target])


def test_special_tokens_are_not_drawn(body) -> None:
    marked = body.model_copy(update={"features": [replace(body.features[0], special=True), *body.features[1:]]})
    assert len(class_curves(marked).rows) == len(class_curves(body).rows) - 1


@pytest.mark.parametrize("turned", [0, 3, None], ids=str)
def test_the_words_say_from_where_on_the_target_is_predicted(body, turned) -> None:
    n, target = len(body.positions), body.target.label
    other = next(label for label in body.prediction.probabilities if label != target)
    positions = []
    for i, position in enumerate(body.positions):
        won = turned is not None and i >= turned
        probabilities = {target: 0.9 if won else 0.1, other: 0.1 if won else 0.9}
        positions.append(position.model_copy(update={"probabilities": probabilities}))
    changed = body.model_copy(update={"positions": positions})
    words = f"from feature {turned + 1} of {n} on" if turned is not None else "something else than"
    assert words in class_curves(changed).alt


def test_of_many_classes_the_likeliest_are_drawn_and_all_are_given_away(body) -> None:
    more = {f"class {i}": 1e-3 / (i + 1) for i in range(10)}
    positions = [p.model_copy(update={"probabilities": {**p.probabilities, **more}}) for p in body.positions]
    many = body.model_copy(update={"positions": positions})
    chart = class_curves(many)
    assert len(chart.figure.data) == 8
    assert chart.notes == ("6 classes that are never as likely are not drawn.",)
    assert all("p(class 9)" in row for row in chart.rows)


def test_bars_are_differences_of_the_targets_logit(body, changes) -> None:
    chart = feature_changes(changes)
    target = body.target.label
    logits = [position.logits[target] for position in body.positions]
    bars = list(chart.figure.data[0].y)
    assert len(bars) == len(logits)
    np.testing.assert_allclose(bars[1:], [after - before for before, after in pairwise(logits)], atol=1e-5)
    assert [row["change"] for row in chart.rows] == bars
    assert chart.figure.layout.yaxis.title.text == "Change of the logit"
    marker = feature_changes(changes, "blue_orange", "dark").figure.data[0].marker
    hues = PALETTES["blue_orange"].dark
    assert list(marker.color) == [hues.positive if bar > 0 else hues.negative for bar in bars]
    assert list(marker.pattern.shape) == ["" if bar >= 0 else "/" for bar in bars]
    highest = body.features[int(np.argmax(bars))].text
    assert f"Highest: {highest} +" in chart.alt


def test_words_are_text_and_a_long_text_has_numbers(classifier, changes) -> None:
    assert "&lt;" in feature_changes(changes).figure.data[0].customdata
    assert "&lt;" in feature_changes(changes).figure.layout.xaxis.ticktext
    long = study(classifier, "intermediate_predictions", TEXT * 6, unit="word").body
    assert class_curves(long).figure.layout.xaxis.ticktext is None
