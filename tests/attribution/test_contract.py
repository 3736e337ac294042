"""What every method keeps on every architecture: the shape of its answer, its promises, its costs, and clean hands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from explainlab import Attribution, explain, methods
from explainlab.attribution.explain import attribute
from explainlab.attribution.registry import complete, get_method
from explainlab.errors import Cancelled, ResourceError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import Request
from explainlab.settings import settings
from tests.conftest import Zoo, traces

TEXT = "A funny film. It isn't good!"
UNITS = {
    "word": ["A", "funny", "film", ".", "It", "isn't", "good", "!"],
    "sentence": ["A funny film.", "It isn't good!"],
}
CHEAP = {"samples": 6, "steps": 6, "max_steps": 9, "neighbours": 20, "passes": 6}
"""Settings under which every method is quick; a method takes those that it has."""

every_method = pytest.mark.parametrize("method", methods())


def _cheap(method: str, **chosen: Any) -> dict[str, Any]:
    fields = get_method(method).Parameters.model_fields
    return {**{name: value for name, value in CHEAP.items() if name in fields}, **chosen}


def _run(classifier: Classifier, method: str, text: str = TEXT, **options: Any) -> Attribution:
    """The cheap attribution; the test is over where the method rightly refuses the model."""
    _supported(classifier, method)
    return explain(classifier, text, method, **{**_cheap(method), **options})


def _supported(classifier: Classifier, method: str) -> None:
    if get_method(method).obstacle(classifier.architecture):
        pytest.skip("refused, see test_refusals_name_what_is_missing")


_first = cache(_run)
"""The plain run, made once for all tests that only look at it."""


def _close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(np.abs(expected).max(), 1e-12))


class Watch:
    """Counts the rows that really pass the model, forwards and backwards, and its calls."""

    def __init__(self) -> None:
        self.forward = self.backward = self.calls = self.widest = 0


@contextmanager
def _watched(classifier: Classifier, limit: int = 10**9) -> Iterator[Watch]:
    """Count the passes of ``classifier``; more than ``limit`` rows at once do not fit into the memory."""
    watch = Watch()

    def before(_: torch.nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        rows = len(args[0] if args else kwargs["input_ids"])
        if rows > limit:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB.")
        watch.calls += 1
        watch.forward += rows
        watch.widest = max(watch.widest, rows)

    def after(_: torch.nn.Module, __: tuple, output: Any) -> None:
        if output.last_hidden_state.requires_grad:
            output.last_hidden_state.register_hook(count)

    def count(gradient: torch.Tensor) -> None:
        watch.backward += len(gradient)

    hooks = [
        classifier.model.base_model.register_forward_pre_hook(before, with_kwargs=True),
        classifier.model.base_model.register_forward_hook(after),
    ]
    try:
        yield watch
    finally:
        for hook in hooks:
            hook.remove()


# Every method on every architecture ----------------------------------------------------------------------------------


@every_method
def test_refusals_name_what_is_missing(classifier: Classifier, method: str) -> None:
    capabilities = classifier.architecture.capabilities
    missing = [capabilities[need] for need in get_method(method).needs if capabilities[need]]
    if missing:
        with pytest.raises(UnsupportedError) as caught:
            explain(classifier, TEXT, method)
        assert all(reason in str(caught.value) for reason in missing)
        assert classifier.architecture.family in str(caught.value)
    else:
        assert not get_method(method).obstacle(classifier.architecture)


@every_method
def test_the_answer_has_its_shape(classifier: Classifier, method: str) -> None:
    result = _first(classifier, method)
    encoding = classifier.encode(TEXT)
    assert result.scores.shape == (len(encoding),) == (len(result.features),)
    assert result.scores.dtype == np.float64
    assert np.isfinite(result.scores).all()
    assert np.abs(result.scores).max() > 0
    assert result.signed or result.scores.min() >= 0
    assert [feature.special for feature in result.features] == encoding.special.tolist()
    assert [feature.pieces for feature in result.features] == [(piece,) for piece in encoding.pieces]
    assert result.prediction.probabilities == pytest.approx(classifier.predict(encoding).probabilities, abs=1e-6)
    assert result.target.label == result.prediction.label
    assert result.errors is None or result.errors.shape == result.scores.shape
    assert not result.truncated


@every_method
def test_the_sum_is_the_sum(classifier: Classifier, method: str) -> None:
    result = _first(classifier, method)
    if result.completeness:
        assert result.completeness.sum == pytest.approx(result.scores.sum(), abs=1e-12)
        assert np.isfinite(result.completeness.expected)


@every_method
def test_json_comes_back_equal(classifier: Classifier, method: str) -> None:
    result = _first(classifier, method)
    body = json.loads(json.dumps(result.to_json(), allow_nan=False))
    back = Attribution.from_json(body)
    assert json.loads(json.dumps(back.to_json())) == body
    assert np.array_equal(back.scores, result.scores)
    assert (back.request, back.features, back.target) == (result.request, result.features, result.target)
    assert (back.completeness, back.cost, back.prediction) == (result.completeness, result.cost, result.prediction)


@every_method
def test_a_second_run_is_equal_and_leaves_nothing_behind(classifier: Classifier, method: str) -> None:
    first, before = _first(classifier, method), traces(classifier)
    again = _run(classifier, method)
    assert traces(classifier) == before
    assert np.array_equal(again.scores, first.scores)


@every_method
def test_costs_are_the_passes_made(classifier: Classifier, method: str) -> None:
    with _watched(classifier) as watch:
        cost = _run(classifier, method).cost
    assert (cost.forward, cost.backward) == (watch.forward, watch.backward)
    assert cost.forward >= 1
    assert cost.seconds > 0


@every_method
def test_padding_changes_no_score(classifier: Classifier, method: str) -> None:
    """By a fixed rule: the point α = 1/4, which the adaptive one takes, lies on a kink of the tiny T5's ReLU."""
    _supported(classifier, method)
    fixed = {"rule": "gauss_legendre"} if {"rule", "steps"} <= get_method(method).Parameters.model_fields.keys() else {}
    _close(_padded(classifier, method, _cheap(method, **fixed)), _run(classifier, method, **fixed).scores)


