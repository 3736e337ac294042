"""Files of models that no process should read: one line tells which, and the process that loads goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from explainlab import guard
from explainlab.errors import ModelError
from explainlab.guard import Reading, guarded
from explainlab.models.loading import describe, load_model, outline
from explainlab.models.stored import places
from explainlab.models.stored.trial import try_files
from explainlab.settings import ASSETS
from tests import guarded as readings
from tests.fuzz import bounded
from tests.zoo import build

WEIGHTS = "model.safetensors"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return build("bert", tmp_path / "model")


def longer(path: Path) -> None:
    with (path / WEIGHTS).open("ab") as file:
        file.write(bytes(1000))


def shorter(path: Path) -> None:
    content = (path / WEIGHTS).read_bytes()
    (path / WEIGHTS).write_bytes(content[:-1000])


def long_header(path: Path) -> None:
    (path / WEIGHTS).write_bytes((2**40).to_bytes(8, "little") + b"{}")


def many_labels(path: Path) -> None:
    fields = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**fields, "id2label": {str(i): "a" for i in range(800_000)}}))


def test_a_network_of_many_weights_is_not_built(tmp_path: Path) -> None:
    path = build("albert", tmp_path)
    fields = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**fields, "inner_group_num": 10**6}))
    for use in (outline, load_model):
        with bounded(), pytest.raises(ModelError, match=r"asks for over [\d,]+ weights, far more than its files have"):
            use(str(path))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (longer, r"The file model\.safetensors of .* has [\d,]+ bytes, and [\d,]+ by its header\. Copy or download"),
        (shorter, r"The file model\.safetensors of .* has [\d,]+ bytes, and [\d,]+ by its header\. Copy or download"),
        (long_header, r"The header of model\.safetensors of .* is larger than 16 MB\. Copy or download"),
        (many_labels, r"The configuration of .* has 800,000 entries in id2label\. Correct its config\.json"),
    ],
)
def test_files_beyond_measure_are_told(model: Path, damage: Callable[[Path], None], told: str) -> None:
    damage(model)
    for use in (describe, load_model):
        with bounded(), pytest.raises(ModelError, match=told):
            use(str(model))


@pytest.mark.parametrize(
    ("reading", "told"),
    [
        (
            readings.stalling_tokenizer,
            r"^The tokenizer of .* takes longer than 1 s to read\. Save it again with save_pretrained\.$",
        ),
        (
            readings.panicking_tokenizer,
            r"^The tokenizer of .* fails in the library that reads it \(there is no such byte\)\. Save",
        ),
    ],
)
def test_a_tokenizer_that_stalls_or_panics_is_told(
    model: Path, reading: Reading, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "try_files", reading)
    monkeypatch.setattr(guard, "MAX_GUARDED_SECONDS", 1)
    with pytest.raises(ModelError, match=told):
        load_model(str(model))
    monkeypatch.undo()
    with pytest.raises(ModelError, match=told):
        load_model(str(model))  # a page asks often: it does not wait each time
    shutil.copy(model / "config.json", model / "copy.json")
    assert load_model(str(model)), "other files are tried anew"


def test_a_trial_reads_all_parts_and_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def counted(reading: Reading, arguments: dict[str, str]) -> object:
        tried.extend(guarded(reading, arguments))
        return iter(())

    monkeypatch.setattr(places, "guarded", counted)
    for _ in range(3):
        load_model(str(model))
    assert tried == ["configuration", "weights", "tokenizer"]
    load_model("embedded:bert-mini-sst2")
    assert len(tried) == 3, "our own files are not tried"


@pytest.mark.parametrize("name", ["bert-mini-sst2", "gpt2-mini-ag-news"])
def test_nothing_in_a_trial_fails_for_a_sound_model(name: str) -> None:
    arguments = {"model_id": name, "directory": str(ASSETS / "models" / name)}
    assert list(guarded(readings.tried_strictly, arguments)) == [*guarded(try_files, arguments)]
