"""The heat table: the ends of its colours, the order of its cells, and its escaping."""

from __future__ import annotations

import json
import re

import pytest

from explainlab.analyses.evaluation.figures import heat_cells, heat_table
from explainlab.analyses.evaluation.result import Rank
from explainlab.analyses.evaluation.table import kinds_of, table_of
from tests.analyses.evaluation.conftest import HOSTILE

C, S = "comprehensiveness:preset=rpi", "sufficiency:preset=rpi"
MEANS = {"lime": 0.5, "gradient": 0.3, "random": 0.1, "reversed:lime": -0.5, "reversed:gradient": 0.05}


@pytest.fixture
def body(table):
    return table({C: MEANS, S: {method: 1 - mean for method, mean in MEANS.items()}})


def test_colours_run_from_random_to_the_best_of_each_metric_whichever_way_is_better(body) -> None:
    cells = table_of(body)
    for metric in (C, S):
        assert cells.share("random", metric) == 0
        assert cells.share("lime", metric) == 1
        assert cells.share("gradient", metric) == pytest.approx(0.5)
        assert cells.share("reversed:lime", metric) == -1, "cut at the other end"
        assert cells.share("reversed:gradient", metric) == pytest.approx(-0.125)


def test_where_random_is_best_the_farthest_is_fully_red_and_equal_means_have_no_colour(table) -> None:
    worse = table_of(table({C: {"lime": 0.1, "gradient": 0.3, "random": 0.5}}))
    assert [worse.share(method, C) for method in ("lime", "gradient", "random")] == [-1, pytest.approx(-0.5), 0]
    equal = table_of(table({C: dict.fromkeys(MEANS, 0.2)}))
    assert {equal.share(method, C) for method in MEANS} == {0}


def test_methods_come_by_average_rank_and_controls_at_the_end(body) -> None:
    ranks = [Rank(metric=key, method=m, rank=r) for key in ("comprehensiveness", "sufficiency") for m, r in ORDER]
    assert table_of(body.model_copy(update={"ranks": ranks})).methods == ["gradient", "lime"]
    drawn = heat_table(body.model_copy(update={"ranks": ranks})).figure
    labels = ["Gradient", "LIME", "Controls", "Random", "Gradient, reversed", "LIME, reversed"]
    assert list(drawn.layout.yaxis.ticktext) == labels
    assert [value is None for value in drawn.data[0].z[2]] == [True, True], "the heading has no cells"


ORDER = [("lime", 1.8), ("gradient", 1.2), ("random", 3.0)]


def test_a_cell_says_mean_interval_and_what_is_worse_than_random(body) -> None:
    texts = [re.sub("<span.*?>|</span>", "", text) for trace in heat_table(body).figure.data[1:] for text in trace.text]
    assert "0.500<br>0.450 to 0.550" in texts
    assert "−0.500 ▾<br>−0.550 to −0.450" in texts
    headings = heat_table(body).figure.layout.xaxis.ticktext
    assert [heading[-1] for heading in headings] == ["↑", "↓"]
    assert all("(RPI)" in heading for heading in headings)


def test_an_undefined_cell_has_a_dash_and_says_why(table) -> None:
    body = table({"auprc": {"lime": None, "gradient": 0.3, "random": 0.1}})
    assert kinds_of(body) == ["plausibility"]
    chart = heat_table(body, "plausibility")
    assert chart.title.startswith("Agreement with people, not faithfulness")
    assert any(text.startswith("–") for trace in chart.figure.data[1:] for text in trace.text)
    assert any("no value" in words for row in chart.figure.data[0].customdata for words in row)
    assert any(note.startswith("n: the texts for which") for note in chart.notes)


def test_pressed_cells_have_the_same_words_and_shares_and_select_their_method_and_metric(body) -> None:
    spec = heat_cells(body, "faithfulness", "lime", S)
    (records,) = spec["datasets"].values()
    assert {record["framed"] for record in records if (record["method"], record["metric"]) == ("lime", S)} == {True}
    assert sum(record["framed"] for record in records) == 1
    best = next(record for record in records if (record["method"], record["metric"]) == ("lime", C))
    assert (best["kind"], best["top_line"], best["other_lines"]) == ("above", "0.500", "0.450 to 0.550")
    assert spec["params"][0]["select"]["fields"] == ["method", "metric"]


def test_hostile_names_are_text(table) -> None:
    body = table({C: {HOSTILE: 0.5, "random": 0.1, f"reversed:{HOSTILE}": 0.0}})
    chart = heat_table(body)
    assert "<script" not in json.dumps(chart.figure.to_dict(), default=str)
    assert "<script" not in chart.to_html().split("</script>")[-1]
    assert HOSTILE[:20] in json.loads(json.dumps(heat_cells(body)))["layer"][0]["encoding"]["y"]["axis"]["labelExpr"]


def test_a_real_table_has_every_cell_and_its_numbers(evaluated) -> None:
    chart = heat_table(evaluated.body)
    assert len(chart.rows) == len(evaluated.body.rows) == 7 * 2
    assert chart.title == "Methods by metrics: means of 24 texts with 95% intervals"
    assert {row["from_random"] for row in chart.rows if row["method"] == "random"} == {0}
    json.loads(chart.to_json())