def _padded(classifier: Classifier, method: str, parameters: dict[str, Any]) -> np.ndarray:
    """Scores of the text in an encoding that is longer than it."""
    encoding = classifier.encode(TEXT)
    output = get_method(method).default_output(parameters)
    request = Request(model=classifier.id, text=TEXT, method=method, parameters=parameters, output=output)
    longer = encoding.padded(len(encoding) + 3, classifier.pad_id)
    return attribute(classifier, longer, get_method(method), complete(request)).scores


@every_method
def test_a_pair(classifier: Classifier, method: str) -> None:
    result = _run(classifier, method, "a funny film", text_pair="the plot")
    assert {feature.part for feature in result.features if not feature.special} == {0, 1}
    assert np.isfinite(result.scores).all()


@every_method
def test_a_text_of_one_token(classifier: Classifier, method: str) -> None:
    result = _run(classifier, method, "a")
    assert [feature.text for feature in result.features if not feature.special] == ["a"]
    assert np.isfinite(result.scores).all()


@every_method
@pytest.mark.parametrize("unit", ["word", "sentence"])
def test_units(classifier: Classifier, method: str, unit: str) -> None:
    """Of many maps the best by words may be another than the best by tokens, so there is one."""
    single = {"samples": 1} if "select_by" in get_method(method).Parameters.model_fields else {}
    result, tokens = _run(classifier, method, unit=unit, **single), _run(classifier, method, **single)
    found = [feature.text for feature in result.features if not feature.special]
    assert found == UNITS[unit]
    assert result.scores.shape == (len(result.features),)
    if get_method(method).family in ("Gradients", "Paths", "Attention"):
        assert result.scores.sum() == pytest.approx(tokens.scores.sum(), rel=1e-9, abs=1e-12)


# Every method on an encoder and a decoder ----------------------------------------------------------------------------


