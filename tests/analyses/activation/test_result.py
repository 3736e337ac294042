"""The typed results of activation curves: a written result is read again, and no other file is."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from explainlab import study
from explainlab.analyses.activation.result import ActivationData, ActivationText
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import read_result
from explainlab.models.classifier import Classifier

ASKED = {"methods": ["occlusion"], "unit": "word", "reference": "kernel_shap"}


@pytest.fixture(scope="module")
def results(encoder: Classifier, tmp_path_factory: pytest.TempPathFactory) -> dict[str, AnalysisResult[Any]]:
    """Return a result of a text, and one of a data set with a row without a text."""
    path: Path = tmp_path_factory.mktemp("activation") / "rows.csv"
    path.write_text('text,label\n"a good film, a great story",0\n"",1\nnot a good film,1\n', encoding="utf-8")
    return {
        "text": study(encoder, "activation", "a good film", **ASKED),
        "data": study(encoder, "activation", data=str(path), **ASKED),
    }


def written(result: AnalysisResult[Any]) -> dict[str, Any]:
    return json.loads(json.dumps(result.to_json(), allow_nan=False))


@pytest.mark.parametrize(("kind", "record"), [("text", ActivationText), ("data", ActivationData)])
def test_what_is_written_is_read_again(results, kind: str, record: type) -> None:
    result = results[kind]
    read = read_result(written(result))
    assert isinstance(read, AnalysisResult)
    assert isinstance(read.body, record)
    assert read.body == result.body
    assert (read.request, read.cost, read.warnings) == (result.request, result.cost, result.warnings)
    assert (read.versions, read.skipped) == (result.versions, result.skipped)
    assert written(read) == written(result)


def test_rows_that_were_left_out_are_named(results) -> None:
    (skipped,) = results["data"].skipped
    assert skipped.row == 2
    assert written(results["data"])["skipped"] == [[skipped.row, skipped.reason]]
    assert "skipped" not in written(results["text"])


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("text", lambda record: record.pop("curves")),
        ("text", lambda record: record.update(text_seed="many")),
        ("text", lambda record: record["curves"][0].update(direction="sideways")),
        ("text", lambda record: record["curves"][0].update(auc=None)),
        ("text", lambda record: record["methods"][0]["scores"].append("x")),
        ("text", lambda record: record["methods"][0]["cost"].pop("passes")),
        ("data", lambda record: record.pop("grid")),
        ("data", lambda record: record["rows"][0]["activation"].update(mean=None)),
        ("data", lambda record: record["curves"][0]["mean"].append(None)),
        ("data", lambda record: record["texts"][0]["auc"]["occlusion"].update(sideways=0.5)),
    ],
)
def test_a_wrong_field_is_refused(results, kind: str, change: Callable[[dict[str, Any]], object]) -> None:
    record = copy.deepcopy(written(results[kind]))
    change(record)
    with pytest.raises(ValidationError):
        read_result(record)


def test_records_do_not_change(results) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        results["text"].body.curves[0].auc = 0.0
