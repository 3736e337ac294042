"""Models with weights of 8 and 4 bits: read and explained as their unpacked weights are, or refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, BitsAndBytesConfig
from transformers.pytorch_utils import Conv1D

from explainlab.analyses.run import evaluate
from explainlab.attribution.explain import explain
from explainlab.attribution.registry import methods
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from tests.attribution.plain import close
from tests.conftest import ASKED
from tests.tiers import first
from tests.zoo import build, tokenizer_of

TEXT = "the plot is thin, a good film"
FEWER: dict[str, dict[str, Any]] = {
    "integrated_gradients": {"rule": "gauss_legendre", "steps": 10},
    "sequential_integrated_gradients": {"steps": 5},
    "discretized_integrated_gradients": {"steps": 5},
    "ensemble": {"members": "gradient+occlusion"},
    **{name: {"samples": 4, "steps": 4} for name in ("rpi", "rpi_g", "rpi_ig", "rpi_sig")},
}
"""Parameters that need few passes."""

EACH_KIND = ("occlusion", "integrated_gradients", "attention_rollout", "lrp", "llm_ranking")
"""A method for each kind of pass: forward, gradients, attention, relevance rules, generation."""

BERT, GPT2, LLAMA, SPEAKER = "bert", "gpt2", "llama", "speaking llama"
"""GPT-2's layers are no ``nn.Linear``; the last answers a prompt."""

Quantised = Callable[[str, int], Classifier]


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory, speaker_path: Callable[[str], Path]) -> Quantised:
    """Return a tiny model by name with ``bits``, saved as transformers does and loaded once; not to be changed."""
    return cache(lambda name, bits: load_model(_saved(name, bits, tmp_path_factory.mktemp("quantised")), device="cpu"))


def _saved(name: str, bits: int, folder: Path, dtype: torch.dtype = torch.float32) -> str:
    kind, is_generative = name.removeprefix("speaking "), name == SPEAKER
    whole = build(kind, folder / "whole", is_generative)
    config = BitsAndBytesConfig(
        load_in_8bit=bits == 8, load_in_4bit=bits == 4, llm_int8_skip_modules=["classifier", "score", "lm_head"]
    )
    factory = AutoModelForCausalLM if is_generative else AutoModelForSequenceClassification
    model = factory.from_pretrained(whole, quantization_config=config, device_map={"": "cpu"}, dtype=dtype)
    model.save_pretrained(folder / "quantised")
    tokenizer_of(kind).save_pretrained(folder / "quantised")
    return f"completion:{ASKED.name}:{folder / 'quantised'}" if is_generative else str(folder / "quantised")


@pytest.fixture(scope="module")
def unpacked(quantised: Quantised, zoo_path: Callable[[str], Path], speaker_path: Callable[[str], Path]) -> Quantised:
    """The same model with what its bits stand for in float32."""

    def made(name: str, bits: int) -> Classifier:
        kind = name.removeprefix("speaking ")
        whole = f"completion:{ASKED.name}:{speaker_path(kind)}" if name == SPEAKER else str(zoo_path(kind))
        return _unpack(quantised(name, bits), load_model(whole, device="cpu"))

    return cache(made)


def _unpack(packed: Classifier, classifier: Classifier) -> Classifier:
    """``classifier``, a model in float32, with the numbers of the ``packed`` one."""
    import bitsandbytes  # takes 150 MB

    packed.predict(packed.encode(TEXT))  # 8 bits: the scales move to where they are read below
    layers = dict(packed.model.network.named_modules())
    with torch.no_grad():
        for place, layer in classifier.model.network.named_modules():
            whole = isinstance(layers[place], bitsandbytes.nn.Linear4bit | bitsandbytes.nn.Linear8bitLt)
            for name, own in layer.named_parameters(recurse=False):
                if whole and name == "weight":
                    weights = _numbers(layers[place])
                    own.copy_(weights.T if isinstance(layer, Conv1D) else weights)
                else:
                    own.copy_(layers[place].get_parameter(name))
    return classifier


def _numbers(layer: Any) -> torch.Tensor:
    """float32 [out, in]: 8 bits are 127ths of the largest weight of a row."""
    import bitsandbytes  # takes 150 MB
    from bitsandbytes.functional import dequantize_4bit

    if isinstance(layer, bitsandbytes.nn.Linear4bit):
        return dequantize_4bit(layer.weight.data, layer.weight.quant_state).float()
    return layer.weight.data.float() * layer.state.SCB[:, None] / 127


def _ids(model: Classifier) -> list[str]:
    return [method.id for method in methods().values() if not method.unsupported(model.architecture)]


@pytest.mark.parametrize("name", [BERT, GPT2, LLAMA, SPEAKER])
def test_four_bits_and_the_unpacked_weights_have_equal_explanations(
    name: str, quantised: Quantised, unpacked: Quantised
) -> None:
    ours, theirs = quantised(name, 4), unpacked(name, 4)
    assert ours.quantised
    assert not theirs.quantised
    compare(ours, theirs, [method for method in EACH_KIND if method in _ids(ours)])


