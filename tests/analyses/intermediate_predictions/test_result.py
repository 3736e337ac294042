"""The typed result of intermediate predictions: it survives its JSON, and a wrong field is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from explainlab import study
from explainlab.analyses.registry import get_study, read_result
from explainlab.models.classifier import Classifier

TEXT = "A funny film. It isn't good!"


@pytest.mark.parametrize("kind", ["text", "data"])
def test_a_result_survives_json(decoder: Classifier, tmp_path: Path, kind: str) -> None:
    data = tmp_path / "texts.csv"
    data.write_text("text,label\na good film,positive\n,positive\n[UNK],positive\n", encoding="utf-8")
    source = {"text": TEXT} if kind == "text" else {"data": str(data)}
    result = study(decoder, "intermediate_predictions", **source)
    assert read_result(json.loads(json.dumps(result.to_json()))) == result
    assert get_study("intermediate_predictions").report(result).headline


@pytest.mark.parametrize("field", ["positions", "prediction"])
def test_a_wrong_field_is_an_error(decoder: Classifier, field: str) -> None:
    record = study(decoder, "intermediate_predictions", TEXT).to_json()
    with pytest.raises(ValidationError, match=field):
        read_result({**record, field: "nothing"})
    with pytest.raises(ValidationError, match=field):
        read_result({name: value for name, value in record.items() if name != field})
