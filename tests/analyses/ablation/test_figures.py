"""The chart of methods with equal budgets, from a real study of a tiny model."""

from __future__ import annotations

import csv
import io

import pytest

from explainlab import study
from explainlab.analyses.ablation.figures import ablation
from explainlab.analyses.ablation.result import AblationText
from explainlab.analyses.candidates.figures import BEST, FIRST
from explainlab.models.classifier import Classifier

ASKED = {"methods": "occlusion", "metrics": "comprehensiveness,sufficiency", "samples": 3}


@pytest.fixture(scope="module")
def body(encoder: Classifier) -> AblationText:
    return study(encoder, "ablation", "A <b>funny</b> film, and long.", **ASKED).body


def trace(chart, name: str):
    return next(one for one in chart.figure.data if one.name == name)


def test_every_method_stands_in_a_row_with_its_cost(body: AblationText) -> None:
    chart = ablation(body, "sufficiency")
    assert [name.split("<br>")[1] for name in trace(chart, FIRST).y][1].startswith("3 maps, ")
    for choice, name in (("first", FIRST), ("best", BEST)):
        assert list(trace(chart, name).x) == [getattr(one.selection["sufficiency"], choice) for one in body.methods]
    held = trace(chart, "Chosen by Comprehensiveness (RPI)")
    assert list(held.x) == [one.selection["sufficiency"].held_out["comprehensiveness"] for one in body.methods]
    assert trace(chart, FIRST).error_x.array is None


def test_its_numbers_are_all_there(body: AblationText) -> None:
    rows = list(csv.DictReader(io.StringIO(ablation(body, "sufficiency").to_csv())))
    assert len(rows) == len(body.methods) * 2 * 4
    found = {(row["method"], row["reported"], row["choice"]): float(row["mean"]) for row in rows}
    assert found["random", "comprehensiveness", "best"] == pytest.approx(
        body.methods[1].selection["comprehensiveness"].best
    )


def test_one_metric_has_nothing_that_another_chose(encoder: Classifier) -> None:
    body = study(encoder, "ablation", "A fine film.", methods="occlusion", metrics="log_odds", samples=2).body
    assert [one.name for one in ablation(body, "log_odds").figure.data] == [FIRST, "Mean of all maps", BEST]


def test_a_data_set_has_error_bars(encoder: Classifier, tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('text\n"A dull film, and long."\n"A lovely evening."\n"Not a good plot at all, sadly."\n')
    chart = ablation(study(encoder, "ablation", data=str(path), **ASKED).body, "comprehensiveness")
    assert len(trace(chart, FIRST).error_x.array) == 2
