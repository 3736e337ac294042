"""A result with very many texts is stored in parts: it comes back whole, and goes whole."""

from __future__ import annotations

import io
import json
import zipfile
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest

from explainlab import evaluate, load_model, study
from explainlab.analyses import base
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.errors import rows
from explainlab.analyses.errors.rows import PredictedRows
from explainlab.analyses.evaluation.texts import EvaluatedTexts
from explainlab.app.runs.bundle import study_bundle
from explainlab.models.classifier import Classifier
from explainlab.result import PART, written
from explainlab.service.store.schema import PARTS, RESULTS
from explainlab.service.store.store import Store

KEY, ABOUT = "a" * 64, "c" * 64
TEXTS = 2 * PART + 1
SOON = timedelta(days=1)


@pytest.fixture(scope="module")
def result() -> AnalysisResult[Any]:
    classifier: Classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    few = evaluate(classifier, "embedded:sentiment", ["gradient"], ["comprehensiveness"], limit=3)
    rows = [few.body.texts[i % 3].model_copy(update={"row": i + 1}) for i in range(TEXTS)]
    return replace(few, body=few.body.model_copy(update={"texts": EvaluatedTexts.of(rows)}))


@pytest.fixture
def store(database_url: str) -> Store:
    return Store(database_url)


def lengths(store: Store, table: Any) -> list[int]:
    return [len(row.body) for row in store._database.rows(table.select())]


def test_a_long_result_comes_back_whole(store: Store, result: AnalysisResult[Any]) -> None:
    store.put(KEY, result)
    assert len(lengths(store, PARTS)) == 3
    assert max(lengths(store, RESULTS)) < min(lengths(store, PARTS)[:2])
    again = store.get(KEY)
    assert again.to_json() == result.to_json()
    assert again.body == result.body
    store.put(KEY, result)
    assert len(lengths(store, PARTS)) == 3


def test_a_long_result_goes_whole(store: Store, result: AnalysisResult[Any]) -> None:
    store.put(KEY, result)
    store.held.hold("ann", ABOUT, [KEY])
    (held,) = store.held.parts()
    assert held.bytes == sum(lengths(store, PARTS)) + sum(lengths(store, RESULTS))
    store.held.release("ann", ABOUT)
    assert (store.get(KEY), lengths(store, PARTS)) == (None, [])
    store.put(KEY, result)
    store.held.delete_unheld(datetime.now(UTC) + SOON)
    assert (store.get(KEY), lengths(store, PARTS)) == (None, [])


def test_parts_without_a_result_are_no_result(
    store: Store, result: AnalysisResult[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(self: Store, records: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(Store, "put_records", ends)
        with pytest.raises(KeyboardInterrupt):
            store.put(KEY, result)
    assert (store.has(KEY), store.get(KEY), len(lengths(store, PARTS))) == (False, None, 3)
    store.put(KEY, result)
    assert store.get(KEY).body == result.body


@pytest.mark.parametrize("harm", ["first", "last", "all", "changed"])
def test_a_part_that_is_missing_or_changed_is_told_and_made_anew(
    store: Store, result: AnalysisResult[Any], harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(KEY, result)
    number = {"last": 2, "changed": 1}.get(harm, 0)
    if harm == "changed":
        (body,) = [row.body for row in store._database.rows(PARTS.select()) if row.number == number]
        store._database.change(PARTS.update().where(PARTS.c.number == number).values(body=body.replace("0.", "1.", 1)))
    else:
        store._database.change(PARTS.delete().where(PARTS.c.number == number if harm != "all" else PARTS.c.number >= 0))
    assert store.get(KEY) is None
    assert f"part {number + 1} of the result {KEY[:12]} is missing or changed" in caplog.text
    assert (store.has(KEY), lengths(store, PARTS)) == (False, [])
    store.put(KEY, result)
    assert store.get(KEY).body == result.body


def test_parts_of_before_have_no_digest(store: Store, result: AnalysisResult[Any]) -> None:
    store.put(KEY, result)
    (record,) = store.records([KEY]).values()
    del record["parts"]
    store._database.change(RESULTS.update().values(body=json.dumps(record)))
    store._database.change(PARTS.update().values(digest=None))
    assert store.get(KEY).body == result.body


def test_pieces_are_the_whole_text(result: AnalysisResult[Any]) -> None:
    record = result.in_parts()
    assert isinstance(record["texts"], Iterator)
    pieces = [*written(record, ensure_ascii=False)]
    assert "".join(pieces) == json.dumps(result.to_json(), ensure_ascii=False)
    assert max(map(len, pieces)) < len("".join(pieces)) / 2
    assert "".join(written({})) == "{}"
    cells = [{"body": result.body_in_parts(), "other": {}}, {"body": None}]
    whole = json.dumps({"cells": [{"body": result.body_json(), "other": {}}, {"body": None}], "n": 1}, indent=2)
    assert "".join(written({"cells": iter(cells), "n": 1}, indent=2)) == whole


def test_a_bundle_in_parts_is_the_whole_bundle(result: AnalysisResult[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def bundle() -> dict[str, bytes]:
        with zipfile.ZipFile(io.BytesIO(study_bundle(result))) as files:
            return {name: files.read(name) for name in files.namelist()}

    in_parts = bundle()
    monkeypatch.setattr(base, "PART", TEXTS)
    assert in_parts == bundle()
    assert in_parts["texts.csv"].count(b"\r\n") == TEXTS + 1
    assert json.loads(in_parts["result.json"])["texts"] == result.to_json()["texts"]


@pytest.fixture(scope="module")
def predictions() -> AnalysisResult[Any]:
    """Those of a data set, repeated."""
    few = study(load_model("embedded:bert-mini-sst2", device="cpu"), "predictions", data="embedded:sentiment")
    given = [{**few.body.rows[i % 3], "row": i + 1} for i in range(TEXTS)]
    return replace(few, body=few.body.model_copy(update={"rows": PredictedRows.of(given)}))


def test_predictions_are_stored_in_columns(
    store: Store, predictions: AnalysisResult[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_PACKED", PART)
    store.put(KEY, predictions)
    parts = [row.body for row in store._database.rows(PARTS.select())]
    assert [len(pd.read_parquet(io.BytesIO(b64decode(part)))) for part in parts] == [PART, PART, 1]
    assert sum(map(len, parts)) < len("".join(written(predictions.in_parts()))) / 5
    again = store.get(KEY)
    assert again.to_json() == predictions.to_json()
    assert "".join(written(again.in_parts())) == "".join(written(predictions.in_parts()))
    store.held.hold("ann", ABOUT, [KEY])
    store.held.release("ann", ABOUT)
    assert (store.get(KEY), lengths(store, PARTS)) == (None, [])


def test_damaged_columns_are_told_as_a_form_that_cannot_be_read(store: Store, predictions: AnalysisResult[Any]) -> None:
    store.put(KEY, predictions)
    for body in ("AAAA", b64encode(pd.DataFrame({"row": [1]}).to_parquet()).decode()):
        store._database.change(PARTS.update().values(body=body, digest=None))
        with pytest.raises((ValueError, KeyError, TypeError)):
            store.get(KEY)
