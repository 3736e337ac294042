"""Programs that call us in other modes of torch get the same numbers, and their modes back."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch._C import _autograd
from torch.autograd import graph
from torch.utils.checkpoint import checkpoint

from explainlab import explain, load_model, study
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier
from explainlab.models.context import MemoryCache, RunContext
from explainlab.models.modes import BUILDING, own_modes, rounding
from explainlab.models.reading_warnings import model_warnings
from tests.conftest import ONE_OF_EACH, Zoo

TEXT = "a funny film, isn't it?"
METHODS = ("integrated_gradients", "occlusion", "attention_average", "lrp", "rpi_g")
"""One for each kind of pass: gradients, forward, attention, rules, replayed layers."""
Mode = Callable[[], AbstractContextManager[Any]]


@contextmanager
def by_default(dtype: torch.dtype) -> Iterator[None]:
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def on_by_default(device: str) -> Iterator[None]:
    torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextmanager
def rounded_to(precision: str) -> Iterator[None]:
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


def forgotten(tensor: torch.Tensor) -> torch.Tensor:
    raise AssertionError("a hook of the program saw a tensor of ours")


MODES: dict[str, Mode] = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "autocast to float16": lambda: torch.autocast("cpu", dtype=torch.float16),
    "float64 by default": lambda: by_default(torch.float64),
    "bfloat16 by default": lambda: by_default(torch.bfloat16),
    "meta by default": lambda: on_by_default("meta"),
    "inside a device": lambda: torch.device("meta"),
    "hooks for saved tensors": lambda: graph.saved_tensors_hooks(forgotten, forgotten),
    "saved on the CPU": graph.save_on_cpu,
    "saved and changed": graph.allow_mutation_on_saved_tensors,
    "without hooks for saved tensors": lambda: graph.disable_saved_tensors_hooks("forbidden"),
}


def modes() -> list[Any]:
    """All that a program can have changed."""
    now = [torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")]
    hooks = [_autograd._saved_tensors_hooks_get_disabled_error_message(), *saved_tensors_hooks()]
    return [*now, torch.get_autocast_dtype("cpu"), torch.get_default_dtype(), torch.get_default_device(), *hooks]


def saved_tensors_hooks() -> list[Any]:
    """Return the pairs of hooks that the program has set, the innermost first."""
    pair = _autograd._top_saved_tensors_default_hooks(True)
    if not pair:
        return []
    _autograd._pop_saved_tensors_default_hooks()
    try:
        return [pair, *saved_tensors_hooks()]
    finally:
        _autograd._push_saved_tensors_default_hooks(*pair)


def scores(classifier: Classifier) -> list[np.ndarray]:
    able = [name for name in METHODS if name != "rpi_g" or classifier.architecture.pooling == "first"]
    return [explain(classifier, TEXT, name, **({"samples": 2, "steps": 2} if name == "rpi_g" else {})).scores
            for name in able]  # fmt: skip


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_program_in_any_mode_gets_the_same_model_and_scores(name: str, mode: Mode, zoo: Zoo) -> None:
    classifier = zoo(name)
    expected = scores(classifier)
    with mode():
        before = modes()
        loaded = load_model(classifier.id, device="cpu")
        inside = [scores(classifier), scores(loaded)]
        predicted = classifier.predict(classifier.encode(TEXT))
        with pytest.raises(RequestError):
            explain(classifier, TEXT, "nonsense")
        assert modes() == before
    for found in (*inside, scores(loaded)):
        assert all(np.array_equal(own, other) for own, other in zip(found, expected, strict=True))
    assert predicted == classifier.predict(classifier.encode(TEXT))
    assert all(own.dtype == torch.float32 and not own.is_inference() for own in loaded.model.network.parameters())


def test_a_pass_records_gradients_where_its_caller_does(zoo: Zoo) -> None:
    classifier = zoo("bert")
    inputs = classifier.inputs([classifier.encode(TEXT)])
    with torch.inference_mode():
        embeddings = classifier.embed(inputs.ids)
    embeddings.requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = classifier.logits(inputs, embeddings)
    assert logits.requires_grad
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            inside = classifier.logits(inputs, embeddings)
        assert not inside.requires_grad
        assert torch.equal(inside, logits)


@pytest.mark.parametrize("hooks", [[], [(torch.clone, torch.clone)], [(abs, abs), (torch.neg, torch.neg)]], ids=len)
def test_hooks_for_saved_tensors_are_set_aside_in_our_modes_and_stand_in_their_order_again(hooks: list[Any]) -> None:
    with ExitStack() as program:
        for pair in hooks:
            program.enter_context(graph.saved_tensors_hooks(*pair))
        with own_modes(), own_modes(gradients=False):
            assert saved_tensors_hooks() == []
        with pytest.raises(ZeroDivisionError), own_modes():
            raise ZeroDivisionError
        assert saved_tensors_hooks() == hooks[::-1]
    with graph.disable_saved_tensors_hooks("forbidden"):
        with own_modes(), graph.saved_tensors_hooks(torch.clone, torch.clone):
            assert len(saved_tensors_hooks()) == 1
        assert _autograd._saved_tensors_hooks_get_disabled_error_message() == "forbidden"


def test_a_network_may_recompute_its_layers_inside_our_modes_and_a_program_may_forbid_hooks(zoo: Zoo) -> None:
    """Checkpointing keeps its own hooks within a pass; they are not the program's."""
    classifier = zoo("bert")
    embeddings = classifier.embed(classifier.inputs([classifier.encode(TEXT)]).ids).requires_grad_()
    with graph.disable_saved_tensors_hooks("forbidden"), own_modes():
        plain = embeddings.tanh().sum()
        again = checkpoint(lambda x: x.tanh().sum(), embeddings, use_reentrant=False)
        assert torch.equal(*(torch.autograd.grad(own, embeddings)[0] for own in (plain, again)))


