"""Controls for a request with options."""

from __future__ import annotations

import pytest

from explainlab.app.question import chip
from explainlab.attribution.registry import methods, parse_spec
from explainlab.metrics.registry import metrics, parse_metric


def test_a_chip_says_what_is_requested() -> None:
    assert chip(parse_spec, "kernel_shap:samples=16n") == "KernelSHAP, 16n samples"
    assert chip(parse_spec, "integrated_gradients:rule=right:steps=20") == "Integrated gradients, rule right, 20 steps"
    assert chip(parse_metric, "log_odds:k=10") == "Log-odds (RPI, k 10)"


def test_what_is_no_request_is_shown_as_it_was_typed() -> None:
    assert chip(parse_spec, "kernel_shap:sample=2") == "kernel_shap:sample=2"


@pytest.mark.parametrize("name", [*methods(), *metrics()])
def test_no_chip_shows_an_id(name: str) -> None:
    shown = chip(parse_spec if name in methods() else parse_metric, name)
    assert not set(shown) & set("_:=")
