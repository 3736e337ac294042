"""The typed results of methods with equal budgets: they survive their JSON, and refuse another form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from explainlab import study
from explainlab.analyses.ablation.result import AblationData, AblationText
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import get_study, read_result
from explainlab.analyses.wording import ahead_on_a_text
from tests.conftest import Zoo

CHEAP = {"methods": "occlusion", "samples": 2, "metrics": "sufficiency,comprehensiveness"}


@pytest.fixture(scope="module", params=["text", "data"])
def result(request: pytest.FixtureRequest, zoo: Zoo, tmp_path_factory: pytest.TempPathFactory) -> AnalysisResult[Any]:
    if request.param == "text":
        return study(zoo("bert"), "ablation", "A funny film, and long.", **CHEAP)
    file: Path = tmp_path_factory.mktemp("rows") / "rows.csv"
    file.write_text('text\n"A dull film, and long."\n"A lovely evening."\n')
    return study(zoo("bert"), "ablation", data=str(file), **CHEAP)


def test_a_result_survives_its_json(result: AnalysisResult[Any]) -> None:
    again = read_result(json.loads(json.dumps(result.to_json(), allow_nan=False)))
    assert isinstance(again, AnalysisResult)
    assert isinstance(again.body, AblationText if result.request.data is None else AblationData)
    assert (again.body, again.request, again.cost) == (result.body, result.request, result.cost)


@pytest.mark.parametrize("field", ["metrics", "methods"])
def test_a_field_of_another_form_is_an_error(result: AnalysisResult[Any], field: str) -> None:
    record = result.to_json()
    with pytest.raises(ValidationError, match=field):
        read_result({**record, field: [3]})
    del record[field]
    with pytest.raises(ValidationError, match=field):
        read_result(record)


def test_the_headline_tells_who_is_ahead_on_a_text_and_ranks_nobody_on_two(result: AnalysisResult[Any]) -> None:
    headline = get_study("ablation").report(result).headline
    of_text = result.request.data is None
    assert f"{'on this text' if of_text else 'over 2 texts'}, with their first maps " in headline
    for part in ("first", "best"):
        values = {method.label: getattr(method.selection["sufficiency"], part) for method in result.body.methods}
        assert (ahead_on_a_text(values, higher=False) if of_text else "cannot be distinguished") in headline
