"""The metrics of stability in an evaluation: maps with a value, the reported reasons, and refusals."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import explainlab
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.registry import get_study, read_result
from explainlab.attribution.subject import Subject
from explainlab.errors import DataError, RequestError
from explainlab.metrics.registry import parse_metric
from tests.conftest import Zoo
from tests.metrics.test_stability import by_hand, values

SENSITIVITY, INFIDELITY, EDITS = METRICS = [
    "max_sensitivity:samples=2",
    "infidelity:samples=8",
    "edit_stability:samples=2",
]
TEXTS = ["a funny film with a great plot", "the acting is worse than the plot"]


@pytest.fixture
def data(tmp_path: Path) -> str:
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((text, "0") for text in TEXTS)])
    return str(tmp_path / "rows.csv")


@pytest.fixture
def given(tmp_path: Path) -> str:
    """Write attributions made elsewhere: the longer a word the higher its score."""
    records = []
    for text in TEXTS:
        spans = [match.span() for match in re.finditer(r"\w+", text)]
        records.append({"text": text, "features": [{"start": a, "end": b, "score": b - a} for a, b in spans]})
    (tmp_path / "mine.json").write_text(json.dumps(records))
    return str(tmp_path / "mine.json")


def test_what_can_be_made_again_has_values_and_all_else_is_counted(zoo: Zoo, data: str, given: str) -> None:
    methods = ["input_x_gradient", "attention_average"]
    result = explainlab.evaluate(
        zoo("bert"), data, methods, METRICS, unit="word", attributions=[given], sample="first", output="logit"
    )
    rows = {(row.method, row.asked): row for row in result.body.rows}
    for (method, metric), row in rows.items():
        known = metric == INFIDELITY or method in [*methods, "random"]
        assert (row.n, row.undefined) == ((2, 0) if known else (0, 2)), (method, metric)
    assert rows["random", SENSITIVITY].mean > rows["input_x_gradient", SENSITIVITY].mean
    assert "reversed scores and of scores from files" in rows["mine", SENSITIVITY].definition
    assert read_result(json.loads(json.dumps(result.to_json()))).body.rows == result.body.rows
    assert "none" in "\n".join(get_study("evaluation").report(result).lines)


def test_a_text_of_a_data_set_has_the_value_that_it_has_alone(zoo: Zoo, data: str) -> None:
    body = explainlab.evaluate(
        zoo("bert"), data, ["input_x_gradient"], METRICS, sample="first", output="logit", target="0"
    ).body
    for text, found in zip(TEXTS, body.texts, strict=True):
        for metric in METRICS:
            subject = Subject(zoo("bert"), zoo("bert").encode(text), target="0", output="logit")
            (alone,) = values(subject, metric, ("input_x_gradient", {}))
            assert found.values["input_x_gradient"][parse_metric(metric).name] == pytest.approx(
                alone, rel=1e-4, abs=1e-6
            )


def test_paraphrases_come_from_a_column_and_texts_without_one_are_told(zoo: Zoo, tmp_path: Path) -> None:
    texts = ["a silly film with a great story", "a funny movie with a great plot", "a funny film with the best plot"]
    rows = [{"text": TEXTS[0], "label": "0", "put": texts}, {"text": TEXTS[1], "label": "0", "put": " "}]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    asked = {"unit": "word", "sample": "first", "output": "logit", "target": "0"}

    def evaluated(metric: str) -> AnalysisResult[EvaluationData]:
        columns = {"paraphrase": "put"}
        return explainlab.evaluate(zoo("bert"), str(path), ["input_x_gradient"], [metric], columns=columns, **asked)

    result = evaluated("edit_stability:edits=column")
    subject = Subject(zoo("bert"), zoo("bert").encode(TEXTS[0]), target="0", output="logit", unit="word")
    rhos, count = by_hand(subject, "input_x_gradient", texts)
    assert count
    found = {row.method: row for row in result.body.rows}["input_x_gradient"]
    assert (found.n, found.undefined, found.mean) == (1, 1, pytest.approx(np.mean(rhos), abs=1e-6))
    assert "1 of 2 texts has no paraphrase, and nothing of edits=column." in result.warnings
    assert not evaluated("edit_stability:samples=1").warnings, "no other question reads the column"
    with pytest.raises(DataError, match="no paraphrase") as refused:
        explainlab.evaluate(zoo("bert"), str(path), ["random"], ["edit_stability:edits=column"])
    assert "each text in other words" in refused.value.remedy
    with pytest.raises(RequestError, match="nobody gave any"):
        explainlab.study(zoo("bert"), "evaluation", TEXTS[0], metrics=["edit_stability:edits=column"])


@pytest.mark.parametrize("study", ["rpi_candidates", "ablation", "judged_map"])
def test_who_evaluates_no_methods_refuses_them(zoo: Zoo, study: str) -> None:
    with pytest.raises(RequestError, match=r"max_sensitivity .* only an evaluation"):
        explainlab.study(zoo("bert"), study, "a film", metrics=["max_sensitivity"])
