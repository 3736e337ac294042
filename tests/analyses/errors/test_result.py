"""The record of predictions is its JSON: nothing is lost, and any other record is refused."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from explainlab import load_model, study
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.errors.result import PredictionsData
from explainlab.analyses.registry import read_result


@pytest.fixture(scope="module")
def result() -> AnalysisResult[PredictionsData]:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    return study(classifier, "predictions", data="embedded:sentiment", rows=30)


def test_json_is_read_as_the_same_record(result) -> None:
    record = json.loads(json.dumps(result.to_json()))
    again = read_result(record)
    assert isinstance(again.body, PredictionsData)
    assert again.body == result.body
    assert again.to_json() == record


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("n",), "many"),
        (("accuracy", "low"), None),
        (("calibration", "bins", 0, "n"), 0.5),
        (("rows", 3, "loss"), None),
        (("rows", 3, "label"), 1),
    ],
    ids=str,
)
def test_a_field_of_another_type_is_refused(result, path: tuple[Any, ...], value: Any) -> None:
    record = copy.deepcopy(result.to_json())
    *parents, last = path
    part: Any = record
    for name in parents:
        part = part[name]
    part[last] = value
    with pytest.raises(ValueError, match=str(last)):
        read_result(record)


@pytest.mark.parametrize("name", ["accuracy", "rows", "confusion"])
def test_a_missing_field_is_refused(result, name: str) -> None:
    record = result.to_json()
    del record[name]
    with pytest.raises(ValueError, match=name):
        read_result(record)


def test_without_its_rows_everything_else_stays(result) -> None:
    short = result.body.without_rows()
    assert short.rows == []
    assert short.model_dump(exclude={"rows"}) == result.body.model_dump(exclude={"rows"})
    assert len(result.body.rows) == 30