@pytest.mark.full("runs every method on four models")
@pytest.mark.parametrize("name", [BERT, GPT2, LLAMA, SPEAKER])
def test_every_method_reads_four_bits_as_the_unpacked_weights(
    name: str, quantised: Quantised, unpacked: Quantised
) -> None:
    ours = quantised(name, 4)
    compare(ours, unpacked(name, 4), _ids(ours))


def compare(ours: Classifier, theirs: Classifier, chosen: list[str]) -> None:
    """Compare the explanations of two models by the ``chosen`` methods, and their passes."""
    for method in chosen:
        how = {"method": method, **FEWER.get(method, {})}
        found, expected = explain(ours, TEXT, **how), explain(theirs, TEXT, **how)
        close(found.scores, expected.scores, 1e-5)
        assert found.cost.forward == expected.cost.forward


def test_four_bits_are_the_same_on_processors_with_instructions_for_bfloat16(
    quantised: Quantised, unpacked: Quantised, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bitsandbytes would round to bfloat16 there, have no gradients, and fail for narrow layers."""
    import bitsandbytes  # takes 150 MB

    monkeypatch.setattr(bitsandbytes.nn.modules, "has_avx512bf16", lambda: True)
    ours, theirs = load_model(quantised(BERT, 4).id, device="cpu"), unpacked(BERT, 4)
    for method in ("occlusion", "gradient", "occlusion"):
        maps = [explain(model, TEXT, method=method, target="positive").scores for model in (ours, theirs)]
        close(*maps, tolerance=1e-5)


@pytest.mark.parametrize("name", first([BERT], [BERT, LLAMA], "quantises another model"))
def test_with_eight_bits_what_needs_no_gradient_is_right_but_for_rounding(
    name: str, quantised: Quantised, unpacked: Quantised
) -> None:
    """Every layer rounds what it reads to 127ths of its largest number."""
    ours, theirs = quantised(name, 8), unpacked(name, 8)
    found, expected = ([*model.predict(model.encode(TEXT)).probabilities.values()] for model in (ours, theirs))
    assert found == pytest.approx(expected, abs=0.02)
    assert found != expected
    runs = _ids(ours)
    assert {"occlusion", "kernel_shap", "lime", "attention_rollout"} <= set(runs)
    assert {"gradient", "integrated_gradients", "rpi", "gae", "alti"}.isdisjoint(runs)
    for method in ("occlusion", "attention_rollout"):
        maps = [explain(model, TEXT, method=method, target="positive").scores for model in (ours, theirs)]
        close(*maps, tolerance=0.3 if method == "occlusion" else 0.02)


@pytest.mark.parametrize(
    ("name", "bits", "saved", "asked"),
    [
        (BERT, 8, torch.float16, "float32"),
        (BERT, 8, torch.float32, "float16"),
        (GPT2, 8, torch.bfloat16, "float32"),
        (LLAMA, 8, torch.float16, "bfloat16"),
        (BERT, 4, torch.float16, "float32"),
        (GPT2, 4, torch.bfloat16, "float16"),
    ],
)
def test_what_was_saved_in_one_format_opens_in_another(
    name: str, bits: int, saved: torch.dtype, asked: str, zoo_path: Callable[[str], Path], tmp_path: Path
) -> None:
    ours = load_model(_saved(name, bits, tmp_path, saved), device="cpu", dtype=asked)
    assert str(ours.dtype) == f"torch.{asked}"
    theirs = _unpack(ours, load_model(str(zoo_path(name)), device="cpu"))
    found, expected = ([*model.predict(model.encode(TEXT)).probabilities.values()] for model in (ours, theirs))
    assert found == pytest.approx(expected, abs=0.02 if bits == 8 else 5e-3)  # 4 bits unpack in the format of the file


def test_what_eight_bits_cannot_do_is_refused_with_its_reason(quantised: Quantised) -> None:
    with pytest.raises(UnsupportedError, match=r"8-bit .* no gradient"):
        explain(quantised(BERT, 8), TEXT, method="integrated_gradients")


def test_metrics_are_those_of_the_unpacked_weights(quantised: Quantised, unpacked: Quantised, tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("text,label\na funny film,positive\nthe plot is thin and bad,negative\n")
    asked = [["occlusion", "input_x_gradient"], ["comprehensiveness", "sufficiency", "log_odds", "activation_auc"]]
    ours, theirs = (evaluate(model(LLAMA, 4), str(data), *asked) for model in (quantised, unpacked))
    assert [row.mean for row in ours.body.rows] == pytest.approx([row.mean for row in theirs.body.rows], abs=1e-5)


def test_no_pass_says_what_it_rounds(quantised: Quantised, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        model = quantised(BERT, 8)
        model.predict(model.encode(TEXT))
    assert not caplog.records
