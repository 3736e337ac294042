"""Figures of mistakes: the cells are the counts, whatever the classes' names; differences are differences."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from explainlab import load_model, study
from explainlab.analyses.errors.figures import (
    confusion,
    confusion_cells,
    confusion_rows,
    difference,
    reliability_diagram,
)
from explainlab.analyses.errors.result import Accuracy, Calibration, PredictionsData
from explainlab.attribution.records import Completeness, Target
from explainlab.errors import RequestError
from explainlab.figures.matrix import CELL

NASTY = "<b>=x</b> [a](https://x.example)"
LABELS = ["negative", NASTY, "never"]
PAIRS = [("negative", "negative")] * 5 + [("negative", NASTY)] * 3 + [(NASTY, "negative")] * 2 + [(NASTY, NASTY)]


@pytest.fixture
def body() -> PredictionsData:
    counts = [[sum(pair == (true, predicted) for pair in PAIRS) for predicted in LABELS] for true in LABELS]
    return PredictionsData(
        labels=LABELS,
        n=len(PAIRS),
        accuracy=Accuracy(mean=6 / 11, low=0.2, high=0.8),
        macro_f1=0.5,
        per_class=[],
        calibration=Calibration(ece=0.0, bins=[]),
        confusion=counts,
        rows=[],
    )


def test_every_cell_has_its_count_and_its_share_of_the_true_class(body: PredictionsData) -> None:
    cells = confusion_rows(body)
    assert len(cells) == 9
    for cell in cells:
        of_class = [pair for pair in PAIRS if pair[0] == cell["true"]]
        n = sum(pair[1] == cell["predicted"] for pair in of_class)
        assert (cell["n"], cell["share"]) == (n, n / len(of_class) if of_class else 0)


def test_the_chart_says_its_worst_mistake_and_its_files_hold_the_cells(body: PredictionsData) -> None:
    chart = confusion(body)
    assert "3 of negative predicted as" in chart.alt
    assert "38% of that class" in chart.alt
    table = list(csv.DictReader(io.StringIO(chart.to_csv())))
    assert [(row["true"], row["predicted"], int(row["n"])) for row in table] == [
        (cell["true"], cell["predicted"], cell["n"]) for cell in confusion_rows(body)
    ]
    assert json.loads(chart.to_json())["rows"] == confusion_rows(body)
    assert NASTY not in chart.to_html()
    assert (
        "no mistake" in confusion(body.model_copy(update={"n": 1, "confusion": [[1, 0, 0], [0, 0, 0], [0, 0, 0]]})).alt
    )


@pytest.mark.parametrize(
    ("true", "predicted", "framed"),
    [("", "", 0), (NASTY, "", 3), ("", "negative", 3), ("negative", NASTY, 1)],
    ids=["any", "true", "predicted", "cell"],
)
def test_cells_can_be_pressed_and_those_let_through_have_a_frame(
    body: PredictionsData, true: str, predicted: str, framed: int
) -> None:
    spec = confusion_cells(body, true, predicted)
    (selection,) = spec["params"]
    titles = [spec["layer"][0]["encoding"][axis]["axis"]["title"] for axis in ("x", "y")]
    assert titles == ["Predicted", "True"]
    assert (selection["name"], selection["select"]["fields"]) == (CELL, ["true", "predicted"])
    assert spec["layer"][1]["mark"]["color"] == "#101814"
    assert confusion_cells(body, true, predicted, dark=True)["layer"][1]["mark"]["color"] == "#e8eeea"
    (cells,) = spec["datasets"].values()
    assert sum(cell["framed"] for cell in cells) == framed
    for cell in cells:
        assert not cell["opacity"] or cell["kind"] == ("above" if cell["true"] == cell["predicted"] else "below")


@pytest.fixture(scope="module")
def predictions() -> PredictionsData:
    """Return the predictions for the embedded examples."""
    return study(load_model("embedded:bert-mini-sst2", device="cpu"), "predictions", data="embedded:sentiment").body


def test_the_diagram_says_what_it_shows_and_gives_its_numbers_away(predictions) -> None:
    chart = reliability_diagram(predictions)
    assert chart.figure.layout.xaxis.title.text
    assert chart.alt.startswith(chart.title)
    assert len(list(csv.DictReader(io.StringIO(chart.to_csv())))) == len(chart.rows) == 15
    assert "<html" in chart.to_html()


def test_bars_stand_over_their_bins_with_the_number_of_texts(predictions) -> None:
    bins = [part for part in predictions.calibration.bins if part.n]
    accuracy, confidence, line, counts = reliability_diagram(predictions).figure.data
    assert list(accuracy.y) == [part.accuracy for part in bins]
    assert list(confidence.x) == list(confidence.y) == [part.confidence for part in bins]
    assert (list(line.x), list(line.y)) == ([0, 1], [0, 1])
    assert list(counts.y) == [part.n for part in bins]
    assert list(counts.text) == [f"{part.n:,}" for part in bins]
    for bar in (accuracy, counts):
        for x, width, part in zip(bar.x, bar.width, bins, strict=True):
            assert (x - width / 2, x + width / 2) == (pytest.approx(part.low), pytest.approx(part.high))


def test_one_prediction_is_drawn(predictions) -> None:
    empty = [
        part.model_copy(update={"n": 0, "accuracy": None, "confidence": None}) for part in predictions.calibration.bins
    ]
    full = empty[14].model_copy(update={"n": 1, "accuracy": 1.0, "confidence": 0.95})
    calibration = predictions.calibration.model_copy(update={"bins": [*empty[:14], full]})
    chart = reliability_diagram(predictions.model_copy(update={"calibration": calibration}))
    assert list(chart.figure.data[0].y) == [1.0]


def test_a_difference_is_taken_score_by_score_and_adds_up(attribution) -> None:
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 5))
    first = attribution("a dull film", one, target=Target(1, "positive"), errors=np.full(5, 0.1))
    second = attribution("a dull film", two, target=Target(0, "negative"), errors=np.full(5, 0.2))
    found = difference(first, second)
    for i in range(5):
        assert found.scores[i] == one[i] - two[i]
        assert found.errors[i] == pytest.approx(0.3)
    assert found.completeness.sum == pytest.approx(sum(one) - sum(two))
    assert found.completeness.expected == 0.0
    assert found.target.label == "positive over negative"
    assert (found.cost.forward, found.cost.backward) == (0, 0)


def test_a_difference_of_magnitudes_has_signs_and_needs_no_completeness(attribution) -> None:
    first = attribution("a film", [0, 3, 1, 0], signed=False, completeness=None)
    second = attribution("a film", [0, 1, 2, 0], signed=False, completeness=Completeness(3, 3, 0.0))
    found = difference(first, second)
    assert found.signed
    assert found.completeness is None
    assert found.scores.tolist() == [0, 2, -1, 0]


def test_maps_of_different_features_have_no_difference(attribution) -> None:
    with pytest.raises(RequestError, match="different features"):
        difference(attribution("a film"), attribution("a book"))
