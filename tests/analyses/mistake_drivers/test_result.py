"""The record of mistake drivers as JSON: nothing is lost, and other records are refused."""

from __future__ import annotations

import json

import pytest

from explainlab.analyses.mistake_drivers.analysis import TESTED_PAIRS
from explainlab.analyses.mistake_drivers.result import MistakeDriversData
from explainlab.analyses.registry import read_result


def test_json_is_read_as_the_same_record(result) -> None:
    record = json.loads(json.dumps(result.to_json()))
    again = read_result(record)
    assert isinstance(again.body, MistakeDriversData)
    assert again.body == result.body
    assert again.to_json() == record
    assert list(record["words"][0])[:3] == ["word", "words", "predicted"]


def test_only_the_first_pairs_have_an_interaction(result) -> None:
    pairs = result.to_json()["pairs"]
    assert len(pairs) > TESTED_PAIRS
    assert ["interaction" in pair for pair in pairs] == [i < TESTED_PAIRS for i in range(len(pairs))]


@pytest.mark.parametrize(("name", "value"), [("rows", None), ("mean", "high"), ("row_numbers", 3), ("words", "a")])
def test_a_field_of_another_type_is_refused(result, name: str, value: object) -> None:
    record = result.to_json()
    record["pairs"][0][name] = value
    with pytest.raises(ValueError, match=name):
        read_result(record)