def test_a_study_that_was_stopped_inside_autocast_goes_on_with_the_same_numbers(zoo: Zoo) -> None:
    asked: dict[str, Any] = {"data": "embedded:sentiment", "rows": 3, "methods": ["occlusion"], "sample": "first"}
    expected, context = study(zoo("bert"), "activation", **asked), RunContext()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        study(zoo("bert"), "activation", **{**asked, "rows": 2}, context=context)
    assert isinstance(context.results, MemoryCache)
    assert context.results.bodies
    mixed = study(zoo("bert"), "activation", **asked, context=context)
    for own, other in zip(mixed.body.texts, expected.body.texts, strict=True):
        assert own.auc["occlusion"] == pytest.approx(other.auc["occlusion"], abs=1e-6)


def test_another_thread_that_reads_a_network_keeps_the_default_that_it_has_set() -> None:
    """The default is the whole process's: put back in the wrong order it would stay changed."""
    entered, seen = threading.Event(), []

    def passes() -> None:
        entered.set()
        with own_modes():
            seen.append(torch.get_default_dtype())

    with BUILDING, by_default(torch.bfloat16):
        other = threading.Thread(target=passes)
        other.start()
        assert entered.wait(10)
        other.join(0.2)
        assert not seen
        assert torch.get_default_dtype() == torch.bfloat16
    other.join(10)
    assert (seen, torch.get_default_dtype()) == ([torch.float32], torch.float32)


# Rounded products ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("precision", "told"), [("highest", ""), ("high", "tf32"), ("medium", "bf16")])
def test_rounded_products_are_told_and_recorded(precision: str, told: str, zoo: Zoo) -> None:
    classifier = zoo("bert")
    half = load_model(classifier.id, device="cpu", dtype="bfloat16")
    with rounded_to(precision):
        result, other = explain(classifier, TEXT, "occlusion"), explain(half, TEXT, "occlusion")
        ranked = study(classifier, "activation", data="embedded:sentiment", rows=2, methods=["occlusion"])
        assert rounding(torch.device("cuda")) == ("tf32" if told else "")
    for own in (result, ranked):
        assert own.versions.get("matmul", "") == told
        assert sum("set_float32_matmul_precision" in line and told in line for line in own.warnings) == bool(told)
        assert not any("warnings of their own" in line for line in own.warnings)
    assert "matmul" not in other.versions
    assert not any("set_float32" in line for line in other.warnings)


def test_what_was_kept_of_rounded_products_is_kept_apart(zoo: Zoo) -> None:
    memory, asked = MemoryCache(), {"data": "embedded:sentiment", "rows": 2, "methods": ["occlusion"]}
    context = RunContext(cache=memory, results=memory)
    with rounded_to("medium"):
        first = study(zoo("bert"), "activation", **asked, context=context)
        rounded = set(memory.bodies)
        again = study(zoo("bert"), "activation", **asked, context=context)
        assert set(memory.bodies) == rounded, "the same is found again"
    exact = study(zoo("bert"), "activation", **asked, context=context)
    assert len(set(memory.bodies) - rounded) == len(rounded)
    assert first.body.texts == again.body.texts
    assert not model_warnings(zoo("bert"))
    assert not any("matmul" in line for line in exact.warnings)


# Copies --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ONE_OF_EACH, "bilstm", "t5"])
def test_a_classifier_can_be_copied_and_pickled(name: str, zoo: Zoo) -> None:
    classifier = zoo(name)
    predicted, gradients = classifier.predict(classifier.encode(TEXT)), explain(classifier, TEXT, "gradient").scores
    shallow, deep = copy.copy(classifier), copy.deepcopy(classifier)
    assert (shallow.model, shallow.lock) == (classifier.model, classifier.lock)
    assert deep.model.network is not classifier.model.network
    for made in (shallow, deep, pickle.loads(pickle.dumps(classifier))):
        assert made.predict(made.encode(TEXT)).probabilities == pytest.approx(predicted.probabilities)
        np.testing.assert_allclose(explain(made, TEXT, "gradient").scores, gradients, rtol=1e-4, atol=1e-7)
        assert (made.id, made.digest, made.labels) == (classifier.id, classifier.digest, classifier.labels)


@pytest.mark.parametrize("name", ["bert", "gpt2", "deberta"])
def test_a_network_that_has_recorded_its_states_can_be_copied_and_pickled(name: str, zoo: Zoo) -> None:
    """transformers keeps the hooks that record hidden states in the network; they cannot be pickled."""
    classifier = copy.deepcopy(zoo(name))
    asked = {"input_ids": torch.tensor([[1, 2]]), "output_hidden_states": True, "output_attentions": True}
    recorded = classifier.model.network(**asked)
    for made in (copy.deepcopy(classifier), pickle.loads(pickle.dumps(classifier))):
        assert made.predict(made.encode(TEXT)).probabilities == classifier.predict(made.encode(TEXT)).probabilities
        again = made.model.network(**asked)
        assert len(again.hidden_states) == len(recorded.hidden_states)
        torch.testing.assert_close(again.hidden_states[-1], recorded.hidden_states[-1])
    torch.testing.assert_close(classifier.model.network(**asked).logits, recorded.logits)
