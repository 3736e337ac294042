"""The rows that an analysis of a data set studies: random by default, first or all on request; the result says so."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from explainlab import evaluate, study
from explainlab.analyses.base import TrainsModels
from explainlab.analyses.registry import answer, get_study, read_result, studies
from explainlab.data import read_dataset
from explainlab.errors import DataError
from explainlab.limits import Limits
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.reader import Reader
from explainlab.request import Request

SIZE = 20


@pytest.fixture
def ordered(encoder: Classifier, tmp_path: Path) -> str:
    """Write a file sorted by class: half of its rows are of each of the model's first two classes."""
    path = tmp_path / "sorted.csv"
    labels = [label for label in encoder.labels[:2] for _ in range(SIZE // 2)]
    path.write_text("text,label\n" + "".join(f"good film {i},{label}\n" for i, label in enumerate(labels, start=1)))
    return str(path)


def test_both_classes_of_a_sorted_file_are_studied(encoder: Classifier, ordered: str) -> None:
    result = study(encoder, "predictions", data=ordered, rows=6)
    assert Counter(row["label"] for row in result.body.rows) == dict.fromkeys(encoder.labels[:2], 3)
    assert result.sample_words == "6 of 20, random, seed 0"
    numbers = [row["row"] for row in result.body.rows]
    assert numbers == sorted(numbers)
    for row in result.body.rows:
        assert row["text"] == f"good film {row['row']}"
    other = study(encoder, "predictions", data=ordered, rows=6, seed=1)
    assert [row["row"] for row in other.body.rows] != numbers
    assert other.sample_words == "6 of 20, random, seed 1"


def test_the_first_rows_and_all_rows_on_request(encoder: Classifier, ordered: str) -> None:
    first = study(encoder, "predictions", data=ordered, rows=6, sample="first")
    assert [row["row"] for row in first.body.rows] == [1, 2, 3, 4, 5, 6]
    assert first.sample_words == "the first 6"
    every = study(encoder, "predictions", data=ordered, rows=6, sample="all")
    assert (every.body.n, every.sample_words) == (SIZE, "all 20")
    assert study(encoder, "predictions", data=ordered, rows=30).sample_words == "all 20"


def test_a_text_analysis_studies_the_same_rows(encoder: Classifier, ordered: str) -> None:
    whole = study(encoder, "predictions", data=ordered, rows=4)
    texts = study(encoder, "integration_error", data=ordered, rows=4, steps=[2]).body.texts
    assert [text.row for text in texts] == [row["row"] for row in whole.body.rows]
    table = evaluate(encoder, ordered, ["occlusion"], ["sufficiency"], limit=4)
    assert [text.row for text in table.body.texts] == [text.row for text in texts]
    first = evaluate(encoder, ordered, ["occlusion"], ["sufficiency"], limit=4, sample="first")
    assert [text.row for text in first.body.texts] == [1, 2, 3, 4]


def test_a_request_without_a_sample_is_of_the_first_rows(encoder: Classifier, ordered: str) -> None:
    request = Request(question="predictions", model=encoder.id, data=ordered, parameters={"rows": 6})
    assert answer(encoder, request).sample_words == "the first 6"


def test_the_json_says_which_rows(encoder: Classifier, ordered: str) -> None:
    result = study(encoder, "predictions", data=ordered, rows=6)
    record = json.loads(json.dumps(result.to_json()))
    assert record["sample"] == {"drawn": "random", "rows": 6, "total": SIZE, "seed": 0}
    assert read_result(record).sample == result.sample
    assert "sample" not in study(encoder, "trust", "good film", method="occlusion").to_json()


def test_every_analysis_with_rows_to_choose_lets_choose_which() -> None:
    """The exceptions are the given scores of one text, which belong to the first row, and studies that train models."""
    for name, analysis in studies().items():
        fields = analysis.Parameters.model_fields
        assert ("sample" in fields) == (name != "judged_map" and not isinstance(analysis, TrainsModels)), name
    assert get_study("judged_map").Parameters.model_fields["rows"].default == 1


def test_a_file_beyond_the_limit_is_refused(encoder: Classifier, ordered: str) -> None:
    context = RunContext(Reader(limits=Limits(max_rows=SIZE - 1)))
    for sample in ("random", "all"):
        with pytest.raises(DataError, match="more than 19 rows"):
            study(encoder, "predictions", data=ordered, rows=6, sample=sample, context=context)
    assert study(encoder, "predictions", data=ordered, rows=6, sample="first", context=context).body.n == 6
    assert len(read_dataset(ordered).rows) == SIZE


def test_the_work_of_others_is_no_cost_of_a_data_set(encoder: Classifier, ordered: str) -> None:
    request = Request(question="predictions", model=encoder.id, data=ordered, parameters={"rows": 6})
    pauses: list[float] = []

    def make_way() -> None:
        """Let others run for a while before every batch."""
        start = time.perf_counter()
        time.sleep(0.1)
        pauses.append(time.perf_counter() - start)

    start = time.perf_counter()
    result = answer(encoder, request, RunContext(check_cancelled=make_way))
    assert sum(pauses) >= 0.1
    assert 0 < result.cost.seconds <= time.perf_counter() - start - sum(pauses)
