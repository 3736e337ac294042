"""Ground truth against the share of planted rows: flat rows, a table of words, LaTeX, and the files of a set."""

from __future__ import annotations

import csv
import html
import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from explainlab.analyses import cells
from explainlab.analyses.evaluation.figures import share_charts
from explainlab.analyses.evaluation.result import shown
from explainlab.analyses.evaluation.sets import EvaluatedSet, set_shares, share_lines, share_rows
from explainlab.app.pages.benchmark.results import _files
from explainlab.cli import main
from explainlab.metrics.registry import parse_metric
from tests.analyses.evaluation.sets.conftest import LARGE, OVERLAP, SMALL, MakeSet
from tests.analyses.evaluation.test_truth import checks

STRONG = {"lime": 0.9, "random": 0.2, "reversed:lime": 0.0}
WEAK = {"lime": 0.5, "random": 0.25, "reversed:lime": 0.1}
Key = tuple[str, str, float, str, float]


@pytest.fixture
def planted(with_rationales: MakeSet) -> EvaluatedSet:
    """Return two models, one on words in all, a quarter and half of the rows; on the last it fails the checks."""
    made = with_rationales(
        {(SMALL, "d:all"): STRONG, (SMALL, "d:few"): WEAK, (SMALL, "d:bad"): STRONG, (LARGE, "d:<few>"): WEAK,
         (LARGE, "d:people"): STRONG, (LARGE, "d:none"): None}
    )  # fmt: skip
    truths = [checks(1.0, 0.5), checks(1.0, 0.5, planted=250), checks(0.6, 0.5, planted=500), None, None, None]
    truths[3] = truths[1]
    changed = []
    for cell, truth in zip(made.cells, truths, strict=True):
        result = cell.result and replace(cell.result, body=cell.result.body.model_copy(update={"planted": truth}))
        changed.append(replace(cell, result=result and shown(result)))
    return EvaluatedSet(tuple(changed))


EXPECTED: list[Key] = [
    ("made:1", "few", 0.25, "lime", 0.5),
    ("made:1", "all", 1.0, "lime", 0.9),
    ("made:1", "few", 0.25, "random", 0.25),
    ("made:1", "all", 1.0, "random", 0.2),
    ("dir/large", "<few>", 0.25, "lime", 0.5),
    ("dir/large", "<few>", 0.25, "random", 0.25),
]


def test_the_rows_are_by_model_and_rise_with_the_share(planted: EvaluatedSet) -> None:
    rows = set_shares(planted)
    assert [(row.model, row.data, row.share, row.method, row.mean) for row in rows] == EXPECTED
    assert list(rows[0].model_dump()) == ["model", "data", "share", "method", "metric", "mean", "low", "high", "n"]
    assert {(row.metric, row.n) for row in rows} == {(parse_metric(OVERLAP).name, 10)}
    (head, told) = share_lines(rows)
    assert "share of the rows with a planted word" in head
    assert [line.split()[2] for line in told.splitlines()[1:]] == [f"{row.share:.0%}" for row in rows]


def test_what_failed_the_checks_is_left_out_of_raw_results_too(with_rationales: MakeSet) -> None:
    raw = with_rationales({(SMALL, "d:bad"): STRONG}).cells[0].result
    truths = (checks(0.6, 0.5), checks(1.0, 0.5))
    failed, known = (replace(raw, body=raw.body.model_copy(update={"planted": truth})) for truth in truths)
    assert share_rows([("m", "d", failed), ("m", "d", None), ("m", "d", raw)]) == []
    assert len(share_rows([("m", "d", failed), ("m", "e", known)])) == 2
    assert share_lines([]) == []


def test_the_files_of_a_set_have_them(planted: EvaluatedSet, with_rationales: MakeSet) -> None:
    files = {label: make() for label, make, *_ in _files(planted)}
    listed = [row for row in csv.DictReader(io.StringIO(files["CSV"])) if row["share"]]
    found = {(row["model"], row["data"], float(row["share"]), row["method"], float(row["mean"])) for row in listed}
    assert found - {row for row in found if row[3].startswith("reversed:")} == set(EXPECTED)
    assert json.loads(files["JSON"])["shares"] == [row.model_dump() for row in set_shares(planted)]
    tables = files["LaTeX"].split(r"\begin{table}")
    chosen = [each for each in tables if "planted word" in each]
    assert len(chosen) == 2
    assert r"\shortstack{25\% \\ few} & \shortstack{100\% \\ all}" in chosen[0]
    assert r"LIME & $0.500 \pm 0.050$ & $0.900 \pm 0.050$" in chosen[0]
    assert r"\textless{}few\textgreater{}" in chosen[1]
    plain = with_rationales({(SMALL, "d:a"): STRONG})
    files = {label: make() for label, make, *_ in _files(plain) if label != "HTML"}
    assert "share" not in files["CSV"].splitlines()[0]
    assert "shares" not in json.loads(files["JSON"])
    assert "planted word" not in files["LaTeX"]


def test_a_model_with_several_shares_has_a_chart_of_them(planted: EvaluatedSet, with_rationales: MakeSet) -> None:
    (chart,) = share_charts(planted)
    small = [row for row in set_shares(planted) if row.model == SMALL.id]
    assert [(row["method"], row["share"], row["mean"]) for row in chart.rows] == [
        (row.method, row.share, row.mean) for row in small
    ]
    assert chart.title.endswith(f"with a planted word: {SMALL.name}")
    assert chart.alt.startswith(chart.title)
    page = next(make() for label, make, *_ in _files(planted) if label == "HTML")
    assert html.escape(chart.alt) in page
    assert list(share_charts(with_rationales({(SMALL, "d:a"): STRONG}))) == []


def test_the_command_line_prints_them(
    home: Path, planted: EvaluatedSet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [
        cells.Cell(model=cell.model.id, data=cell.data_name, status="done", key="k", result=cell.result)
        for cell in planted.done
    ]

    def printed(*more: str, asked: list[cells.Cell] = made) -> str:
        monkeypatch.setattr(cells, "cells", lambda *_: iter(asked))
        data = [word for cell in asked for word in ("--data", cell.data)]
        common = ["--methods", "lime", "--metrics", "ground_truth_overlap"]
        monkeypatch.setattr(sys, "argv", ["explainlab", "evaluate", "--model", "m", *data, *common, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out

    record = json.loads(printed("--json"))
    assert list(record) == ["cells", "shares"]
    assert record["shares"] == [row.model_dump() for row in set_shares(planted)]
    told = printed()
    assert told.rstrip().endswith("\n".join(share_lines(set_shares(planted))))
    people = [cell for cell in made if cell.data in ("people", "bad")]
    assert list(json.loads(printed("--json", asked=people))) == ["cells"]
    assert "planted word:" not in printed(asked=people)
