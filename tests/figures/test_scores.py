"""Charts of attributions: sorted, adding up from the baseline's output to the text's, and honest about the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from explainlab import explain, load_model
from explainlab.attribution.records import Attribution, Completeness
from explainlab.figures.bars import MOST, has_waterfall
from explainlab.figures.chart import GREY
from explainlab.figures.palette import PALETTES
from explainlab.figures.scores import agreement_matrix, score_bars, waterfall

TEXT = "The first act drags a little, but the ending is so beautiful that I forgave everything <b>at once."


@pytest.fixture(scope="module")
def results() -> list[Attribution]:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    methods = ("integrated_gradients", "occlusion", "attention_last")
    return [explain(classifier, TEXT, method=method, target="positive") for method in methods]


def test_the_largest_come_first_and_the_rest_are_summed(results: list[Attribution]) -> None:
    result = results[1]
    chart = score_bars(result)
    content = result.scores[result.content]
    assert len(content) > MOST + 1
    largest = content[np.argsort(-np.abs(content), kind="stable")]
    (bars,) = chart.figure.data
    assert list(bars.x)[:-1] == largest[:MOST].tolist()
    assert bars.x[-1] == pytest.approx(largest[MOST:].sum())
    assert chart.rows[-1]["name"] == f"{len(content) - MOST} other tokens"
    assert sum(row["score"] for row in chart.rows) == pytest.approx(content.sum())
    hues = PALETTES["green_red"].light
    assert list(bars.marker.color) == [hues.positive if x >= 0 else hues.negative for x in bars.x]
    assert list(bars.marker.pattern.shape) == ["" if x >= 0 else "/" for x in bars.x]
    assert chart.rows[0]["name"] in chart.alt


def test_one_feature_more_needs_no_bar_for_the_rest(results: list[Attribution]) -> None:
    result = results[1]
    few = np.flatnonzero(result.content)[: MOST + 1]
    shorter = replace(result, features=tuple(result.features[i] for i in few), scores=result.scores[few])
    assert len(score_bars(shorter).rows) == MOST + 1


def test_scores_without_signs_are_magnitudes(results: list[Attribution]) -> None:
    (bars,) = score_bars(results[2], "blue_orange", "dark").figure.data
    assert set(bars.marker.color) == {PALETTES["blue_orange"].dark.magnitude}
    assert min(bars.x) >= 0
    assert not has_waterfall(results[2])


def test_the_waterfall_goes_from_the_baselines_output_to_the_texts(results: list[Attribution]) -> None:
    result = results[0]
    assert has_waterfall(result)
    chart = waterfall(result)
    first, *steps, last = chart.rows
    assert (first["total"], last["total"]) == (True, True)
    assert last["score"] == result.prediction.probabilities["positive"]
    assert first["score"] == pytest.approx(last["score"] - result.completeness.expected)
    at = first["score"]
    for step in steps:
        assert step["from"] == pytest.approx(at)
        at += step["score"]
    assert at == pytest.approx(last["score"], abs=0.01 * abs(result.completeness.expected) + 0.005)
    (bars,) = chart.figure.data
    assert [bars.marker.color[i] for i in (0, -1)] == [GREY, GREY]


def test_what_the_scores_miss_has_a_bar(results: list[Attribution]) -> None:
    result = results[0]
    total = float(result.scores.sum())
    off = replace(result, completeness=Completeness(total, total + 0.5, 0.5))
    rows = {row["name"]: row for row in waterfall(off).rows}
    assert rows["Missing from the sum"]["score"] == pytest.approx(0.5)
    logit = replace(off, request=result.request.model_copy(update={"output": "logit"}))
    rows = waterfall(logit).rows
    assert (rows[0]["score"], rows[-1]["score"]) == (0, pytest.approx(total + 0.5)), "only the change is known"


def test_words_are_escaped(results: list[Attribution]) -> None:
    hostile = replace(results[1], features=tuple(replace(f, text="<b>") for f in results[1].features))
    assert all(label.startswith("&lt;b&gt;") for label in score_bars(hostile).figure.layout.yaxis.ticktext[:MOST])


def test_the_matrix_has_every_pair_and_a_dash_where_none_is_defined(results: list[Attribution]) -> None:
    chart = agreement_matrix(results)
    cells, text = chart.figure.data
    matrix = np.array(cells.z, dtype=float)
    assert matrix.shape == (3, 3)
    assert np.array_equal(matrix, matrix.T)
    assert np.diag(matrix).tolist() == [1, 1, 1]
    assert len(chart.rows) == len(text.text) == 9
    assert "Highest: " in chart.alt
    constant = [replace(result, scores=np.zeros(len(result.scores))) for result in results]
    flat = agreement_matrix(constant)
    assert list(flat.figure.data[1].text).count("–") == 6
    assert flat.alt.endswith("None is defined.")
