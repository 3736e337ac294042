"""Low-rank adaptation: trained and fixed parts, the adapter on the disk and read back, continuing, and bases."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForSequenceClassification

from explainlab.errors import Cancelled, ModelError, RequestError
from explainlab.models.classifier import Classifier
from explainlab.models.loading import changed_model, describe, load_model, model_digest
from explainlab.models.stored.base import load_base
from explainlab.training import Start, settings_for, starting_point, train, training_digest
from explainlab.training.start import add_lora
from tests.tiers import first
from tests.training.test_base import NEW, labelled
from tests.zoo import LABELS, RECURRENT, ZOO

QUICK = {"recipe": "progressive", "epochs": 2, "max_tokens": 16, "learning_rate": 0.01, "lora": True, "lora_rank": 2}
TEXTS = ("a good film", "the plot is thin", "I did not like this film at all")
ADAPTED = [name for name in ZOO if name not in RECURRENT]
PROJECTIONS = ("query", "value", "query_proj", "value_proj", "q_proj", "v_proj", "q_lin", "v_lin", "q", "v", "c_attn",
               "Wqkv")  # fmt: skip


def logits_by(classifier: Classifier) -> torch.Tensor:
    """float32 [texts, classes]."""
    return torch.stack([classifier.logits(classifier.inputs([classifier.encode(text)]))[0] for text in TEXTS])


def logits_of(network: torch.nn.Module, tokenizer) -> torch.Tensor:
    """The same by transformers alone."""
    with torch.no_grad():
        return torch.stack([network(**tokenizer(text, return_tensors="pt")).logits[0] for text in TEXTS])


def changed_start(base: str, labels: tuple[str, ...]) -> Start:
    """A network with an adapter, all of whose matrices have learned something."""
    torch.manual_seed(0)
    start = starting_point(base, labelled(labels), labels, settings_for(base, **QUICK))
    with torch.no_grad():
        for weight in start.network.parameters():
            if weight.requires_grad:
                weight += 0.1 * torch.randn_like(weight)
    start.network.eval()
    return start


def saved(start: Start, folder: Path) -> Path:
    start.adapter.save_pretrained(folder)
    start.tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("labels", [LABELS, NEW[:2]], ids=["head of the base", "new head"])
@pytest.mark.parametrize("name", first(["bert", "gpt2"], ADAPTED, "loads each model four times"))
def test_a_saved_adapter_has_the_trained_weights(
    name: str, labels: tuple[str, ...], zoo_path: Callable[[str], Path], tmp_path: Path
) -> None:
    """Compare the trained network with the adapter as this project loads it and as peft loads it."""
    from peft import PeftModel  # takes 150 MB

    start = changed_start(str(zoo_path(name)), labels)
    trained = logits_of(start.network, start.tokenizer)
    out = saved(start, tmp_path / "out")
    read = load_model(str(out), device="cpu")
    assert read.labels == labels
    assert torch.allclose(logits_by(read), trained, rtol=0, atol=1e-5)
    assert not torch.allclose(trained, logits_of(base_below(zoo_path(name), out), start.tokenizer), atol=1e-3)
    by_peft = PeftModel.from_pretrained(base_below(zoo_path(name), out), str(out)).eval()
    assert torch.allclose(logits_of(by_peft.get_base_model(), start.tokenizer), trained, rtol=0, atol=1e-5)


def base_below(base: Path, adapter: Path) -> torch.nn.Module:
    config = AutoConfig.from_pretrained(adapter)
    factory = AutoModelForSequenceClassification
    return factory.from_pretrained(base, config=config, ignore_mismatched_sizes=True).eval()


@pytest.mark.parametrize("name", ADAPTED)
def test_projections_and_head_learn_and_nothing_else(
    name: str, zoo_path: Callable[[str], Path], tmp_path: Path
) -> None:
    base = str(zoo_path(name))
    before = load_file(zoo_path(name) / "model.safetensors")
    train(labelled(NEW), base, tmp_path / "out", settings_for(base, **QUICK))
    learned = load_file(tmp_path / "out" / "adapter_model.safetensors")
    model = load_model(str(tmp_path / "out"), device="cpu")
    after, body = model.model.network.state_dict(), model.model.network.base_model_prefix
    changed = {key for key in before if after[key].shape != before[key].shape or not after[key].equal(before[key])}
    head = {key for key in before if not key.startswith(f"{body}.")}
    projections = {key for key in before if key.split(".")[-2] in PROJECTIONS and key.endswith(".weight")}
    assert {key for key in head if key.endswith("weight")} <= changed
    assert projections
    assert projections <= changed <= head | projections
    pairs = {f"base_model.model.{key[:-7]}.lora_{which}.weight" for key in projections for which in "AB"}
    assert learned.keys() == pairs | {f"base_model.model.{key}" for key in head}
    assert not (tmp_path / "out" / "model.safetensors").exists()
    assert model.labels == NEW


def test_the_directory_is_small_and_names_its_base(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    base = str(zoo_path("bert"))
    train(labelled(NEW), base, tmp_path / "out", settings_for(base, **QUICK))
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(zoo_path("bert").resolve()) == changed_model(str(tmp_path / "out"))
    assert (config["r"], config["lora_alpha"], config["lora_dropout"]) == (2, 4, 0.1)
    assert config["modules_to_save"] == ["classifier"]
    size, whole = ((folder / name).stat().st_size for folder, name in (
        (tmp_path / "out", "adapter_model.safetensors"), (zoo_path("bert"), "model.safetensors")))  # fmt: skip
    assert size < whole / 5
    assert describe(str(tmp_path / "out")).labels == NEW


def test_a_base_without_a_pooler(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    """Weights that the base lacks are trained too, and are part of the adapter."""
    base = shutil.copytree(zoo_path("bert"), tmp_path / "base")
    weights = load_file(base / "model.safetensors")
    body = {name: weight for name, weight in weights.items() if name.startswith("bert.") and "pooler" not in name}
    save_file(body, base / "model.safetensors", {"format": "pt"})
    config = json.loads((base / "config.json").read_text()) | {"architectures": ["BertModel"]}
    (base / "config.json").write_text(json.dumps(config))
    start = changed_start(str(base), NEW)
    assert torch.allclose(
        logits_by(load_model(str(saved(start, tmp_path / "out")), device="cpu")),
        logits_of(start.network, start.tokenizer),
        rtol=0,
        atol=1e-5,
    )


def test_half_precision_reads_the_head_too(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    start = changed_start(str(zoo_path("bert")), NEW)
    read = load_model(str(saved(start, tmp_path / "out")), device="cpu", dtype="bfloat16")
    assert {weight.dtype for weight in read.model.network.parameters()} == {torch.bfloat16}
    assert torch.allclose(logits_by(read).float(), logits_of(start.network, start.tokenizer), atol=0.1)


def test_a_changed_base_is_another_model(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    base = shutil.copytree(zoo_path("gpt2"), tmp_path / "base")
    out = tmp_path / "out"
    train(labelled(NEW), str(base), out, settings_for(str(base), **QUICK))
    first = model_digest(str(out))
    weights = load_file(base / "model.safetensors")
    weights["transformer.ln_f.bias"] += 1
    save_file(weights, base / "model.safetensors", {"format": "pt"})
    assert model_digest(str(out)) != first
    shutil.rmtree(base)
    with pytest.raises(ModelError, match=r"Put .* base_model_name_or_path"):
        load_model(str(out), device="cpu")


@pytest.mark.parametrize(
    ("lost", "options", "reason"),
    [
        ("classifier", {"modules_to_save": None, "task_type": None}, "lacks trained weights for classifier.out_proj"),
        ("classifier", {}, "cannot be loaded.*classifier"),
        ("lora_A", {}, "lacks base_model.model.roberta.*lora_A.weight"),
    ],
)
def test_weights_that_neither_the_base_nor_the_adapter_has(
    lost: str, options: dict, reason: str, zoo_path: Callable[[str], Path], tmp_path: Path
) -> None:
    """Random ones would take their place."""
    out = saved(changed_start(str(zoo_path("roberta")), NEW[:2]), tmp_path / "out")
    config, weights = out / "adapter_config.json", load_file(out / "adapter_model.safetensors")
    config.write_text(json.dumps(json.loads(config.read_text()) | options))
    kept = {name: weight for name, weight in weights.items() if lost not in name}
    save_file(kept, out / "adapter_model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=reason):
        load_model(str(out), device="cpu")


def test_going_on_equals_an_undisturbed_training(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    base, checkpoints = str(zoo_path("bert")), tmp_path / "checkpoints"
    settings = settings_for(base, **QUICK)

    def stop(done: int, total: int, phase: str) -> None:
        if phase == "training" and done == total:
            raise Cancelled

    train(labelled(NEW), base, tmp_path / "whole", settings)
    with pytest.raises(Cancelled):
        train(labelled(NEW), base, tmp_path / "parts", settings, checkpoints=checkpoints, report=stop)
    assert list(checkpoints.glob("*.safetensors"))
    train(labelled(NEW), base, tmp_path / "parts", settings, checkpoints=checkpoints)
    for name in ("adapter_model.safetensors", "adapter_config.json", "config.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()


def test_it_is_asked_for_by_name_and_only_where_there_are_weights() -> None:
    base = "embedded:bert-mini-sst2"
    asked = settings_for(base, recipe="progressive", lora="true")
    assert (asked.lora, asked.lora_rank) == (True, 16)
    assert not settings_for(base, recipe="progressive").lora
    assert settings_for(base, lora=True, lora_rank=4).lora_rank == 4
    with pytest.raises(RequestError, match="lora: random weights"):
        settings_for("bert", lora=True)
    with pytest.raises(RequestError, match=r"lora_rank: it is LoRA's.*lora=true"):
        settings_for(base, lora_rank=4)


def test_it_and_its_rank_decide_the_model() -> None:
    base = "embedded:bert-mini-sst2"
    chosen = [{}, {"lora": True}, {"lora": True, "lora_rank": 4}]
    digests = {training_digest(labelled(NEW), base, settings_for(base, **own)) for own in chosen}
    assert len(digests) == 3


def test_a_teacher_may_be_an_adapter(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    base = str(zoo_path("bert"))
    train(labelled(NEW), base, tmp_path / "teacher", settings_for(base, **QUICK))
    pupil = settings_for(base, **QUICK, teacher=str(tmp_path / "teacher"))
    train(labelled(NEW), base, tmp_path / "pupil", pupil)
    assert load_model(str(tmp_path / "pupil"), device="cpu").labels == NEW


@pytest.mark.parametrize("name", first(["bert", "gpt2"], ADAPTED, "loads each model four times"))
def test_an_adapter_is_merged_before_it_is_trained(name: str, zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    adapter = str(saved(changed_start(str(zoo_path(name)), NEW), tmp_path / "adapter"))
    classes, others = ({"id2label": dict(enumerate(own))} for own in (NEW, (*NEW, "another")))
    same, new = (load_base(adapter, own | {"label2id": {}}) for own in (classes, others))
    expected = logits_by(load_model(adapter, device="cpu"))
    assert torch.allclose(logits_of(same.network.eval(), same.tokenizer), expected, atol=1e-6)
    assert all(weight.requires_grad for weight in same.network.parameters())
    assert not same.drawn
    assert new.drawn
    assert not any(weight.startswith(new.network.base_model_prefix) for weight in new.drawn)


def test_what_begins_with_an_adapter_needs_it_no_more(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    base, adapter, whole = str(zoo_path("bert")), str(tmp_path / "adapter"), str(tmp_path / "whole")
    train(labelled(NEW), base, adapter, settings_for(base, **QUICK))
    with pytest.raises(RequestError, match="Leave lora out"):
        train(labelled(NEW), adapter, whole, settings_for(adapter, **QUICK))
    train(labelled(NEW), adapter, whole, settings_for(adapter, epochs=1, max_tokens=16))
    assert (changed_model(adapter), changed_model(whole)) == (base, None)
    shutil.rmtree(adapter)
    assert load_model(whole, device="cpu").labels == NEW


def test_without_peft(zoo_path: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    base = str(zoo_path("bert"))
    with pytest.raises(RequestError, match=r"LoRA needs peft\. Install it"):
        train(labelled(NEW), base, tmp_path / "out", settings_for(base, **QUICK))
    train(labelled(NEW), base, tmp_path / "out", settings_for(base, recipe="progressive", epochs=1, max_tokens=16))


def test_projections_without_a_known_name(zoo_path: Callable[[str], Path]) -> None:
    base = load_base(str(zoo_path("bert")), {"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "b": 1}})
    base.network.bert.encoder.layer = torch.nn.ModuleList()
    with pytest.raises(ModelError, match="does not know the projections of it"):
        add_lora(base, "it", 2)


@pytest.mark.parametrize("name", RECURRENT)
def test_a_model_without_projections_is_refused(name: str, zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    base = str(zoo_path(name))
    with pytest.raises(ModelError, match="LoRA does not know the projections"):
        train(labelled(NEW), base, tmp_path / "out", settings_for(base, **QUICK))
