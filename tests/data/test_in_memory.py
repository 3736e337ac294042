"""Data sets of a program: paths, frames and records are read as the files with the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import explainlab
from explainlab.data import Row, as_named, read_dataset
from explainlab.errors import DataError, RequestError
from explainlab.models.classifier import Classifier

LABELS = ("negative", "positive")
RECORDS = [
    {"text": "a lovely film", "label": 1, "rationale": [[2, 8]]},
    {"text": "a dull mess", "label": 0, "rationale": None},
    {"text": 'so so\u2028\n"said" 😀', "label": 1},
]
ROWS = (
    Row(1, RECORDS[0]["text"], None, "positive", ((2, 8),)),
    Row(2, RECORDS[1]["text"], None, "negative"),
    Row(3, RECORDS[2]["text"], None, "positive"),
)


@pytest.mark.parametrize(
    "data",
    [
        RECORDS,
        tuple(RECORDS),
        pd.DataFrame(RECORDS),
        pd.DataFrame(RECORDS).convert_dtypes(),
        pd.DataFrame(RECORDS).astype({"label": "category"}),
        pd.DataFrame(RECORDS, index=[7, 7, 7]),
        pd.DataFrame(RECORDS).assign(more=np.nan, day=pd.Timestamp("2020-01-01"), late=pd.NaT),
        [{**record, "label": np.int64(record["label"]), "more": float("nan")} for record in RECORDS],
        [{**RECORDS[0], "rationale": np.array([[2, 8]])}, *RECORDS[1:]],
    ],
    ids=["list", "tuple", "frame", "nullable", "category", "index", "missing", "numbers", "array"],
)
def test_rows_in_memory_are_read_as_they_are(data: Any) -> None:
    with as_named(data) as name:
        assert read_dataset(name, LABELS, marks=["rationale"]).rows == ROWS
    assert not Path(name).exists()


def test_names_and_paths_stay_and_several_are_a_list(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    for data, expected in ((None, None), ("a.csv", "a.csv"), (path, str(path)), ([path, "b"], [str(path), "b"])):
        with as_named(data) as name:
            assert name == expected
    with as_named([pd.DataFrame(RECORDS), path, RECORDS[:2]]) as names:
        assert [len(read_dataset(name).rows) for name in (names[0], names[2])] == [3, 2]
        assert names[1] == str(path)
    with as_named([]) as names:
        assert names == []


@pytest.mark.parametrize("data", [7, {"text": ["a"], "label": [1]}, 1.5, [7]])
def test_anything_else_is_refused(data: Any) -> None:
    with pytest.raises(DataError, match="A data set cannot be a"), as_named(data):
        raise AssertionError


@pytest.mark.parametrize("cell", [object(), {1, 2}, b"bytes", 1j])
def test_a_cell_that_json_cannot_write_is_told(cell: Any) -> None:
    with pytest.raises(DataError, match="A cell of these records is no value of JSON"), as_named([{"text": cell}]):
        raise AssertionError


def test_a_frame_without_rows_is_told() -> None:
    with as_named(pd.DataFrame({"text": []})) as name, pytest.raises(DataError, match="has no data rows"):
        read_dataset(name)


# ---- calls of the library


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return explainlab.load_model("embedded:bert-mini-sst2", device="cpu")


def test_a_study_takes_a_path_a_frame_and_records(classifier: Classifier, tmp_path: Path) -> None:
    frame = pd.DataFrame(RECORDS)[["text", "label"]]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    named = explainlab.study(classifier, "predictions", data=str(tmp_path / "rows.csv"))
    for data in (tmp_path / "rows.csv", frame, frame.to_dict("records")):
        found = explainlab.study(classifier, "predictions", data=data)
        assert (found.body.accuracy, [*found.body.rows]) == (named.body.accuracy, [*named.body.rows])
    several = explainlab.study(classifier, "predictions", data=[tmp_path / "rows.csv", frame])
    assert [cell.result.body.accuracy for cell in several] == [named.body.accuracy] * 2


def test_a_single_name_stands_for_a_list_of_one(classifier: Classifier, tmp_path: Path) -> None:
    frame = pd.DataFrame(RECORDS)[["text", "label"]]
    own = explainlab.explain(classifier, RECORDS[0]["text"], "occlusion", unit="word")
    several = explainlab.evaluate(
        classifier, frame[:1], ["gradient"], ["comprehensiveness"], attributions=[own], unit="word"
    )
    single = explainlab.evaluate(classifier, frame[:1], "gradient", "comprehensiveness", attributions=own, unit="word")
    assert [(row.method, row.mean) for row in single.body.rows] == [(row.method, row.mean) for row in several.body.rows]


@pytest.mark.parametrize("method", [["lime", "occlusion"], None, 7, ("lime",), {}])
def test_a_method_is_one_name(classifier: Classifier, method: Any) -> None:
    with pytest.raises(RequestError, match=r"A method cannot be named by a .* Give one name, as a string"):
        explainlab.explain(classifier, "kind", method=method)
