"""Rationales in an evaluation: read for the metrics that compare, counted where missing, refused where wrong."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explainlab
from explainlab import cli
from explainlab.analyses.registry import get_study, read_result
from explainlab.analyses.text_analysis import row_request
from explainlab.attribution.subject import Subject
from explainlab.data import read_dataset
from explainlab.errors import DataError, RequestError
from explainlab.metrics.registry import metric_ids
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.reader import ANYBODY
from explainlab.request import CompleteRequest, Request
from explainlab.testing import check_analysis

TEXT = "A funny and warm film, well worth the evening."
ROWS = [
    (TEXT, "1", "[[2, 7], [12, 16]]"),
    ("A dull, lifeless and slow evening.", "0", "[[2, 6]]"),
    ("Fine.", "1", "[]"),
    (TEXT, "1", "[[17, 21]]"),
    ("A dull film.", "0", ""),
    ("warm " * 600 + "evening", "1", "[[3000, 3007]]"),
]


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    """Return a model that reads little of the long text, which would cost most of the time."""
    return replace(explainlab.load_model("embedded:bert-mini-sst2", device="cpu"), max_tokens=32)


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path / "rows.csv", ROWS)


def write(path: Path, rows: list, header: tuple = ("text", "label", "rationale")) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def test_texts_without_a_rationale_are_left_out_and_counted_by_reason(classifier: Classifier, data: str) -> None:
    names = ["comprehensiveness", *metric_ids("Rationale")]
    result = explainlab.evaluate(classifier, data, ["occlusion"], names, sample="first")
    body = result.body
    assert body.n == 6
    assert body.rationales.model_dump() == {"missing": 1, "empty": 1, "cut": 1}
    assert [text.rationale for text in body.texts][:3] == [((2, 7), (12, 16)), ((2, 6),), ()]
    assert [text.undefined for text in body.texts] == [None, None, "empty", None, "missing", "cut"]
    for row in body.rows:
        values = [value for text in body.texts if (value := text.values[row.method][row.asked]) is not None]
        assert (row.n, row.undefined) == ((4, 2) if row.metric == "comprehensiveness" else (3, 3))
        assert row.n == len(values)
        assert row.mean == pytest.approx(np.mean(values))
    assert read_result(json.loads(json.dumps(result.to_json(), allow_nan=False))) == result
    study = get_study("evaluation")
    (*_, last, short) = study.report(result).lines
    assert short.startswith("Left out by Comprehensiveness (RPI): 2 of 6 texts, as 20% of a text is less than one")
    absent = "1 not annotated, 1 nothing marked, 1 the marked part cut by the model"
    assert last.startswith(f"n = 6; no rationale to compare with: {absent}; told apart")
    by_overlap = explainlab.evaluate(classifier, data, ["occlusion"], names[1:], sample="first")
    assert "over 3 texts" in study.report(by_overlap).headline


def test_two_rows_with_one_text_and_two_rationales_are_two_answers(classifier: Classifier, data: str) -> None:
    texts = explainlab.evaluate(classifier, data, ["occlusion"], ["mean_rank"], sample="first").body.texts
    name = "mean_rank:preset=ours"
    scores = explainlab.explain(classifier, TEXT, "occlusion").scores
    features = Subject(classifier, classifier.encode(TEXT)).units.features
    for text, words in ((texts[0], ("funny", "warm")), (texts[3], ("film",))):
        places = [i for i, feature in enumerate(features) if feature.text in words]
        content = scores[1:-1]
        assert text.values["occlusion"][name] == max((content >= scores[i]).sum() for i in places)
    assert texts[0].text == texts[3].text
    assert texts[0].text_seed == texts[3].text_seed


def keys(classifier: Classifier, data: str, **parameters: Any) -> list[str]:
    """Return the keys of all rows, as the analysis asks for them."""
    study = get_study("evaluation")
    request = study.complete(Request(question="evaluation", model=classifier.id, data=data, parameters=parameters))
    columns = study.requirements(study.parameters(request)).extra_columns
    rows = read_dataset(data, classifier.labels).rows
    return [study.key(row_request(request, row, columns), classifier.digest, ANYBODY) for row in rows]


def test_a_rationale_is_asked_about_only_where_a_metric_compares_with_it(
    classifier: Classifier, data: str, tmp_path: Path
) -> None:
    bare = write(tmp_path / "bare.csv", [row[:2] for row in ROWS], ("text", "label"))
    without = keys(classifier, data, metrics=["log_odds"])
    assert without == keys(classifier, bare, metrics=["log_odds"])
    assert without[0] == without[3]
    put = write(tmp_path / "put.csv", [(*row[:2], "In other words.") for row in ROWS], ("text", "label", "paraphrase"))
    assert without == keys(classifier, put, metrics=["log_odds"])
    asked = keys(classifier, data, metrics=["log_odds", "auprc"])
    assert len(set(asked)) == len(ROWS)
    other = keys(classifier, bare, metrics=["log_odds", "auprc"])
    assert [mine == yours for mine, yours in zip(asked, other, strict=True)] == [False] * 4 + [True, False]


def test_one_text_is_compared_with_the_rationale_of_its_request(classifier: Classifier) -> None:
    study = get_study("evaluation")

    def answer(**fields: Any) -> Any:
        parameters = {"methods": ["occlusion"], "metrics": ["ground_truth_overlap", "comprehensiveness"]}
        request = Request(question=study.id, model=classifier.id, text=TEXT, parameters=parameters, **fields)
        complete = study.complete(request)
        assert isinstance(complete, CompleteRequest)
        return study.run(classifier, complete, RunContext())

    result = answer(rationale=((0, len(TEXT)),))
    assert result.body.values["random"]["ground_truth_overlap:preset=ours"] == 1
    record = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert record["rationale"] == [[0, len(TEXT)]]
    assert read_result(record) == result
    nothing = answer()
    assert nothing.body.undefined == "missing"
    assert study.report(nothing).headline.endswith("on this text, no method has a value: not annotated.")
    assert "rationale" not in nothing.to_json()


def test_pairs_have_a_rationale_each(classifier: Classifier, tmp_path: Path) -> None:
    rows = [("a good film", "a bad film", "1", "[]", "[[2, 5]]"), ("a good film", "a bad film", "1", "[[2, 6]]", "")]
    path = write(tmp_path / "pairs.csv", rows, ("text", "text_b", "label", "rationale", "rationale_b"))
    body = explainlab.evaluate(classifier, path, ["random"], ["mean_rank"], unit="word").body
    assert body.rows[0].n == 2
    scores = {}
    for text in body.texts:
        found = explainlab.explain(
            classifier, text.text, "random", text_pair=text.text_pair, unit="word", seed=text.text_seed
        )
        scores = {
            (f.part, f.text): score for f, score in zip(found.features, found.scores, strict=True) if not f.special
        }
        wanted = (1, "bad") if text.row == 1 else (0, "good")
        rank = sum(score >= scores[wanted] for score in scores.values())
        assert text.values["random"]["mean_rank:preset=ours"] == rank


def test_a_file_without_rationales_is_refused_before_any_pass(classifier: Classifier, tmp_path: Path) -> None:
    for name, rows in (("none", [("a good film", "1", "")]), ("empty", [("a good film", "1", "[]")])):
        path = write(tmp_path / f"{name}.csv", rows)
        with pytest.raises(DataError) as refusal:
            explainlab.evaluate(classifier, path, ["random"], ["comprehensiveness", "auprc"])
        assert str(refusal.value).startswith(
            f"{name}.csv gives no rationale: its column 'rationale' is missing or empty"
        )
        assert "[[0, 4], [10, 15]]" in refusal.value.remedy
        explainlab.evaluate(classifier, path, ["random"], ["comprehensiveness"])
    with pytest.raises(DataError, match="no column 'evidence'"):
        explainlab.evaluate(classifier, path, ["random"], ["auprc"], columns={"rationale": "evidence"})


def test_a_file_whose_rationales_are_all_cut_has_no_value_and_says_so(classifier: Classifier, tmp_path: Path) -> None:
    path = write(tmp_path / "cut.csv", ROWS[4:])
    result = explainlab.evaluate(classifier, path, ["occlusion"], ["auprc", "log_odds"])
    assert result.body.rationales.model_dump() == {"missing": 1, "empty": 0, "cut": 1}
    for row in result.body.rows:
        assert (row.n, row.undefined, row.mean is None) == ((0, 2, True) if row.metric == "auprc" else (1, 1, False))
    assert get_study("evaluation").report(result).headline == "By AUPRC over 0 texts, no method has a value."
    assert read_result(json.loads(json.dumps(result.to_json(), allow_nan=False))) == result


def test_a_rationale_outside_its_text_is_told_with_its_row_or_skipped(classifier: Classifier, tmp_path: Path) -> None:
    path = write(tmp_path / "outside.csv", [*ROWS[:2], ("a film", "1", "[[2, 7]]")])
    with pytest.raises(DataError, match=r"Row 3 of outside.csv: .* \[2, 7\)"):
        explainlab.evaluate(classifier, path, ["random"], ["auprc"])
    result = explainlab.evaluate(classifier, path, ["random"], ["auprc"], skip_bad=True)
    assert (result.body.n, [number for number, _ in result.skipped]) == (2, [3])


def test_only_an_evaluation_compares_with_rationales(classifier: Classifier) -> None:
    for study in ("ablation", "judged_map", "rpi_candidates"):
        with pytest.raises(RequestError, match=r"auprc .* only an evaluation"):
            explainlab.study(classifier, study, "a good film", metrics=["auprc"])


def test_the_contract_of_analyses_holds_with_both_kinds(encoder: Classifier, data: str) -> None:
    asked = {"methods": ["occlusion"], "metrics": ["token_f1", "log_odds"], "rows": 4}
    check_analysis(get_study("evaluation"), encoder, text=TEXT, data=data, **asked)


def test_the_command_line_asks_for_rationale_metrics(
    home: Path, data: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = ["--model", "embedded:bert-mini-sst2", "--data", data, "--json"]
    chosen = [["evaluate", "--methods", "occlusion", "--metrics", "token_f1:k=20,auprc"]]
    chosen += [["study", "evaluation", "--set", "methods=occlusion", "--set", "metrics=token_f1:k=20,auprc"]]
    for arguments in chosen:
        monkeypatch.setattr("sys.argv", ["explainlab", *arguments, *shared])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
        printed = json.loads(capsys.readouterr().out)
        assert printed["rationales"] == {"missing": 1, "empty": 1, "cut": 1}
        assert [(row["metric"], row["n"], row["undefined"]) for row in printed["rows"][:2]] == [
            ("token_f1", 3, 3),
            ("auprc", 3, 3),
        ]
