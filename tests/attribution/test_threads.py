"""One classifier in many threads: the same numbers bit for bit, a wait that can be cancelled, nothing left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor, nn

from explainlab import explain, methods
from explainlab.errors import Cancelled
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.loading import load_model
from explainlab.models.prompting import save_template
from explainlab.models.reading import read_all
from explainlab.testing.observation import Recorder, unchanged
from tests.attribution.test_contract import cheap, supported
from tests.conftest import Zoo, loaded
from tests.models.prompting.test_prefix import LONG
from tests.tiers import full

TEXTS = ("A funny film.", "It isn't a funny film but a good film and a good plot!")
THREADS = 8
SECONDS = 60
Case = tuple[str, str]


def answer(classifier: Classifier, case: Case) -> dict[str, Any]:
    """All of an attribution but its time."""
    record = explain(classifier, case[1], case[0], **cheap(case[0])).to_json()
    del record["cost"]["seconds"]
    return record


def in_threads(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """Return the results of ``work`` for the numbers below ``count``, each in its own thread; all begin together."""
    start = threading.Barrier(count)

    def run(number: int) -> Any:
        start.wait(SECONDS)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count), timeout=SECONDS))


SINGLE_PASS = ("input_x_gradient", "attention_last", "lrp", "gae", "deep_lift", "random")


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("bert", ()),
        ("gpt2", SINGLE_PASS),
        full("gpt2", (), reason="every method in eight threads takes nine seconds"),
        full("t5", SINGLE_PASS, reason="an encoder and a decoder stand for the others"),
        full("embedded:bert-mini-sst2", SINGLE_PASS, reason="a larger model takes three seconds"),
    ],
)
def test_eight_threads_get_the_numbers_of_one(zoo: Zoo, name: str, chosen: Sequence[str]) -> None:
    """Every method, or those ``chosen``: each thread has a quarter of the answers, in an order of its own."""
    classifier = loaded(name) if ":" in name else zoo(name)
    cases = [(method, text) for method in supported(classifier) for text in TEXTS if not chosen or method in chosen]
    expected = {case: answer(classifier, case) for case in cases}

    def work(number: int) -> list[Case]:
        order = np.random.default_rng(number).permutation(len(cases))[: -(-len(cases) // 4)]
        return [cases[i] for i in order if answer(classifier, cases[i]) != expected[cases[i]]]

    with unchanged(classifier, "a run in threads"):
        assert in_threads(work) == [[]] * THREADS
    assert [case for case in cases[::2] if answer(classifier, case) != expected[case]] == []


def test_prompted_texts_in_threads(speaker: Zoo) -> None:
    """Their shared beginning is read apart."""
    classifier = speaker("gpt2")
    cases = [(method, text) for method in ("occlusion", "input_x_gradient", "rpi", "sp_pi") for text in TEXTS]
    expected = [answer(classifier, case) for case in cases]
    assert in_threads(lambda _: [answer(classifier, case) for case in cases]) == [expected] * THREADS


def test_a_prompt_that_is_being_read_stops_no_other_model(speaker_path: Callable[[str], Path]) -> None:
    """Python 3.11 locks a cached property in all threads while it is computed."""
    save_template(LONG)
    slow, quick = (load_model(f"completion:{LONG.name}:{speaker_path('gpt2')}", device="cpu") for _ in range(2))
    reading, end = threading.Event(), threading.Event()

    def wait(_: nn.Module, __: tuple, named: dict[str, Any]) -> None:
        if named.get("past_key_values") is not None:  # tokens before the text, or after it
            reading.set()
            end.wait(SECONDS)

    hook = slow.model.network.base_model.register_forward_pre_hook(wait, with_kwargs=True)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(explain, slow, TEXTS[0], "kernel_shap", samples=40)
        assert reading.wait(SECONDS)
        try:
            pool.submit(explain, quick, TEXTS[0], "kernel_shap", samples=40).result(SECONDS / 4)
            assert not first.done()
        finally:
            end.set()
            hook.remove()
        first.result(SECONDS)


def test_texts_are_cut_in_some_threads_only(encoder: Classifier) -> None:
    """Truncation changes the tokenizer."""
    whole, short = encoder, replace(encoder, max_tokens=6)
    length = len(whole.encode(TEXTS[1]))

    def lengths(number: int) -> set[tuple[int, int]]:
        chosen = short if number % 2 else whole
        pairs = [(chosen.encode(TEXTS[1]), read_all(chosen, [(TEXTS[1], None)])[0]) for _ in range(100)]
        return {(len(encoding), len(reading)) for encoding, reading in pairs}

    assert in_threads(lengths) == [{(length, length)}, {(6, 6)}] * (THREADS // 2)


class Stoppable:
    """A run that ``stop`` cancels; ``waits`` is set once it has asked three times."""

    def __init__(self) -> None:
        self.context = RunContext(check_cancelled=self._check)
        self.stop, self.waits = threading.Event(), threading.Event()
        self._asked = 0

    def _check(self) -> None:
        self._asked += 1
        if self._asked == 3:
            self.waits.set()
        if self.stop.is_set():
            raise Cancelled


@pytest.mark.parametrize("method", ["integrated_gradients", "lrp", "rpi", "kernel_shap", "random"])
def test_a_call_that_waits_can_be_cancelled(encoder: Classifier, method: str) -> None:
    expected, hasty, patient = answer(encoder, (method, TEXTS[0])), Stoppable(), Stoppable()
    with ThreadPoolExecutor(2) as pool:
        with encoder.lock:
            waiting = pool.submit(explain, encoder, TEXTS[0], method, context=hasty.context, **cheap(method))
            other = pool.submit(explain, encoder, TEXTS[0], method, context=patient.context, **cheap(method))
            assert hasty.waits.wait(SECONDS)
            assert patient.waits.wait(SECONDS)
            hasty.stop.set()
            assert isinstance(waiting.exception(SECONDS), Cancelled)
            assert not other.done()
        assert other.result(SECONDS).to_json()["features"] == expected["features"]


def test_every_call_reports_its_own_progress(encoder: Classifier) -> None:
    recorders = [Recorder() for _ in range(THREADS)]
    steps = [9 + number for number in range(THREADS)]

    def work(number: int) -> None:
        options: dict[str, Any] = {"rule": "midpoint", "steps": steps[number], "context": recorders[number].context}
        explain(encoder, TEXTS[0], "integrated_gradients", **options)

    in_threads(work)
    for recorder, count in zip(recorders, steps, strict=True):
        done, total = zip(*[(done, total) for done, total, phase in recorder.seen if total == count], strict=True)
        assert (done[-1], total[-1]) == (count, count)
        assert list(done) == sorted(done)


@contextmanager
def broken(classifier: Classifier, backward: bool) -> Iterator[None]:
    """Every pass fails at the end of the model's body, or on the way back from there."""

    def fail(*_: object) -> None:
        raise RuntimeError("broken here")

    def after(_: nn.Module, __: object, output: Any) -> None:
        state: Tensor = output[0]
        if state.requires_grad:
            state.register_hook(fail)

    hook = classifier.model.body.register_forward_hook(after if backward else fail)
    try:
        yield
    finally:
        hook.remove()


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("name", ["bert", full("gpt2", reason="every method fails in six seconds")])
def test_a_pass_that_fails_leaves_nothing_behind(zoo: Zoo, name: str, backward: bool) -> None:
    classifier = zoo(name)
    for method in supported(classifier):
        if backward and "gradients" not in methods()[method].needs:
            continue
        before = answer(classifier, (method, TEXTS[0]))
        failing = unchanged(classifier, f"a failed pass of {method}"), pytest.raises(RuntimeError, match="broken here")
        with failing[0], failing[1], broken(classifier, backward):
            explain(classifier, TEXTS[0], method, **cheap(method))
        assert answer(classifier, (method, TEXTS[0])) == before
