"""Declarations of seeds match the behaviour: another seed gives other scores, or the same but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from explainlab import explain, methods
from explainlab.attribution.registry import get_method
from explainlab.attribution.subject import Subject
from explainlab.declared import parse
from explainlab.models.classifier import Classifier
from tests.attribution.test_contract import cheap
from tests.conftest import Zoo
from tests.failures import check_each

TEXT = "A funny film. It isn't good!"
SHORT = "a good film"
RANDOM = {"random", "lime", "kernel_shap", "gradient_shap", "mp_pi", "rpi", "rpi_g", "rpi_ig", "rpi_sig", "ensemble"}


def declared(classifier: Classifier, text: str, method: str, parameters: dict[str, Any]) -> bool:
    """Tell whether the method declares that seeds matter for this text."""
    subject = Subject(classifier, classifier.encode(text))
    return get_method(method).is_random(subject, parse(get_method(method), parameters))


def varies(classifier: Classifier, text: str, method: str, parameters: dict[str, Any]) -> bool:
    """Tell whether one of five other seeds gives scores that differ by more than rounding."""
    first, *others = (explain(classifier, text, method, seed=seed, **parameters).scores for seed in range(6))
    return any(not np.allclose(first, scores, rtol=0, atol=1e-6 * np.abs(first).max()) for scores in others)


def test_every_method_says_whether_a_seed_matters(model_for: Zoo) -> None:
    def check(method: str) -> None:
        classifier, parameters = model_for(method), cheap(method)
        assert declared(classifier, TEXT, method, parameters) == varies(classifier, TEXT, method, parameters)
        assert get_method(method).random == (method in RANDOM)

    check_each(check, methods())


@pytest.mark.parametrize(
    ("text", "method", "parameters", "expected"),
    [
        (TEXT, "kernel_shap", {}, False),
        (TEXT, "kernel_shap", {"paired": False}, False),
        (TEXT, "kernel_shap", {"samples": 9}, True),
        (TEXT, "kernel_shap", {"samples": "1n"}, True),
        (TEXT, "kernel_shap", {"samples": "3n"}, True),
        (TEXT, "kernel_shap", {"samples": "3n", "paired": False}, True),
        (SHORT, "kernel_shap", {"samples": 5}, True),
        (SHORT, "kernel_shap", {"samples": 6}, False),
        (SHORT, "kernel_shap", {"samples": 100}, False),
        ("film", "kernel_shap", {}, False),
        (TEXT, "lime", {"samples": 1}, False),
        (TEXT, "lime", {"samples": 9}, True),
        (SHORT, "gradient_shap", {}, True),
        (TEXT, "ensemble", {"members": "gradient+occlusion"}, False),
        (TEXT, "ensemble", {"members": "gradient+lime:samples=9"}, True),
        (TEXT, "mp_pi", {}, True),
        ("a", "mp_pi", {}, False),
        (TEXT, "rpi", {"samples": 1, "steps": 2}, True),
        (TEXT, "rpi", {"samples": 1, "steps": 2, "timesteps": 1}, True),
    ],
)
def test_it_depends_on_parameters_and_text(
    zoo: Zoo, text: str, method: str, parameters: dict[str, Any], expected: bool
) -> None:
    classifier = zoo("gpt2" if method == "mp_pi" else "bert")
    assert declared(classifier, text, method, parameters) == expected
    assert varies(classifier, text, method, parameters) == expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"preset": "reference", "layers": "last"}, False),
        ({"layers": "-1", "timesteps": 1}, False),
        ({"layers": "last"}, True),
        ({"preset": "reference", "layers": "1"}, True),
    ],
)
def test_in_a_prompts_last_layer_only_the_timestep_is_drawn(
    speaker: Zoo, parameters: dict[str, Any], expected: bool
) -> None:
    cheapest = {"samples": 1, "steps": 2, **parameters}
    assert declared(speaker("gpt2"), SHORT, "rpi", cheapest) == expected
    assert varies(speaker("gpt2"), SHORT, "rpi", cheapest) == expected
