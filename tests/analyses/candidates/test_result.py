"""The typed results of candidates: they survive their JSON, and refuse another form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from explainlab import study
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.candidates.result import CandidatesData, CandidatesText
from explainlab.analyses.candidates.verdict import data_verdict, text_verdict
from explainlab.analyses.registry import get_study, read_result
from explainlab.metrics.evaluate import TIE
from tests.conftest import Zoo

CHEAP = {"samples": 2, "steps": 2, "metrics": "comprehensiveness,log_odds:k=10"}


@pytest.fixture(scope="module", params=["text", "adaptive", "data"])
def result(request: pytest.FixtureRequest, zoo: Zoo, tmp_path_factory: pytest.TempPathFactory) -> AnalysisResult[Any]:
    if request.param == "data":
        file: Path = tmp_path_factory.mktemp("rows") / "rows.csv"
        file.write_text('text\n"A dull film, and long."\n"A lovely evening."\n')
        return study(zoo("bert"), "rpi_candidates", data=str(file), layers="all", **CHEAP)
    search = "adaptive" if request.param == "adaptive" else "random"
    return study(zoo("bert"), "rpi_candidates", "A funny film, and long.", layers="all", search=search, **CHEAP)


def test_a_result_survives_its_json(result: AnalysisResult[Any]) -> None:
    again = read_result(json.loads(json.dumps(result.to_json(), allow_nan=False)))
    assert isinstance(again, AnalysisResult)
    assert isinstance(again.body, CandidatesText if result.request.data is None else CandidatesData)
    assert (again.body, again.request, again.cost) == (result.body, result.request, result.cost)


@pytest.mark.parametrize("field", ["metrics", "by_draws", "by_layer"])
def test_a_field_of_another_form_is_an_error(result: AnalysisResult[Any], field: str) -> None:
    record = result.to_json()
    with pytest.raises(ValidationError, match=field):
        read_result({**record, field: 3})
    del record[field]
    with pytest.raises(ValidationError, match=field):
        read_result(record)


def test_only_a_random_search_has_an_expectation(result: AnalysisResult[Any]) -> None:
    kinds = ["nested"] if result.request.parameters["search"] == "adaptive" else ["nested", "expected"]
    assert all(list(best) == kinds for best in result.to_json()["by_draws"].values())
    assert all(list(best.by_kind) == kinds for best in result.body.by_draws.values())


def test_the_headline_is_about_the_first_metric(result: AnalysisResult[Any]) -> None:
    own, of_text = result.body.selection["comprehensiveness"], result.request.text is not None
    best, mean = (value if of_text else value.mean for value in (own.best, own.mean))
    said = get_study("rpi_candidates").report(result).headline
    assert said == (text_verdict if of_text else data_verdict)(result.body)
    assert ("cannot tell" in said) == (abs(best - mean) <= TIE)
