"""The attention tap: its readings can be put back, and it leaves nothing behind."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.testing import traces
from tests.conftest import Zoo

TEXT = "a funny film, isn't it?"


def _same(_: int, __: nn.Module, probabilities: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return probabilities, values


def _uniform(_: int, __: nn.Module, probabilities: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    return torch.full_like(probabilities, 1 / probabilities.shape[-1]), values


def _tappable(classifier: Classifier) -> Classifier:
    if classifier.architecture.attention in ("read", "pooled"):
        pytest.skip("its attention can only be read")
    return classifier


def test_what_the_tap_returns_is_used(classifier: Classifier) -> None:
    inputs = _tappable(classifier).inputs([classifier.encode(TEXT)])
    with classifier.model.tapped(_uniform):
        found = classifier.logits(inputs)
    assert not torch.allclose(found, classifier.logits(inputs), atol=1e-3)


def test_the_values_that_the_tap_returns_are_used(classifier: Classifier) -> None:
    """Values that are all alike make a layer blind to what it attends to."""

    def blind(_: int, __: nn.Module, probabilities: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return probabilities, values.mean(dim=2, keepdim=True).expand_as(values)

    def uniform_and_blind(*call) -> tuple[Tensor, Tensor]:
        return _uniform(*call)[0], blind(*call)[1]

    inputs = _tappable(classifier).inputs([classifier.encode(TEXT)])
    found = []
    for tap in (blind, uniform_and_blind):
        with classifier.model.tapped(tap):
            found.append(classifier.logits(inputs))
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(found[0], classifier.logits(inputs), atol=1e-3)


def test_calls_are_numbered_in_order(zoo: Zoo) -> None:
    for name, calls in (("albert", 3), ("distilbert", 3), ("gpt2", 3), ("t5", 9)):
        seen: list[int] = []
        classifier = zoo(name)
        with classifier.model.tapped(lambda call, _, *both: (seen.append(call), both)[1]):  # noqa: B023
            classifier.logits(classifier.inputs([classifier.encode(TEXT)]))
        assert seen == list(range(calls))


def test_gradients_flow_to_replaced_probabilities(decoder: Classifier) -> None:
    kept: list[Tensor] = []

    def replace(_: int, __: nn.Module, probabilities: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        kept.append(probabilities.detach().requires_grad_())
        return kept[-1], values

    with decoder.model.tapped(replace):
        logits = decoder.logits(decoder.inputs([decoder.encode(TEXT)]))
    (gradient,) = torch.autograd.grad(logits[0, 0], kept[-1])
    assert gradient[:, :, -1].abs().max() > 0
    assert gradient[:, :, :-1].abs().max() == 0  # only the last row of the last layer reaches the head


def test_attention_that_ignores_the_tap_is_told(zoo: Zoo) -> None:
    classifier = zoo("deberta")
    before = traces(classifier)
    with (
        pytest.raises(UnsupportedError, match="DebertaV2ForSequenceClassification cannot be tapped"),
        classifier.model.tapped(_same),
    ):
        classifier.logits(classifier.inputs([classifier.encode(TEXT)]))
    assert traces(classifier) == before


def test_an_exception_passes_and_leaves_nothing_behind(classifier: Classifier) -> None:
    before = traces(classifier)
    with pytest.raises(ZeroDivisionError), classifier.model.tapped(_same):
        raise ZeroDivisionError
    assert traces(classifier) == before


def test_an_exception_inside_the_tap_leaves_nothing_behind(decoder: Classifier) -> None:
    def fail(*_) -> tuple[Tensor, Tensor]:
        raise ZeroDivisionError

    before = traces(decoder)
    inputs = decoder.inputs([decoder.encode(TEXT)])
    with pytest.raises(ZeroDivisionError), decoder.model.tapped(fail):
        decoder.logits(inputs, decoder.embed(inputs.ids))
    assert traces(decoder) == before


def test_taps_can_be_nested(encoder: Classifier) -> None:
    inputs = encoder.inputs([encoder.encode(TEXT)])
    plain, before = encoder.logits(inputs), traces(encoder)
    with encoder.model.tapped(_same):
        with encoder.model.tapped(_uniform):
            inner = encoder.logits(inputs)
        outer = encoder.logits(inputs)
    assert not torch.allclose(inner, plain, atol=1e-3)
    torch.testing.assert_close(outer, plain)
    assert traces(encoder) == before
