"""Every method keeps the contract of :mod:`explainlab.testing`: the part that depends on the model on every model."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explainlab import explain, methods
from explainlab.attribution.registry import get_method
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.testing import check_method
from explainlab.testing.methods import MethodRun, answers, batches, check_method_on_model, together
from tests.conftest import ONE_OF_EACH, Zoo
from tests.failures import check_each
from tests.zoo import CORPUS, LABELS, ZOO

CHEAP = {"samples": 6, "steps": 6, "max_steps": 9, "neighbours": 20, "passes": 6, "members": "lime:samples=6+gradient"}
"""Settings under which every method is quick; a method takes those that it has."""

LACKING = ("pad", "unk")
"""Baselines of which the tokenizer of the tiny decoder has no token."""

OF_EACH_KIND = ("occlusion", "integrated_gradients", "attention_rollout", "lrp", "deep_lift")
"""A method for each kind of pass: forward, with gradients, with its attention, by the two kinds of rules."""

SELECTING = "rpi"
"""The method that selects by every metric: the others of its family select by the same code."""

every_method = pytest.mark.parametrize("method", methods())
others = pytest.mark.parametrize("name", [name for name in ZOO if name not in ONE_OF_EACH])


def fields(method: str) -> Collection[str]:
    """Return the names of the method's parameters."""
    return get_method(method).Parameters.model_fields.keys()


def cheap(method: str, **chosen: Any) -> dict[str, Any]:
    """Return parameters under which ``method`` is quick, with those ``chosen``."""
    usual = {**CHEAP, "samples": 2, "steps": 3} if "select_by" in fields(method) else CHEAP
    return {**{name: value for name, value in usual.items() if name in fields(method)}, **chosen}


def supported(classifier: Classifier) -> list[str]:
    """Return the methods that ``classifier`` supports."""
    return [method.id for method in methods().values() if not method.unsupported(classifier.architecture)]


@pytest.mark.parametrize("name", ONE_OF_EACH)
@every_method
def test_the_whole_contract(zoo: Zoo, name: str, method: str) -> None:
    check_method(get_method(method), zoo(name), **cheap(method))


@others
def test_a_method_of_each_kind_on_every_other_model(zoo: Zoo, name: str) -> None:
    """No method knows an architecture, so a model that runs one method of each kind of pass runs every other."""

    def check(method: str) -> None:
        check_method_on_model(get_method(method), zoo(name), **cheap(method))
        if not get_method(method).unsupported(zoo(name).architecture):
            together(MethodRun(get_method(method), zoo(name), cheap(method)))

    check_each(check, OF_EACH_KIND)


@pytest.mark.full("22 more methods on 15 more models take a minute")
@others
def test_every_other_method_on_every_other_model(zoo: Zoo, name: str) -> None:
    rest = [method for method in methods() if method not in OF_EACH_KIND]
    check_each(lambda method: check_method_on_model(get_method(method), zoo(name), **cheap(method)), rest)


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


def test_a_missing_filler_is_refused(decoder: Classifier) -> None:
    def check(method: str) -> None:
        with pytest.raises(UnsupportedError, match="pad token"):
            explain(decoder, "a film", method, **cheap(method, baseline="pad"))

    check_each(check, [method for method in supported(decoder) if "baseline" in fields(method)])


def test_special_tokens_typed_into_the_text_are_explained(encoder: Classifier) -> None:
    def check(method: str) -> None:
        result = explain(encoder, "a [SEP] film 😀", method, **cheap(method))
        assert [feature.special for feature in result.features] == [True, False, False, False, False, True]
        assert np.isfinite(result.scores).all()

    check_each(check, supported(encoder))
