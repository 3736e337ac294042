"""Float64 throughout: also where a model or a method asks for float32."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from explainlab.testing import exact
from explainlab.testing.exact import assert_equal
from tests.conftest import Zoo


@pytest.mark.parametrize("name", ["bert", "llama", "t5"])
def test_a_pass_keeps_float64(zoo: Zoo, name: str) -> None:
    """Llama's normalisation and T5's ask for float32 inside."""
    classifier = zoo(name)
    inputs = classifier.inputs([classifier.encode("a funny film")])
    with exact(classifier) as twin:
        logits = twin.logits(inputs)
        nudged = twin.logits(inputs, twin.embed(inputs.ids) * (1 + 1e-12))
    assert logits.dtype == torch.float64
    assert 0 < (logits - nudged).abs().max() < 1e-9
    torch.testing.assert_close(logits.float(), classifier.logits(inputs), rtol=1e-4, atol=1e-4)
    assert classifier.dtype == torch.float32


def test_outside_of_the_block_float32_is_float32(zoo: Zoo) -> None:
    with exact(zoo("bert")):
        assert torch.zeros(1, dtype=torch.float32).dtype == torch.ones(1).float().dtype == torch.float64
    assert torch.zeros(1, dtype=torch.float32).dtype == torch.ones(1).float().dtype == torch.float32


def test_the_limit_follows_from_the_terms() -> None:
    assert_equal(np.array([1.0, 0.0]), np.array([1 + 1e-10, 1e-10]), "close")
    assert_equal(np.array([1e-13]), np.array([-1e-13]), "a difference of numbers of size 1", terms=1)
    with pytest.raises(AssertionError, match=r"a number: differs by 2e-13 .* 1e-13"):
        assert_equal(np.array([1e-13]), np.array([-1e-13]), "a number")
    with pytest.raises(AssertionError, match=r"a shape: the shape is \(1,\), not \(2,\)"):
        assert_equal(np.zeros(1), np.zeros(2), "a shape")
