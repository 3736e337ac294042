"""Replay: equal to the full model with one layer's attention replaced, on every architecture and layer; clean hands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.replay import Replay
from explainlab.testing import exact, traces
from explainlab.text.encoding import Encoding
from tests.conftest import Zoo
from tests.tiers import first
from tests.zoo import RECURRENT, ZOO

TEXT = "a funny film, isn't it?"
REPLAYED = [name for name in ZOO if name not in ("deberta", "t5", *RECURRENT)]


@pytest.fixture(params=REPLAYED)
def model(request: pytest.FixtureRequest, zoo: Zoo) -> Iterator[Classifier]:
    """Each tiny model whose attention can be replaced, in float64."""
    with exact(zoo(request.param)) as twin:
        yield twin


@pytest.fixture
def replay(model: Classifier) -> Replay:
    return Replay(model, model.encode(TEXT))


def drawn(replay: Replay, layer: int, size: int) -> Tensor:
    """[size, heads, N, N] that are no probabilities: negative, large, and not zero where the model masks."""
    generator = torch.Generator().manual_seed(layer)
    attention = replay.attention(layer)
    return attention + 0.3 * torch.randn(size, *attention.shape, generator=generator)


def full(classifier: Classifier, encoding: Encoding, layer: int, probabilities: Tensor) -> Tensor:
    """The logits of whole passes, one a text, with the probabilities of one layer replaced."""
    rows = []
    for single in probabilities:
        with classifier.model.tapped(partial(_replace, layer - 1, single)):
            rows.append(classifier.logits(classifier.inputs([encoding]))[0])
    return torch.stack(rows)


def _replace(
    replaced: int, probabilities: Tensor, call: int, _: nn.Module, own: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    return (probabilities[None] if call == replaced else own), values


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance * expected.abs().max().item())


@pytest.mark.parametrize("name", first(["bert", "gpt2"], REPLAYED, "six cases for each model"))
@pytest.mark.parametrize("layer", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 3])
def test_logits_and_gradients_equal_those_of_whole_passes(zoo: Zoo, name: str, layer: int, size: int) -> None:
    with exact(zoo(name)) as model:
        compare_with_whole_passes(model, layer, size)


def test_every_model_replays_a_layer_in_the_middle(model: Classifier) -> None:
    compare_with_whole_passes(model, layer=2, size=2)


def compare_with_whole_passes(model: Classifier, layer: int, size: int) -> None:
    """Compare the logits of a replay, and their gradients, with whole passes under the same attention."""
    replay = Replay(model, model.encode(TEXT))
    here, there = (drawn(replay, layer, size).requires_grad_() for _ in range(2))
    found = replay.logits(layer, here)
    expected = full(model, model.encode(TEXT), layer, there)
    close(found, expected)
    mixed = torch.linspace(-1, 1, expected.shape[1], dtype=expected.dtype)
    close(*(torch.autograd.grad((logits @ mixed).sum(), at)[0] for logits, at in ((found, here), (expected, there))))


def test_its_own_probabilities_reproduce_the_logits(model: Classifier, replay: Replay) -> None:
    plain = model.logits(model.inputs([model.encode(TEXT)]))
    close(replay.original[None], plain)
    for layer in range(1, replay.depth + 1):
        close(replay.logits(layer, replay.attention(layer)[None]), plain)


def test_it_holds_what_the_tap_reads(model: Classifier, replay: Replay) -> None:
    maps, _ = model.attention_maps(model.inputs([model.encode(TEXT)]))
    assert replay.depth == len(maps) == model.model.depth == 3
    for layer, expected in enumerate(maps, start=1):
        assert torch.equal(replay.attention(layer), expected[0])


def test_the_rows_that_reach_the_head_are_enough(model: Classifier, replay: Replay) -> None:
    n = len(model.encode(TEXT))
    rows = replay.rows(3)
    assert range(n)[rows] == {"first": range(1), "last": range(n - 1, n), "mean": range(n)}[model.architecture.pooling]
    assert range(n)[replay.rows(2)] == range(n)
    every = drawn(replay, 3, 2)
    assert torch.equal(replay.logits(3, every[:, :, rows]), replay.logits(3, every))


def test_padding_is_left_out(model: Classifier, replay: Replay) -> None:
    encoding = model.encode(TEXT)
    padded = Replay(model, encoding.padded(len(encoding) + 3, model.pad_id))
    for layer in range(1, replay.depth + 1):
        probabilities = drawn(replay, layer, 2)
        close(padded.logits(layer, probabilities), replay.logits(layer, probabilities))


def test_a_text_of_one_token(model: Classifier) -> None:
    encoding = model.encode("a")
    replay = Replay(model, encoding)
    for layer in range(1, replay.depth + 1):
        probabilities = drawn(replay, layer, 2)
        close(replay.logits(layer, probabilities), full(model, encoding, layer, probabilities))


def test_a_pair(zoo: Zoo) -> None:
    for name in ("bert", "electra", "modernbert-mean"):
        with exact(zoo(name)) as twin:
            encoding = twin.encode("a funny film", "the plot is thin")
            replay = Replay(twin, encoding)
            for layer in (1, 3):
                probabilities = drawn(replay, layer, 2)
                close(replay.logits(layer, probabilities), full(twin, encoding, layer, probabilities))


# Passes, and traces of them -------------------------------------------------------------------------------------------


class Ran:
    """Counts the tokens that pass the first linear part of every layer."""

    def __init__(self, classifier: Classifier, part: str) -> None:
        self.tokens: list[int] = []
        modules = [module for name, module in classifier.model.network.named_modules() if name.endswith(part)]
        self._hooks = [module.register_forward_hook(self._count) for module in modules]

    def _count(self, _: nn.Module, __: tuple, output: Tensor) -> None:
        self.tokens.append(output.shape[:2].numel())

    def __enter__(self) -> list[int]:
        return self.tokens

    def __exit__(self, *_) -> None:
        for hook in self._hooks:
            hook.remove()


@pytest.mark.parametrize(
    ("name", "part"), [("bert", "intermediate.dense"), ("gpt2", "mlp.c_fc"), ("modernbert-mean", "mlp.Wi")]
)
def test_only_what_changes_is_run(zoo: Zoo, name: str, part: str) -> None:
    """Feed-forward parts: none below the layer, all tokens in between, in the last layer what the head reads."""
    classifier = zoo(name)
    encoding = classifier.encode("the plot is thin and the film")
    replay, n = Replay(classifier, encoding), len(encoding)
    last = n if classifier.architecture.pooling == "mean" else 1
    for layer, expected in ((1, [2 * n, 2 * n, 2 * last]), (2, [2 * n, 2 * last]), (3, [2 * last])):
        with Ran(classifier, part) as tokens:
            replay.logits(layer, drawn(replay, layer, 2))
        assert tokens == expected


def test_nothing_stays_behind(model: Classifier) -> None:
    before = traces(model)
    replay = Replay(model, model.encode(TEXT))
    for layer in range(1, replay.depth + 1):
        probabilities = drawn(replay, layer, 2).requires_grad_()
        (gradient,) = torch.autograd.grad(replay.logits(layer, probabilities).sum(), probabilities)
        assert torch.isfinite(gradient).all()
        assert traces(model) == before


def test_an_error_leaves_nothing_behind(model: Classifier, replay: Replay) -> None:
    before = traces(model)
    for layer in range(1, replay.depth + 1):
        with pytest.raises(RuntimeError):
            replay.logits(layer, torch.zeros(2, 3, 5, 7))
        assert traces(model) == before
        attention = replay.attention(layer)[None]
        close(replay.logits(layer, attention), replay.original[None])


def test_an_error_in_the_recorded_pass_leaves_nothing_behind(model: Classifier) -> None:
    def fail(*_) -> None:
        raise ZeroDivisionError

    modules = [module for module in model.model.network.modules() if isinstance(module, nn.ModuleList)]
    hook = list(modules[-1])[-1].register_forward_hook(fail)
    before = traces(model)
    try:
        with pytest.raises(ZeroDivisionError):
            Replay(model, model.encode(TEXT))
        assert traces(model) == before
    finally:
        hook.remove()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("deberta", "A DeBERTa-v2 model cannot be replayed: .* not replaced"),
        ("t5", "A T5 model cannot be replayed: .* not replaced"),
    ],
)
def test_what_cannot_be_replaced_is_refused(zoo: Zoo, name: str, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        Replay(zoo(name), zoo(name).encode(TEXT))
