"""Training from a model's weights: the head, the recipe, the errors; single texts and pairs."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from explainlab.errors import DataError, ModelError, RequestError, ResourceError
from explainlab.models.loading import load_model
from explainlab.models.reading_warnings import reading_warnings
from explainlab.models.stored.base import load_base
from explainlab.training import Examples, settings_for, start, train
from tests.conftest import Zoo
from tests.fuzz import bounded
from tests.tiers import first
from tests.training.test_train import sentences
from tests.zoo import LABELS, ZOO

QUICK = {"epochs": 1, "max_tokens": 16}
WITHOUT_TRAINING = QUICK | {"learning_rate": 1e-30}
NEW = ("bad", "good", "so-so")


def labelled(names: tuple[str, ...], count: int = 12) -> Examples:
    return Examples(sentences(count).texts, [names[row % len(names)] for row in range(count)])


@pytest.mark.parametrize("name", ZOO)
def test_every_architecture_can_be_trained(name: str, zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    told = train(labelled(NEW), str(zoo_path(name)), tmp_path / "out", settings_for(str(zoo_path(name)), **QUICK))
    trained = load_model(str(tmp_path / "out"), device="cpu")
    assert trained.labels == NEW
    assert trained.max_tokens == 16
    assert told.epochs[0].loss > 0


@pytest.mark.parametrize(
    "name", first(["bert", "gpt2"], ["bert", "gpt2", "roberta", "t5-encoder"], "trains four models for each base")
)
def test_the_head_is_new_where_the_classes_differ(name: str, zoo: Zoo, tmp_path: Path) -> None:
    base = zoo(name)
    before = {key: value.clone() for key, value in base.model.network.state_dict().items()}
    body = base.model.network.base_model_prefix + "."
    cases = {"same": (LABELS, True), "part": (LABELS[:2], True), "renamed": (NEW, False), "fewer": (NEW[:2], False)}
    for case, (names, kept) in cases.items():
        train(labelled(names), base.id, tmp_path / case, settings_for(base.id, **WITHOUT_TRAINING))
        after = load_file(tmp_path / case / "model.safetensors")
        for key, value in after.items():
            if key.startswith(body) or kept:
                assert torch.allclose(value, before[key], atol=1e-6), (case, key)
        head = [key for key in after if not key.startswith(body) and key.endswith("weight")]
        assert head
        if not kept:
            assert any(
                after[key].shape != before[key].shape or (after[key] - before[key]).abs().max() > 0.01 for key in head
            )


def test_transformers_prints_no_report_of_its_own(
    zoo: Zoo, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = logging.getLogger("transformers")
    monkeypatch.setattr(library, "handlers", [caplog.handler])
    monkeypatch.setattr(library, "propagate", False)
    load_base(zoo("bert").id, {"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "b": 1}})
    assert caplog.records == []
    library.warning("but it may speak")
    assert len(caplog.records) == 1


def test_indices_name_the_classes_of_the_base(zoo: Zoo, tmp_path: Path) -> None:
    train(labelled(("0", "2")), zoo("bert").id, tmp_path / "out", settings_for(zoo("bert").id, **QUICK))
    assert load_model(str(tmp_path / "out"), device="cpu").labels == LABELS


def test_a_language_model_gets_a_head(speaker_path: Callable[[str], Path], tmp_path: Path) -> None:
    base = str(speaker_path("gpt2"))
    train(labelled(NEW), base, tmp_path / "out", settings_for(base, **QUICK))
    assert load_model(str(tmp_path / "out"), device="cpu").labels == NEW


@pytest.mark.parametrize(
    "base", first(["bert"], ["bert", "gpt2", "t5_encoder", "embedded:bert-mini-sst2"], "trains for up to six seconds")
)
def test_pairs(base: str, tmp_path: Path) -> None:
    """Check that a model learns from pairs whose second text alone decides the class."""
    given = sentences(60)
    pairs = Examples(["the film"] * 60, given.labels, given.texts)
    sizes = {"layers": 1, "width": 32, "heads": 2, "vocabulary": 300} if ":" not in base else {}
    fast = {"epochs": 12 if sizes else 5, "batch_size": 10, "learning_rate": 5e-3 if sizes else 5e-4}
    settings = settings_for(base, **fast, **sizes, recipe="embedded")
    told = train(pairs, base, tmp_path / "out", settings, held_out=pairs)
    assert told.accuracy > 0.9
    made = load_model(str(tmp_path / "out"), "cpu")
    assert reading_warnings(made, made.encode("the film", given.texts[0]), None) == []
    assert "has no second text" in reading_warnings(made, made.encode("the film"), None)[0]
    with pytest.raises(DataError, match="no second texts"):
        train(pairs, base, tmp_path / "b", settings, validation=given)
    with pytest.raises(DataError, match="60 texts with 59 second texts"):
        train(Examples(given.texts, given.labels, given.texts[1:]), base, tmp_path / "b", settings)


def test_recipes() -> None:
    thesis = settings_for("embedded:bert-mini-sst2")
    assert (thesis.recipe, thesis.learning_rate, thesis.batch_size, thesis.epochs) == ("thesis", 5e-5, 16, 10)
    assert (thesis.schedule, thesis.warmup, thesis.weight_decay, thesis.patience) == ("linear", 0.06, 0, 5)
    assert thesis.mask_share == thesis.heavy_mask == thesis.prefix_weight == 0
    roar = settings_for("embedded:bert-mini-sst2", recipe="roar", epochs=8)
    assert (roar.learning_rate, roar.second_beta, roar.weight_decay, roar.epochs) == (2e-5, 0.98, 0.01, 8)
    assert settings_for("gpt2").epochs == 3
    assert settings_for("gpt2", recipe="thesis").epochs == 10
    assert settings_for("t5_encoder", size="small").layers == 6


@pytest.mark.parametrize(
    ("base", "given", "message"),
    [
        ("embedded:bert-mini-sst2", {"layers": 2}, "cannot be chosen for embedded:bert-mini-sst2"),
        ("bert", {"recipe": "cake"}, "recipe"),
        ("bert", {"size": "huge"}, "size"),
    ],
)
def test_refuses_settings(base: str, given: dict, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        settings_for(base, **given)


def test_refuses_bases(zoo_path: Callable[[str], Path], speaker: Zoo, tmp_path: Path) -> None:
    pickled = Path(shutil.copytree(zoo_path("bert"), tmp_path / "pickled"))
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    hollow = Path(shutil.copytree(zoo_path("bert"), tmp_path / "hollow"))
    weights = load_file(hollow / "model.safetensors")
    save_file({k: v for k, v in weights.items() if "layer.1" not in k}, hollow / "model.safetensors", {"format": "pt"})
    gpt2 = str(zoo_path("gpt2"))
    for base, message in (
        (str(pickled), "no safetensors weights"),
        (str(hollow), "lacks trained weights for bert.encoder.layer.1"),
        (str(tmp_path / "none"), "There is no model"),
        (speaker("gpt2").id, "a language model with a prompt"),
    ):
        with pytest.raises(ModelError, match=message):
            train(labelled(NEW), base, tmp_path / "out", settings_for(base, **QUICK))
    with pytest.raises(RequestError, match="has no mask token"):
        train(labelled(NEW), gpt2, tmp_path / "out", settings_for(gpt2, **QUICK, mask_share=0.1))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5_encoder"])
def test_a_network_that_does_not_fit_with_its_optimizer_is_not_built(name: str, tmp_path: Path) -> None:
    settings = settings_for(name, layers=48, width=4096, heads=8)
    with (
        bounded(),
        pytest.raises(ResourceError, match=r"^Training .* with [\d,]+ weights takes 1\d\d\.\d GB of memory"),
    ):
        train(sentences(), name, tmp_path / "out", settings)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("lora", [False, True])
def test_a_base_that_does_not_fit_with_its_optimizer_is_not_read(
    lora: bool, zoo_path: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zoo_path("bert")
    free = 3 * (path / "model.safetensors").stat().st_size
    monkeypatch.setattr(start, "free_memory", lambda device: free)
    settings = settings_for(str(path), **QUICK, lora=lora)
    if lora:
        assert train(labelled(NEW), str(path), tmp_path / "out", settings).steps
        return
    with pytest.raises(ResourceError, match="Choose a smaller model, or lora for one that has weights"):
        train(labelled(NEW), str(path), tmp_path / "out", settings)
