"""Low-rank adaptation: what learns and what stays, saved as an ordinary model; going on; without peft; which bases."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from explainlab.errors import Cancelled, ModelError, RequestError
from explainlab.models.loading import load_model
from explainlab.models.stored.base import load_base
from explainlab.training import settings_for, train
from explainlab.training.lora import add_lora
from tests.training.test_base import NEW, labelled
from tests.zoo import RECURRENT, ZOO

QUICK = {"recipe": "progressive", "epochs": 2, "max_tokens": 16, "learning_rate": 0.01, "lora_rank": 2}


PROJECTIONS = ("query", "value", "query_proj", "value_proj", "q_proj", "v_proj", "q_lin", "v_lin", "q", "v", "c_attn",
               "Wqkv")  # fmt: skip


@pytest.mark.parametrize("name", [name for name in ZOO if name not in RECURRENT])
def test_projections_and_head_learn_and_nothing_else(
    name: str, zoo_path: Callable[[str], Path], tmp_path: Path
) -> None:
    base = str(zoo_path(name))
    before = load_file(zoo_path(name) / "model.safetensors")
    train(labelled(NEW), base, tmp_path / "out", settings_for(base, **QUICK))
    after = load_file(tmp_path / "out" / "model.safetensors")
    assert after.keys() == before.keys()
    changed = {key for key in after if after[key].shape != before[key].shape or not after[key].equal(before[key])}
    body = load_model(base, device="cpu").model.network.base_model_prefix
    head = {key for key in after if not key.startswith(f"{body}.")}
    projections = {key for key in after if key.split(".")[-2] in PROJECTIONS and key.endswith(".weight")}
    assert {key for key in head if key.endswith("weight")} <= changed
    assert projections <= changed <= head | projections
    assert projections
    assert not list((tmp_path / "out").glob("adapter*"))
    assert load_model(str(tmp_path / "out"), device="cpu").labels == NEW


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
    files = [(tmp_path / out / "model.safetensors").read_bytes() for out in ("whole", "parts")]
    assert files[0] == files[1]


def test_the_recipe_asks_for_it_where_there_are_weights() -> None:
    assert settings_for("embedded:bert-mini-sst2", recipe="progressive").lora_rank == 16
    assert settings_for("embedded:bert-mini-sst2", recipe="progressive", lora_rank=0).lora_rank == 0
    assert settings_for("gpt2", recipe="progressive").lora_rank == 0
    with pytest.raises(RequestError, match="lora_rank"):
        settings_for("bert", lora_rank=4)


def test_without_peft(zoo_path: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    base = str(zoo_path("bert"))
    with pytest.raises(RequestError, match=r"LoRA needs peft\. Install it"):
        train(labelled(NEW), base, tmp_path / "out", settings_for(base, **QUICK))
    train(labelled(NEW), base, tmp_path / "out", settings_for(base, **QUICK | {"lora_rank": 0}))


def test_projections_without_a_known_name(zoo_path: Callable[[str], Path]) -> None:
    network = load_base(str(zoo_path("bert")), {"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "b": 1}}).network
    network.bert.encoder.layer = torch.nn.ModuleList()
    with pytest.raises(ModelError, match="does not know the projections of it"):
        add_lora(network, "it", 2)


@pytest.mark.parametrize("name", RECURRENT)
def test_a_model_without_projections_is_refused(name: str, zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    base = str(zoo_path(name))
    with pytest.raises(ModelError, match="LoRA does not know the projections"):
        train(labelled(NEW), base, tmp_path / "out", settings_for(base, **QUICK))
