"""Models in memory: explained as the same files are, and left as they were."""

from __future__ import annotations

import copy
import hashlib
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from explainlab import ExplainLabError, explain, load_model, study
from tests.tiers import first
from tests.zoo import ZOO, model_of, tokenizer_of

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
        (lambda n: _packed(n, torch.nn.Linear), {}, "are quantised"),
        (lambda n: _packed(n, torch.nn.Embedding), {}, "are quantised"),
        (lambda n: n.double(), {}, "is in float64"),
        (lambda n: _closure(n), {}, "when it is called"),
        (lambda n: _hooked(n, "bert.embeddings.word_embeddings", lambda own: own * 2), {}, "when it is called"),
        (lambda n: setattr(n, "forward", lambda text: text) or n, {}, "cannot read a text"),
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


@pytest.mark.parametrize("kind", ["hook", "forward", "subclass", "head", "hook below"])
def test_a_network_is_explained_as_it_is_called(kind: str, zoo_path: Callable[[str], Path]) -> None:
    network, tokenizer = read(zoo_path("bert"))
    plain = load_model(network, tokenizer=tokenizer)
    changed = CHANGES[kind](network)
    classifier = load_model(changed.eval(), tokenizer=tokenizer)
    with torch.no_grad():
        called = changed(**tokenizer(TEXT, return_tensors="pt")).logits[0]
    found, before = (list(own.predict(own.encode(TEXT)).probabilities.values()) for own in (classifier, plain))
    np.testing.assert_allclose(found, called.softmax(-1), rtol=1e-5)
    assert np.abs(np.subtract(found, before)).max() > 1e-3
    result = explain(classifier, TEXT, "integrated_gradients", output="logit", target=0, baseline="zero")
    assert result.logit == pytest.approx(float(called[0]), rel=1e-5)
    assert result.completeness.approximation_error < 0.01
    assert classifier.digest not in (plain.digest, load_model(changed, tokenizer=tokenizer).digest)
    with pytest.raises(ExplainLabError, match="changed in memory"):
        explain(classifier, TEXT, "alti")


@pytest.mark.parametrize("kind", ["hook", "forward", "subclass"])
def test_a_decoder_whose_call_changes_its_scores_is_told(kind: str, zoo_path: Callable[[str], Path]) -> None:
    """Its head is applied by us, so that its own call is not run."""
    network, tokenizer = read(zoo_path("gpt2"))
    with pytest.raises(ExplainLabError, match="when it is called"):
        load_model(CHANGES[kind](network), tokenizer=tokenizer)
    network, _ = read(zoo_path("gpt2"))
    network.score = torch.nn.Sequential(network.score, Halved())
    found = load_model(network, tokenizer=tokenizer)
    with torch.no_grad():
        called = network.eval()(**tokenizer(TEXT, return_tensors="pt")).logits[0]
    np.testing.assert_allclose(
        list(found.predict(found.encode(TEXT)).probabilities.values()), called.softmax(-1), rtol=1e-5
    )


@pytest.mark.parametrize("name", first(["roberta", "bilstm"], ZOO, "loads every model"))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_network_is_called_as_it_is_explained(
    name: str, dtype: torch.dtype, zoo_path: Callable[[str], Path]
) -> None:
    network, tokenizer = read(zoo_path(name))
    classifier = load_model(network.to(dtype), tokenizer=tokenizer)
    assert classifier.architecture == load_model(str(zoo_path(name)), device="cpu").architecture


def test_hooks_on_the_way_back_change_no_gradient(zoo_path: Callable[[str], Path]) -> None:
    network, tokenizer = read(zoo_path("bert"))
    expected = explain(load_model(network, tokenizer=tokenizer), TEXT, "gradient").scores
    for module in network.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.register_full_backward_hook(lambda module, given, _: tuple(2 * own for own in given))
            module.register_full_backward_pre_hook(lambda module, given: tuple(2 * own for own in given))
    found = explain(load_model(network, tokenizer=tokenizer), TEXT, "gradient").scores
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_network_that_was_read_in_inference_mode_has_gradients(zoo_path: Callable[[str], Path]) -> None:
    with torch.inference_mode():
        network, tokenizer = read(zoo_path("bert"))
    expected = explain(load_model(str(zoo_path("bert")), device="cpu"), TEXT, "integrated_gradients").scores
    np.testing.assert_allclose(
        explain(load_model(network, tokenizer=tokenizer), TEXT, "integrated_gradients").scores, expected, rtol=1e-4
    )


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
    """Convert weights to whole numbers, as quantisers do."""
    whole = network.classifier.weight.detach().to(torch.int8)
    network.classifier.weight = torch.nn.Parameter(whole, requires_grad=False)
    return network


def _packed(network: Any, kind: type[torch.nn.Module]) -> Any:
    """Quantise for the time of a pass, as torch does."""
    ao: Any = torch.ao.quantization
    how = ao.float_qparams_weight_only_qconfig if kind is torch.nn.Embedding else ao.default_dynamic_qconfig
    return ao.quantize_dynamic(network, {kind: how}, dtype=torch.quint8)


def _halve(output: Any) -> Any:
    output.logits = output.logits / 2
    return output


def _closure(network: Any) -> Any:
    """Its call goes to the modules of this very network, also in a copy."""
    before = network.forward
    network.forward = lambda *given, **named: _halve(before(*given, **named))
    return network


def _hooked(network: Any, path: str, change: Callable[[Any], Any]) -> Any:
    network.get_submodule(path).register_forward_hook(lambda module, given, output: change(output))
    return network


def _method(network: Any) -> Any:
    """Its call goes to the modules of its own, in a copy to the copy's."""

    def forward(self: Any, *given: Any, **named: Any) -> Any:
        return _halve(type(self).forward(self, *given, **named))

    network.forward = types.MethodType(forward, network)
    return network


def _subclass(network: Any) -> Any:
    class HalvedScores(type(network)):  # type: ignore[misc]
        def forward(self, *given: Any, **named: Any) -> Any:
            return _halve(super().forward(*given, **named))

    network.__class__ = HalvedScores
    return network


class Halved(torch.nn.Module):
    """A temperature of 2 as a module."""

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        return logits / 2


def _head(network: Any) -> Any:
    network.classifier = torch.nn.Sequential(network.classifier, Halved())
    return network


CHANGES: dict[str, Callable[[Any], Any]] = {
    "hook": lambda network: _hooked(network, "", _halve),
    "forward": _method,
    "subclass": _subclass,
    "head": _head,
    "hook below": lambda network: _hooked(network, "bert.pooler", lambda pooled: pooled / 2),
}
"""Networks that say something else than their weights alone: half of their logits, or nearly so."""


def test_checkpoints_of_activations_leave_the_model_as_it_was() -> None:
    """transformers leaves a hook behind on the word embeddings, also after they are switched off."""
    network, tokenizer = model_of("bert"), tokenizer_of("bert")
    before = load_model(network, tokenizer=tokenizer)
    network.gradient_checkpointing_enable()
    network.gradient_checkpointing_disable()
    after = load_model(network, tokenizer=tokenizer)
    assert after.id == before.id
    assert after.architecture == before.architecture


def test_a_hook_that_cannot_be_copied_is_told() -> None:
    class Holder:
        def __init__(self) -> None:
            self.own = threading.Lock()

        def hook(self, *_: object) -> None: ...

    network = model_of("bert")
    network.register_forward_hook(Holder().hook)
    with pytest.raises(ExplainLabError, match="cannot be copied"):
        load_model(network, tokenizer=tokenizer_of("bert"))
