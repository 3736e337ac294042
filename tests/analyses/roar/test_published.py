"""The numbers of paper 003 beside ours: where data set, model and measure are the paper's, and nowhere else."""

from __future__ import annotations

import pytest

from explainlab.analyses.registry import get_study
from explainlab.analyses.roar.published import beside_paper, paper_grid, paper_grids, paper_name, setting
from tests.analyses.roar.bodies import roar_body, roar_result


def test_the_copied_times_add_up_to_the_paper_s_totals() -> None:
    for model, hours, minutes in (("LSTM", 13, 38), ("RoBERTa", 17, 20)):
        own = [grid.minutes for (_, name), grid in paper_grids().items() if name == model]
        assert sum(sum(times.values()) for times in own) == 60 * hours + minutes


def test_the_copied_numbers_are_whole() -> None:
    assert len(paper_grids()) == 2 * 8
    for grid in paper_grids().values():
        assert len(grid.faithfulness) == (4 if grid.model == "LSTM" else 3)
        assert set(grid.minutes) == {*grid.faithfulness, "Random"}
        for value in (grid.performance, *grid.faithfulness.values()):
            assert value.low <= value.mean <= value.high
    sst = paper_grids()["SST", "LSTM"]
    attention = sst.faithfulness["Attention"]
    assert (attention.mean, attention.low, attention.high) == pytest.approx((0.157, 0.133, 0.181))
    lowest = paper_grids()["bAbI-3", "RoBERTa"].faithfulness["Integrated Gradient"]
    assert (lowest.mean, lowest.low, lowest.high) == pytest.approx((-0.279, -0.77, -0.099))


@pytest.mark.parametrize(
    ("base", "name", "data"),
    [
        ("bilstm_attention", "/data/sst2/train_sentences.csv.gz", "SST"),
        ("bilstm_attention", "/data/sst5_trees/train.csv.gz", "SST"),
        ("bilstm_attention", "My SST.csv", "SST"),
        ("bilstm_attention", "/data/babi_qa1/train_10k.csv.gz", "bAbI-1"),
        ("bilstm_attention", "/data/babi_qa3/train_1k.csv.gz", "bAbI-3"),
        ("bilstm_attention", "/data/imdb/train.csv.gz", "IMDB"),
        ("roberta-base", "/data/imdb/train.csv.gz", "IMDB"),
        ("FacebookAI/roberta-base", "imdb", "IMDB"),
        ("bilstm_attention", "/data/esnli/dev.csv.gz", ""),
        ("bilstm_attention", "/sst2/elsewhere/other/reviews.csv", ""),
        ("bilstm_attention", "embedded:meals", ""),
        ("bilstm_attention", "/data/babi_qa10/train.csv", ""),
        ("distilroberta-base", "/data/imdb/train.csv.gz", ""),
        ("bert", "/data/sst2/train.csv.gz", ""),
    ],
)
def test_a_data_set_is_known_by_its_name_or_folder_and_a_model_by_its_id(base: str, name: str, data: str) -> None:
    found = paper_grid(base, [name])
    assert (found.data if found else "") == data


def test_a_measure_is_the_paper_s_only_as_the_paper_reads_it() -> None:
    same = [
        "attention_last",
        "gradient:norm=one_hot",
        "input_x_gradient",
        "integrated_gradients:rule=right:baseline=zero",
    ]
    assert [paper_name(measure, True) for measure in same] == [
        "Attention",
        "Gradient",
        "Input times Gradient",
        "Integrated Gradient",
    ]
    other = ["gradient", "integrated_gradients:rule=right:baseline=mask", "occlusion", "attention_rollout"]
    assert not any(paper_name(measure, True) for measure in other)
    assert [paper_name(measure, False) for measure in same] == ["Attention", "Gradient", "", ""]


def test_numbers_stand_beside_the_paper_s() -> None:
    result = roar_result(roar_body())
    assert beside_paper(result) == []
    assert setting(result) == ""
    rows = {row.number: row for row in beside_paper(result, "SST-2")}
    assert rows["Macro F1 of whole texts"].paper == "0.820 (0.810 to 0.826)"
    assert rows["Faithfulness: Gradient (one-hot)"].paper == "0.076 (0.056 to 0.099)"
    assert rows["Faithfulness: Integrated gradients"].source == "Table 2"
    assert rows["Minutes of a masked model: Integrated gradients"].paper == "3"
    assert rows["Texts to train, validate and test on"][1:3] == ("400 / 70 / 120", "6,579 / 848 / 1,776")
    assert "BiLSTM with attention on SST" in setting(result, "SST-2")
    of_babi = [row.number for row in beside_paper(result, "babi_qa1")]
    assert not any("F1" in number or "Faithfulness" in number for number in of_babi), "the paper's metric is accuracy"
    lines = get_study("roar").report(result).lines
    assert "Beside the paper:" not in lines
    counted = [row.number for row in beside_paper(roar_result(roar_body(counted=True)), "SST-2")]
    assert not any("Faithfulness" in number for number in counted)