@pytest.fixture(params=["bert", "gpt2"])
def either(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    return zoo(request.param)


def _variants() -> list[tuple[str, dict[str, Any]]]:
    """Every other choice of every parameter, one at a time."""
    found = []
    for method in methods().values():
        for spec in method.parameter_specs():
            values = (True, False) if spec.kind == "flag" else spec.choices
            found += [(method.id, {spec.name: value}) for value in values if value not in (spec.default, "max_entropy")]
        if "baseline_data" in method.Parameters.model_fields:
            found.append((method.id, {"baseline": "max_entropy", "baseline_data": "embedded:sentiment"}))
    return [*found, ("gradient_shap", {"noise": 0.1})]


@pytest.mark.parametrize(("method", "chosen"), _variants())
def test_every_choice(zoo: Zoo, method: str, chosen: dict[str, Any]) -> None:
    classifier = zoo("bert")
    before = traces(classifier)
    result = _run(classifier, method, **chosen)
    assert traces(classifier) == before
    assert result.request.parameters.items() >= chosen.items()
    assert np.isfinite(result.scores).all()
    assert result.signed or result.scores.min() >= 0
    _close(_padded(classifier, method, _cheap(method, **chosen)), result.scores)


@every_method
def test_the_target_and_the_output_can_be_chosen(either: Classifier, method: str) -> None:
    for label in either.labels:
        result = _run(either, method, target=label, output="logit")
        assert (result.target.label, result.request.output) == (label, "logit")
        assert result.prediction == _first(either, method).prediction


@every_method
def test_a_missing_filler_is_refused(decoder: Classifier, method: str) -> None:
    if "baseline" not in get_method(method).Parameters.model_fields:
        pytest.skip("has no baseline")
    with pytest.raises(UnsupportedError, match="has no pad token"):
        _run(decoder, method, baseline="pad")


@every_method
def test_special_tokens_typed_into_the_text_are_explained(encoder: Classifier, method: str) -> None:
    result = _run(encoder, method, "a [SEP] film 😀")
    assert [feature.special for feature in result.features] == [True, False, False, False, False, True]


@every_method
def test_a_truncated_text_is_told(either: Classifier, method: str) -> None:
    result = _run(either, method, "film " * 60)
    assert result.truncated
    assert result.cut == len(either.tokenizer("film " * 60)["input_ids"]) - 48
    assert any(f"the last {result.cut} of the text were cut" in warning for warning in result.warnings)


class CancelledSoon(RunContext):
    """Cancels at its second check."""

    def __init__(self) -> None:
        self.checks = 0

    def check_cancelled(self) -> None:
        self.checks += 1
        if self.checks == 2:
            raise Cancelled


@every_method
def test_cancelling_stops_within_one_batch(either: Classifier, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _supported(either, method)
    before, context = traces(either), CancelledSoon()
    monkeypatch.setenv("EXPLAINLAB_BATCH_TOKENS", str(2 * len(either.encode(TEXT))))
    settings.cache_clear()
    try:
        with _watched(either) as watch:
            explain(either, TEXT, method, context=context, **_cheap(method))
    except Cancelled:
        assert context.checks == 2
    finally:
        monkeypatch.undo()
        settings.cache_clear()
    assert watch.calls <= 1 or context.checks == 1
    assert watch.widest <= 2
    assert traces(either) == before


@every_method
def test_progress_counts_up_to_its_total(either: Classifier, method: str) -> None:
    seen: list[tuple[int, int, str]] = []

    class Recorder(RunContext):
        def report(self, done: int, total: int, phase: str) -> None:
            seen.append((done, total, phase))

    _run(either, method, context=Recorder())
    assert seen[-1][0] == seen[-1][1]
    assert all(0 < done <= total and phase for done, total, phase in seen)


@every_method
def test_memory_running_out_halves_the_batches(either: Classifier, method: str) -> None:
    with _watched(either) as watch:
        expected = _run(either, method)
    with _watched(either, limit=2):
        result = _run(either, method)
    _close(result.scores, expected.scores)
    assert (result.cost.forward, result.cost.backward) == (expected.cost.forward, expected.cost.backward)
    assert any("Memory ran out" in warning for warning in result.warnings) == (watch.widest > 2)


@every_method
def test_memory_too_small_for_one_text_is_told(either: Classifier, method: str) -> None:
    _supported(either, method)
    before = traces(either)
    with pytest.raises(ResourceError, match=r"One text of \d+ tokens does not fit"), _watched(either, limit=0):
        _run(either, method)
    assert traces(either) == before
