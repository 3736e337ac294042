"""Every method keeps the contract of :mod:`explainlab.testing`: the part that depends on the model on every model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explainlab import Attribution, explain, methods
from explainlab.attribution.registry import get_method
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.testing import check_method
from explainlab.testing.methods import MethodRun, answers, batches, check_method_on_model, together
from tests.conftest import Zoo
from tests.zoo import CORPUS, LABELS, ZOO

CHEAP = {"samples": 6, "steps": 6, "max_steps": 9, "neighbours": 20, "passes": 6, "members": "lime:samples=6+gradient"}
"""Settings under which every method is quick; a method takes those that it has."""

LACKING = ("pad", "unk")
"""Baselines of which the tokenizer of the tiny decoder has no token."""

WHOLE = ("bert", "gpt2")
"""The models on which every method keeps the whole contract, an encoder and a decoder."""

SELECTING = "rpi"
"""The method that selects by every metric: the others of its family select by the same code."""

every_method = pytest.mark.parametrize("method", methods())


def cheap(method: str, **chosen: Any) -> dict[str, Any]:
    fields = get_method(method).Parameters.model_fields
    usual = {**CHEAP, "samples": 2, "steps": 3} if "select_by" in fields else CHEAP
    return {**{name: value for name, value in usual.items() if name in fields}, **chosen}


def _run(classifier: Classifier, method: str, text: str, **options: Any) -> Attribution:
    """The cheap attribution; the test is over where the method rightly refuses the model."""
    if get_method(method).unsupported(classifier.architecture):
        pytest.skip("refused")
    return explain(classifier, text, method, **cheap(method, **options))


@pytest.mark.parametrize("name", [name for name in ZOO if name not in WHOLE])
@every_method
def test_every_other_model(zoo: Zoo, name: str, method: str) -> None:
    check_method_on_model(get_method(method), zoo(name), **cheap(method))


@pytest.mark.parametrize("name", WHOLE)
@every_method
def test_the_whole_contract(zoo: Zoo, name: str, method: str) -> None:
    check_method(get_method(method), zoo(name), **cheap(method))


@pytest.mark.parametrize("name", [name for name in ZOO if name not in WHOLE])
@pytest.mark.parametrize("method", ["occlusion", "integrated_gradients", "attention_rollout", "lrp", "deep_lift"])
def test_texts_run_together_on_every_other_model(zoo: Zoo, name: str, method: str) -> None:
    """By a method for each kind of pass: forward, with gradients, with its attention, by the two kinds of rules."""
    if get_method(method).unsupported(zoo(name).architecture):
        pytest.skip("refused")
    together(MethodRun(get_method(method), zoo(name), cheap(method)))


def _variants() -> list[tuple[str, dict[str, Any]]]:
    """Every other choice of every parameter, one at a time."""
    variants = []
    for method in methods().values():
        for spec in method.parameter_specs():
            if spec.name == "select_by" and method.id != SELECTING:
                continue
            values = (True, False) if spec.kind == "flag" else spec.choices
            excluded = {spec.default, "max_entropy", *LACKING * ("causal decoder" in method.needs)}
            others = [value for value in values if value not in excluded]
            variants += [(method.id, {spec.name: value}) for value in others]
        if "baseline_data" in method.Parameters.model_fields:
            variants.append((method.id, {"baseline": "max_entropy"}))
    return [*variants, ("gradient_shap", {"noise": 0.1})]


@pytest.mark.parametrize(("method", "chosen"), _variants())
def test_every_choice(zoo: Zoo, method: str, chosen: dict[str, Any], tmp_path: Path) -> None:
    if chosen.get("baseline") == "max_entropy":
        rows = tmp_path / "rows.csv"
        rows.write_text(
            "text,label\n" + "".join(f'"{text}",{label}\n' for text, label in zip(CORPUS, LABELS * 2, strict=True))
        )
        chosen = {**chosen, "baseline_data": str(rows)}
    model = "llama" if "causal decoder" in get_method(method).needs else "bert"
    run = MethodRun(get_method(method), zoo(model), cheap(method, **chosen))
    answers(run)
    batches(run)


@every_method
def test_a_missing_filler_is_refused(decoder: Classifier, method: str) -> None:
    if "baseline" not in get_method(method).Parameters.model_fields:
        pytest.skip("has no baseline")
    with pytest.raises(UnsupportedError, match="has no pad token"):
        _run(decoder, method, "a film", baseline="pad")


@every_method
def test_special_tokens_typed_into_the_text_are_explained(encoder: Classifier, method: str) -> None:
    result = _run(encoder, method, "a [SEP] film 😀")
    assert [feature.special for feature in result.features] == [True, False, False, False, False, True]
    assert np.isfinite(result.scores).all()
