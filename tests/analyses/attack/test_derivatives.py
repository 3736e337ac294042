"""Attention written out: it equals torch's own, has second derivatives, and no other thread sees it."""

from __future__ import annotations

import threading

import pytest
import torch
from torch.nn.functional import relu, scaled_dot_product_attention, softplus

from explainlab.analyses.attack.maps import Smooth, require_differentiable, second_derivatives, written_out
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from tests.toys import with_network


@pytest.mark.parametrize("kind", ["plain", "mask", "bias", "causal", "grouped"])
def test_attention_written_out_is_torchs_own(kind: str) -> None:
    draw = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 4, 5, 3, generator=draw, dtype=torch.float64) for _ in range(3))
    options = {
        "plain": {"scale": 0.3},
        "mask": {"attn_mask": torch.rand(2, 1, 5, 5, generator=draw) > 0.3},
        "bias": {"attn_mask": torch.randn(2, 1, 5, 5, generator=draw, dtype=torch.float64)},
        "causal": {"is_causal": True},
        "grouped": {"enable_gqa": True},
    }[kind]
    if kind == "mask":
        options["attn_mask"][..., 0] = True
    if kind == "grouped":
        key, value = key[:, :2], value[:, :2]
    with Smooth():
        found = scaled_dot_product_attention(query, key, value, **options)
    torch.testing.assert_close(found, scaled_dot_product_attention(query, key, value, **options))
    torch.testing.assert_close(found, written_out(query, key, value, **options), rtol=0, atol=0)


def _second(inside: bool) -> torch.Tensor:
    x = torch.ones(1, 2, 3, 4).cumsum(2).requires_grad_()
    if inside:
        with Smooth():
            y = scaled_dot_product_attention(x, x, x)
    else:
        y = scaled_dot_product_attention(x, x, x)
    (gradient,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    return torch.autograd.grad(gradient.square().sum(), x)[0]


def test_only_inside_attention_has_second_derivatives(encoder: Classifier) -> None:
    assert _second(inside=True).abs().sum() > 0
    with pytest.raises(UnsupportedError, match="no second derivative"), second_derivatives(encoder):
        _second(inside=False)
    with pytest.raises(RuntimeError, match="another"), second_derivatives(encoder):
        raise RuntimeError("another")


def test_another_thread_and_what_follows_an_error_see_nothing() -> None:
    seen: list[bool] = []

    def other() -> None:
        try:
            _second(inside=False)
            seen.append(True)
        except RuntimeError:
            seen.append(False)

    thread = threading.Thread(target=other)

    def fails() -> None:
        with Smooth():
            thread.start()
            thread.join()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    other()
    assert seen == [False, False]


def test_a_relu_is_met_and_only_a_surrogate_changes_it() -> None:
    x = torch.tensor([-1.0, 2.0])
    with Smooth() as plain:
        assert relu(x).tolist() == [0.0, 2.0]
    with Smooth(30.0) as smooth:
        torch.testing.assert_close(torch.nn.ReLU()(x), softplus(x, beta=30.0))
    assert plain.met_relu
    assert smooth.met_relu


def test_quantised_and_spread_models_are_refused(encoder: Classifier) -> None:
    require_differentiable(encoder)
    rounded = torch.nn.Linear(1, 1)
    rounded.weight = torch.nn.Parameter(torch.zeros(1, 1, dtype=torch.int8), requires_grad=False)
    with pytest.raises(UnsupportedError, match="quantised"):
        require_differentiable(with_network(encoder, rounded))
    spread = torch.nn.Linear(1, 1)
    spread.weight = torch.nn.Parameter(torch.zeros(1, 1, device="meta"))
    with pytest.raises(UnsupportedError, match="spread over cpu, meta"):
        require_differentiable(with_network(encoder, spread))
