"""The record of an evaluation is its JSON: nothing is lost, and any other record is refused."""

from __future__ import annotations

import json

import pytest

from explainlab import load_model, study
from explainlab.analyses.evaluation.result import EvaluationData, EvaluationText
from explainlab.analyses.evaluation.verdict import data_verdict
from explainlab.analyses.registry import get_study, read_result
from explainlab.analyses.wording import ahead_on_a_text
from explainlab.metrics.registry import parse_metric

SOURCES = [{"text": "A funny and warm film."}, {"data": "embedded:sentiment", "rows": 3}]


@pytest.fixture(scope="module", params=SOURCES, ids=["text", "data"])
def result(request):
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    return study(classifier, "evaluation", methods=["occlusion"], metrics=["log_odds:k=40"], **request.param)


def test_json_is_read_as_the_same_record(result) -> None:
    record = json.loads(json.dumps(result.to_json()))
    again = read_result(record)
    assert isinstance(again.body, EvaluationText if result.request.text else EvaluationData)
    assert again.body == result.body
    assert again.to_json() == record


def test_a_field_of_another_type_is_refused(result) -> None:
    record = result.to_json()
    name, value = ("values", {"occlusion": 3}) if result.request.text else ("rows", [{"method": "occlusion"}])
    with pytest.raises(ValueError, match=name):
        read_result({**record, name: value})


def test_the_headline_tells_who_is_ahead(result) -> None:
    body, labels = result.body, {"occlusion": "Occlusion", "random": "Random"}
    if isinstance(body, EvaluationText):
        said = ahead_on_a_text({label: next(iter(body.values[name].values())) for name, label in labels.items()}, False)
    else:
        said = data_verdict(body, parse_metric("log_odds:k=40"))
    assert get_study("evaluation").report(result).headline.endswith(f", {said}.")
