"""The rows of a long result are files beside the database: they come back whole, and go whole."""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from explainlab import evaluate, load_model, study
from explainlab.analyses import base
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.bodies import in_bodies, pack, unpack
from explainlab.analyses.cells import Cell
from explainlab.analyses.errors import rows
from explainlab.analyses.errors.rows import PredictedRows
from explainlab.analyses.evaluation.texts import EvaluatedTexts
from explainlab.app.pages.runs.bundle import study_bundle
from explainlab.errors import ResourceError
from explainlab.files import write_file
from explainlab.models.classifier import Classifier
from explainlab.request import Request
from explainlab.result import PART, StoredPart, written
from explainlab.service.imports import read_results
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store import parts
from explainlab.service.store.parts import Damaged, Parts
from explainlab.service.store.schema import RESULTS
from explainlab.service.store.store import Store

KEY, OTHER, ABOUT = "a" * 64, "b" * 64, "c" * 64
TEXTS = 2 * PART + 1
SOON = timedelta(days=1)


@pytest.fixture(scope="module")
def result() -> AnalysisResult[Any]:
    classifier: Classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    return lengthened(evaluate(classifier, "embedded:sentiment", ["gradient"], ["comprehensiveness"], limit=3))


def lengthened(few: AnalysisResult[Any]) -> AnalysisResult[Any]:
    """Return an evaluation of 3 texts with enough rows for three files."""
    rows = [few.body.texts[i % 3].model_copy(update={"row": i + 1}) for i in range(TEXTS)]
    return replace(few, body=few.body.model_copy(update={"texts": EvaluatedTexts.of(rows)}))


@pytest.fixture
def store(database_url: str, tmp_path: Path) -> Store:
    return Store(database_url, tmp_path / "parts")


def files(store: Store) -> list[Path]:
    return sorted(store.parts.folder.glob("*/*"))


def bodies(store: Store) -> list[str]:
    return [row.body for row in store._database.rows(RESULTS.select())]


def without_parts(result: AnalysisResult[Any]) -> dict[str, Any]:
    return replace(result, parts=()).to_json()


def test_a_long_result_comes_back_whole(store: Store, result: AnalysisResult[Any]) -> None:
    put = store.put(KEY, result)
    (body,) = bodies(store)
    assert len(files(store)) == 3
    assert len(body) < len(json.dumps(result.to_json())) / 10
    again = store.get(KEY)
    assert without_parts(again) == result.to_json()
    assert again.body == result.body
    assert again.to_json() == put.to_json() == store.put(KEY, result).to_json()
    assert len(files(store)) == 3


def test_a_long_result_names_its_parts(store: Store, result: AnalysisResult[Any], tmp_path: Path) -> None:
    record = json.loads("".join(written(store.put(KEY, result).in_parts())))
    assert [part["rows"] for part in record["parts"]] == [PART, PART, 1]
    for part in record["parts"]:
        assert set(part) == {"path", "rows", "digest"}
        content = (tmp_path / "parts" / part["path"]).read_bytes()
        assert sha256(content).hexdigest() == part["digest"]
        frame = pd.read_parquet(io.BytesIO(content))
        assert (len(frame), list(frame)) == (part["rows"], list(record["texts"][0]))
    assert frame["row"].to_list() == [TEXTS]
    assert all(os.stat(path).st_mode & 0o077 == 0 for path in files(store)), "only the owner reads them"


def test_a_cell_of_a_set_names_its_parts(store: Store, result: AnalysisResult[Any]) -> None:
    cell = Cell(model="model", data="data", status="done", result=store.put(KEY, result))
    for record in (cell.to_json(), json.loads("".join(written(cell.in_parts())))):
        assert [part["rows"] for part in record["parts"]] == [PART, PART, 1]
        assert len(record["body"]["texts"]) == TEXTS
    assert "parts" not in Cell(model="model", data="data", status="failed", reason="No such file.").to_json()


def test_a_short_result_names_none(store: Store, result: AnalysisResult[Any]) -> None:
    few = replace(result, body=result.body.model_copy(update={"texts": EvaluatedTexts.of(result.body.texts[:3])}))
    assert "parts" not in store.put(KEY, few).to_json()
    assert ("parts" in store.get(KEY).to_json(), files(store)) == (False, [])


