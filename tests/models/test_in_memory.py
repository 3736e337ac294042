"""Models in memory: explained as the same files are, and left as they were."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from explainlab import ExplainLabError, explain, load_model, study

TEXT = "the film is good but the plot is bad"


def read(path: Path) -> tuple[Any, Any]:
    network = transformers.AutoModelForSequenceClassification.from_pretrained(path, dtype=torch.float32)
    return network, transformers.AutoTokenizer.from_pretrained(path)


def state(network: Any, tokenizer: Any) -> list[Any]:
    """A checksum of all that is not to change."""
    total = hashlib.sha256()
    for name, value in network.state_dict().items():
        total.update(name.encode() + value.numpy().tobytes())
    flags = [(p.requires_grad, p.dtype, p.device, None if p.grad is None else p.grad.sum().item(), id(p))
             for p in network.parameters()]  # fmt: skip
    modules = [(m.training, len(m._forward_hooks), len(m._forward_pre_hooks)) for m in network.modules()]
    sides = tokenizer.padding_side, tokenizer.truncation_side, tokenizer.backend_tokenizer.to_str()
    return [total.hexdigest(), flags, modules, network.config.to_dict(), sides]


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "albert"])
def test_a_model_in_memory_is_explained_as_its_files_and_stays_as_it_was(
    name: str, zoo_path: Callable[[str], Path]
) -> None:
    network, tokenizer = read(zoo_path(name))
    tokenizer.padding_side = "left"
    network.train()
    network(**tokenizer(TEXT, return_tensors="pt")).logits.sum().backward()
    before = copy.deepcopy(state(network, tokenizer))
    classifier = load_model(network, tokenizer=tokenizer)
    loaded = load_model(str(zoo_path(name)), device="cpu")
    for method in ("gradient", "attention_average"):
        ours, theirs = explain(classifier, TEXT, method), explain(loaded, TEXT, method)
        np.testing.assert_allclose(ours.scores, theirs.scores, rtol=1e-5, atol=1e-7)
        assert ours.features == theirs.features
    assert state(network, tokenizer) == before
    assert load_model(network, tokenizer=tokenizer).digest == classifier.digest


def test_its_weights_are_shared_and_tied_ones_stay_tied(zoo_path: Callable[[str], Path]) -> None:
    network, tokenizer = read(zoo_path("t5"))
    own = load_model(network, tokenizer=tokenizer).model.network
    assert own.encoder is not network.encoder if hasattr(network, "encoder") else own is not network
    theirs = {p.data_ptr() for p in network.parameters()}
    assert {p.data_ptr() for p in own.parameters()} == theirs
    assert len(list(own.parameters())) == len(list(network.parameters()))


def test_another_digest_after_training_on(zoo_path: Callable[[str], Path]) -> None:
    network, tokenizer = read(zoo_path("bert"))
    before = load_model(network, tokenizer=tokenizer)
    with torch.no_grad():
        next(network.parameters()).add_(1.0)
    after = load_model(network, tokenizer=tokenizer)
    assert before.digest != after.digest
    assert before.id != after.id


def test_half_precision_stays_half_precision(zoo_path: Callable[[str], Path]) -> None:
    network, tokenizer = read(zoo_path("bert"))
    result = explain(load_model(network.to(torch.bfloat16), tokenizer=tokenizer), TEXT, "occlusion")
    assert result.request.dtype == "bfloat16"
    assert {p.dtype for p in network.parameters()} == {torch.bfloat16}


def test_it_answers_studies(zoo_path: Callable[[str], Path]) -> None:
    network, tokenizer = read(zoo_path("bert"))
    classifier = load_model(network, tokenizer=tokenizer)
    assert study(classifier, "trust", TEXT, method="gradient").body.metrics
    with pytest.raises(ExplainLabError, match="number format"):
        study(classifier, "precision", data="embedded:sentiment", rows=2, methods=["gradient"])


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda n: n, {"tokenizer": None}, "needs its tokenizer"),
        (lambda n: n, {"tokenizer": "bert"}, "not a str"),
        (lambda n: n, {"device": "cuda"}, "cpu, not cuda"),
        (lambda n: n, {"dtype": "float16"}, "float32, not float16"),
        (lambda n: n.base_model, {}, "A BertModel is no classifier"),
        (lambda n: n.bert.pooler.dense, {}, "A Linear is no model of transformers"),
        (lambda n: n.to("meta"), {}, "has no weights"),
        (lambda n: _mixed(n), {}, "mixes bfloat16, float32"),
        (lambda n: _quantised(n), {}, "are quantised"),
        (lambda n: setattr(n, "hf_device_map", {"": 0}) or n, {}, "is spread over"),
    ],
)
def test_what_cannot_be_explained_is_told(
    change: Callable[[Any], Any], options: dict[str, Any], said: str, zoo_path: Callable[[str], Path]
) -> None:
    network, tokenizer = read(zoo_path("bert"))
    with pytest.raises(ExplainLabError, match=said) as told:
        load_model(change(network), **{"tokenizer": tokenizer, **options})
    assert told.value.remedy


def test_a_slow_tokenizer_is_told(zoo_path: Callable[[str], Path]) -> None:
    network, tokenizer = read(zoo_path("bert"))

    class Slow(type(tokenizer)):  # type: ignore[misc]
        is_fast = False

    tokenizer.__class__ = Slow
    with pytest.raises(ExplainLabError, match="keeps no character offsets"):
        load_model(network, tokenizer=tokenizer)


def test_a_name_has_its_own_tokenizer() -> None:
    with pytest.raises(ExplainLabError, match="Leave tokenizer out"):
        load_model("embedded:bert-mini-sst2", tokenizer=object())  # type: ignore[arg-type]


def _mixed(network: Any) -> Any:
    network.classifier.to(torch.bfloat16)
    return network


def _quantised(network: Any) -> Any:
    """As quantisers do: weights in whole numbers."""
    whole = network.classifier.weight.detach().to(torch.int8)
    network.classifier.weight = torch.nn.Parameter(whole, requires_grad=False)
    return network
