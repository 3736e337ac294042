"""The typed result of integration: it survives its JSON, a wrong field is an error, and its headline names a rule."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from explainlab import study
from explainlab.analyses.registry import get_study, read_result
from explainlab.models.classifier import Classifier

TEXT = "A funny film. It isn't good!"


@pytest.mark.parametrize("kind", ["text", "data"])
def test_a_result_survives_json(encoder: Classifier, tmp_path: Path, kind: str) -> None:
    data = tmp_path / "texts.csv"
    data.write_text("text,label\na good film,positive\n,positive\n[UNK],positive\n", encoding="utf-8")
    source = {"text": TEXT} if kind == "text" else {"data": str(data)}
    result = study(encoder, "integration_error", **source, steps=[2, 4])
    assert read_result(json.loads(json.dumps(result.to_json()))) == result
    assert get_study("integration_error").headline(result).endswith(".")


@pytest.mark.parametrize("field", ["rows", "expected", "adaptive", "cancels"])
def test_a_wrong_field_is_an_error(encoder: Classifier, field: str) -> None:
    record = study(encoder, "integration_error", TEXT, steps=[2]).to_json()
    with pytest.raises(ValidationError, match=field):
        read_result({**record, field: "nothing"})
    with pytest.raises(ValidationError, match=field):
        read_result({name: value for name, value in record.items() if name != field})


def test_the_headline_names_the_rule_with_the_fewest_steps(encoder: Classifier) -> None:
    result = study(encoder, "integration_error", TEXT, steps=[2, 4])

    def headline(**fields: object) -> str:
        body = result.body.model_copy(update=fields)
        return get_study("integration_error").headline(replace(result, body=body))

    ideal = {"right": 200, "left": None, "gauss_legendre": 10}
    start = "10 steps are enough for an error of 5% or less by the"
    assert headline(cancels=False, ideal_steps=ideal) == f"{start} Gauss-Legendre rule, which needs fewest."
    level = {"right": 70, "midpoint": 10, "trapezoid": 10, "gauss_legendre": 10}
    rules = "midpoint, trapezoid and Gauss-Legendre rules"
    assert headline(cancels=False, ideal_steps=level) == f"{start} {rules}, which need fewest."
    assert headline(cancels=False, ideal_steps={"right": 1}).startswith("1 step is enough")
    none = headline(cancels=False, ideal_steps={"right": None})
    assert none == "No step count of the list brings the error down to 5%."
    assert "hardly changes" in headline(cancels=True)