def test_a_long_result_goes_whole(store: Store, result: AnalysisResult[Any]) -> None:
    store.put(KEY, result)
    store.held.hold("ann", ABOUT, [KEY])
    (held,) = store.held.parts()
    assert held.bytes == sum(path.stat().st_size for path in files(store)) + sum(map(len, bodies(store)))
    store.held.hold("bob", ABOUT, [KEY])
    store.held.release("ann", ABOUT)
    assert store.get(KEY).body == result.body, "another has it"
    store.held.release("bob", ABOUT)
    assert (store.get(KEY), files(store)) == (None, [])
    store.put(KEY, result)
    store.held.delete_unheld(datetime.now(UTC) - SOON)
    assert store.get(KEY).body == result.body, "it may be a running job's"
    store.held.delete_unheld(datetime.now(UTC) + SOON)
    assert (store.get(KEY), files(store)) == (None, [])


def test_files_without_a_result_are_no_result(
    store: Store, result: AnalysisResult[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(self: Store, *records: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(Store, "_put", ends)
        with pytest.raises(KeyboardInterrupt):
            store.put(KEY, result)
    assert (store.has(KEY), store.get(KEY), len(files(store))) == (False, None, 3)
    store.put(KEY, result)
    assert store.get(KEY).body == result.body
    store.parts.write(OTHER, [pack([{"row": 1}])])
    store.held.delete_unheld(datetime.now(UTC) + SOON)
    assert files(store) == [], "nobody has either"


@pytest.mark.parametrize("harm", ["first", "last", "all", "changed"])
def test_a_part_that_is_missing_or_changed_is_told_and_made_anew(
    store: Store, result: AnalysisResult[Any], harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(KEY, result)
    path = files(store)[{"last": 2, "changed": 1}.get(harm, 0)]
    if harm == "changed":
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    elif harm == "all":
        shutil.rmtree(store.parts.folder)
    else:
        path.unlink()
    assert store.get(KEY) is None
    assert f"{KEY}/{path.name} is missing or changed" in caplog.text
    assert (store.has(KEY), store.damaged(KEY), files(store)) == (False, True, [])
    store.put(KEY, result)
    assert store.get(KEY).body == result.body
    assert not store.damaged(KEY)


def test_two_servers_may_store_one_result_at_once(store: Store, result: AnalysisResult[Any], database_url: str) -> None:
    elsewhere = Store(database_url, store.parts.folder)
    other_texts = [text.model_copy(update={"row": text.row + 1}) for text in result.body.texts]
    mine = replace(result, body=result.body.model_copy(update={"texts": EvaluatedTexts.of(other_texts)}))
    kept = elsewhere.parts.write(KEY, in_bodies(mine)[1])
    assert store.put(KEY, result).parts != tuple(kept)
    assert store.get(KEY).body == result.body
    store.held.delete_unheld(datetime.now(UTC) + SOON)
    assert files(store) == []


def test_a_backup_is_the_database_and_its_files(result: AnalysisResult[Any], tmp_path: Path) -> None:
    home = tmp_path / "home"
    Store(f"sqlite:///{home / 'explainlab.sqlite'}").put(KEY, result)
    shutil.copytree(home, tmp_path / "backup")
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "backup", tmp_path / "restored")
    assert Store(f"sqlite:///{tmp_path / 'restored' / 'explainlab.sqlite'}").get(KEY).body == result.body


def test_files_that_cannot_be_written_leave_no_result(
    database_url: str, result: AnalysisResult[Any], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    store = Store(database_url, tmp_path / "file")
    with pytest.raises(ResourceError, match="rows of results cannot be kept"):
        store.put(KEY, result)
    assert not store.has(KEY)


def test_a_disk_that_fills_up_has_none_of_the_files(
    store: Store, result: AnalysisResult[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(path: Path, content: bytes) -> None:
        if len(files(store)) == 2:
            raise OSError(28, "No space left on device")
        write_file(path, content)

    with monkeypatch.context() as full:
        full.setattr(parts, "write_file", fill)
        with pytest.raises(ResourceError, match="No space left on device"):
            store.put(KEY, result)
    assert (store.has(KEY), files(store)) == (False, [])
    store.put(KEY, result)
    assert store.get(KEY).body == result.body


def test_a_path_that_leads_out_is_no_part(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    own = Parts(tmp_path / "parts")
    (kept,) = own.write(KEY, [pack([{"row": 1}])])
    assert unpack(own.read(kept)) == [{"row": 1}]
    for path in ("../secret", str(tmp_path / "secret")):
        with pytest.raises(Damaged):
            own.read(StoredPart(path=path, rows=1, digest=sha256(b"secret").hexdigest()))


def test_an_imported_result_names_no_files(result: AnalysisResult[Any], store: Store) -> None:
    record = json.loads("".join(written(store.put(KEY, result).in_parts())))
    (read,) = read_results(json.dumps({**record, "texts": record["texts"][:3]}).encode())
    assert read.parts == ()


RECORDS: list[dict[str, Any]] = [
    {"row": 1, "text": "naïve \U0001f600", "score": 0.1, "cut": False, "pair": None, "scores": [1, 2.5], "mixed": 1},
    {"row": 2, "text": "", "score": 1e-300, "cut": True, "pair": "<b>", "scores": [], "mixed": 1.0},
    {"row": 2**70, "text": "\ud800", "score": -0.0, "cut": True, "pair": None, "scores": [{"a": None}], "mixed": "x"},
]


@pytest.mark.parametrize("records", [RECORDS[:2], RECORDS, [{"a": 1}, {"b": None}], [{"a": None}], [{"a": True}]])
def test_records_come_back_from_columns_as_they_were(records: list[dict[str, Any]]) -> None:
    again = unpack(pack(records))
    assert json.dumps(again, sort_keys=True) == json.dumps(records, sort_keys=True)


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


def test_a_part_that_is_changed_is_made_again_without_a_pass(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = tmp_path / "films.csv"
    data.write_text("text,label\n" + "".join(f"a film about {i},{i % 2}\n" for i in range(PART + 1)))
    named = {"model": "embedded:bert-mini-sst2", "question": "predictions", "data": str(data)}
    asked = Request(**named, parameters={"sample": "all"})
    store = Store(f"sqlite:///{tmp_path / 'results.sqlite'}")
    first = Service(store, "cpu").run(resolve(asked))
    assert first.cost.forward == PART + 1
    (path,) = files(store)
    path.write_bytes(path.read_bytes()[:-1])
    service = Service(store, "cpu")
    assert service.find(resolve(asked)) is None
    assert path.name in caplog.text
    again = service.run(resolve(asked))
    assert (again.body, again.parts, again.cost.forward) == (first.body, first.parts, 0)


@pytest.fixture(scope="module")
def predictions() -> AnalysisResult[Any]:
    """Return the predictions of a data set, repeated."""
    few = study(load_model("embedded:bert-mini-sst2", device="cpu"), "predictions", data="embedded:sentiment")
    given = [{**few.body.rows[i % 3], "row": i + 1} for i in range(TEXTS)]
    return replace(few, body=few.body.model_copy(update={"rows": PredictedRows.of(given)}))


def test_a_bundle_holds_the_parts(store: Store, result: AnalysisResult[Any]) -> None:
    stored = store.put(KEY, result)
    with zipfile.ZipFile(io.BytesIO(study_bundle(stored, read=store.parts.read))) as bundle:
        named = json.loads(bundle.read("result.json"))["parts"]
        assert len(named) == 3
        for part in named:
            assert sha256(bundle.read(f"parts/{part['path']}")).hexdigest() == part["digest"]


def test_predictions_are_stored_in_columns(
    store: Store, predictions: AnalysisResult[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_PACKED", PART)
    stored = store.put(KEY, predictions)
    assert [len(pd.read_parquet(path)) for path in files(store)] == [PART, PART, 1]
    assert [part.rows for part in stored.parts] == [PART, PART, 1]
    assert sum(path.stat().st_size for path in files(store)) < len("".join(written(predictions.in_parts()))) / 5
    again = store.get(KEY)
    assert without_parts(again) == predictions.to_json()
    assert "".join(written(again.in_parts())) == "".join(written(stored.in_parts()))
    store.held.hold("ann", ABOUT, [KEY])
    store.held.release("ann", ABOUT)
    assert (store.get(KEY), files(store)) == (None, [])


def test_other_columns_are_told_as_a_form_that_cannot_be_read(store: Store, predictions: AnalysisResult[Any]) -> None:
    for content in (pd.DataFrame({"row": [1]}).to_parquet(), pack([{"row": "x"}])):
        store.put(KEY, predictions)
        record = json.loads(bodies(store)[0])
        record["parts"] = [part._asdict() for part in store.parts.write(KEY, [content])]
        store._database.change(RESULTS.update().values(body=json.dumps(record)))
        with pytest.raises((ValueError, KeyError, TypeError)):
            store.get(KEY)
        store._database.change(RESULTS.delete())
