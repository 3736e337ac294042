"""Our numbers beside the published: the cells that stand for theirs, the differences, the next steps, and the files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.published import (
    Beside,
    beside_best,
    beside_published,
    paper_tables,
    published_latex,
    published_rows,
)
from explainlab.analyses.sets.records import SetCell, SetModel
from tests.analyses.evaluation.conftest import HOSTILE
from tests.analyses.evaluation.test_latex import well_formed

BERT = SetModel("dir/bert", HOSTILE, "BERT", 1_000_000, "dir/bert")
GPT2 = SetModel("dir/gpt2", "gpt2", "GPT-2", 1_000_000, "dir/gpt2")
SUFF, OTHER = "sufficiency:preset=rpi", "sufficiency:preset=eraser"


@pytest.fixture
def cell(evaluated: AnalysisResult, table):
    def made(model: SetModel, data: str, means: dict) -> SetCell:
        return SetCell(model, data, data.split("/")[-1], replace(evaluated, body=table(means)))

    return made


def test_our_number_stands_in_the_place_of_model_data_method_and_metric(cell) -> None:
    column = {"integrated_gradients:steps=20": 0.25, "random": 0.4}
    beside = beside_best([cell(BERT, "/data/sst-2/test.csv", {OTHER: column, SUFF: column})])
    assert beside.table.id == "001-2"
    (place,) = beside.numbers
    assert beside.table.rows[place[0]].values[place[1]] == 0.110
    assert beside.numbers[place].row.asked == SUFF
    chart = beside_published(beside)
    assert "1 number of ours beside 600 published" in chart.alt
    (ours,) = [row for row in chart.rows if row["mean"] is not None]
    assert (ours["published"], ours["mean"], ours["our_method"]) == (0.110, 0.25, "integrated_gradients:steps=20")
    assert "BERT, 1,000,000 parameters" in chart.notes[1]
    assert "presets: rpi" in chart.notes[1]
    assert "<script" not in chart.figure.to_json()


def test_a_cell_without_a_number_says_what_to_run(cell) -> None:
    beside = Beside(paper_tables()["001-2"], [cell(BERT, "/data/sst-2/test.csv", {SUFF: {"lime": 0.2, "random": 0.4}})])
    told = {(row["data"], row["model"], row["method"], row["metric"]): row["to_run"] for row in published_rows(beside)}
    assert told["SST2", "BERT", "LIME", "sufficiency"] is None
    assert told["SST2", "BERT", "LIME", "log_odds"].startswith("Add Log-odds to the metrics")
    assert told["SST2", "BERT", "IG", "sufficiency"].startswith("Add Integrated gradients to the methods")
    assert told["SST2", "RoBERTa", "IG", "sufficiency"] == (
        "Evaluate Integrated gradients by Sufficiency on SST2 with RoBERTa."
    )
    failed = Beside(paper_tables()["001-2"], [SetCell(BERT, "/data/sst-2/test.csv", "test.csv", None, "No disk.")])
    assert failed.to_run((0, 10)) == ("failed", f"{HOSTILE} on test.csv: No disk.")


def test_a_map_that_was_chosen_by_the_metric_itself_comes_first(cell) -> None:
    column = {"rpi": 0.3, "rpi:select_by=sufficiency": 0.1, "random": 0.4}
    beside = beside_best([cell(BERT, "/data/sst-2/test.csv", {SUFF: column})])
    assert [ours.row.mean for ours in beside.numbers.values()] == [0.1]


def test_decoders_and_their_metrics_have_the_tables_of_paper_002(cell) -> None:
    beside = beside_best([cell(GPT2, "hub:imdb", {"inverse_activation_auc": {"mp_pi": 0.6, "random": 0.9}})])
    assert beside.table.id == "002-3"
    assert [beside.table.rows[i].values[j] for i, j in beside.numbers] == [0.863, 0.613]
    tweets = cell(GPT2, "hub:tweet_eval/emotion", {"activation_auc": {"mp_pi": 0.6, "random": 0.5}})
    assert [beside.table.columns[j].data for _, j in beside_best([tweets]).numbers] == ["Twitter-Emo"] * 2


@pytest.mark.parametrize("name", list(paper_tables()))
def test_the_latex_of_every_table_is_well_formed(cell, name: str) -> None:
    mine = cell(BERT, "/data/sst-2/test.csv", {SUFF: {"lime": 0.2, "random": 0.4}})
    document = published_latex(Beside(paper_tables()[name], [mine]))
    well_formed(document)
    assert document.count(r"\begin{table}") == (4 if name.startswith("001") else 1)
    assert (r"\shortstack{$\mathbf{0.200}$ \\ $\pm 0.050$ \\ ($0.134$)}" in document) == (name == "001-2")
