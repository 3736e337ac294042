"""The typed results of an evaluated attribution: they survive their JSON, and refuse another form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from explainlab import study
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.judged_map.result import JudgedData, JudgedText
from explainlab.analyses.registry import get_study, read_result
from explainlab.models.classifier import Classifier

TEXT = "A funny film"
METRICS = "comprehensiveness,log_odds"


@pytest.fixture(scope="module", params=["text", "data"])
def result(
    request: pytest.FixtureRequest, encoder: Classifier, tmp_path_factory: pytest.TempPathFactory
) -> AnalysisResult[Any]:
    scores = [float(i) for i in range(len(encoder.encode(TEXT)))]
    if request.param == "text":
        return study(encoder, "judged_map", TEXT, scores=scores, metrics=METRICS)
    file: Path = tmp_path_factory.mktemp("rows") / "rows.csv"
    file.write_text(f"text\n{TEXT}\n")
    return study(encoder, "judged_map", data=str(file), scores=scores, metrics=METRICS)


def test_a_result_survives_its_json(result: AnalysisResult[Any]) -> None:
    again = read_result(json.loads(json.dumps(result.to_json(), allow_nan=False)))
    assert isinstance(again, AnalysisResult)
    assert isinstance(again.body, JudgedText if result.request.data is None else JudgedData)
    assert (again.body, again.request, again.cost) == (result.body, result.request, result.cost)


def test_a_field_of_another_form_is_an_error(result: AnalysisResult[Any]) -> None:
    field = "metrics" if result.request.data is None else "texts"
    record = result.to_json()
    with pytest.raises(ValidationError, match=field):
        read_result({**record, field: [3]})
    del record[field]
    with pytest.raises(ValidationError, match=field):
        read_result(record)


def test_the_headline_has_every_value(result: AnalysisResult[Any]) -> None:
    headline = get_study("judged_map").report(result).headline
    assert len(result.body.evaluated) == 2
    for metric in result.body.evaluated:
        assert f"{metric.label} {metric.value:.4f}" in headline
