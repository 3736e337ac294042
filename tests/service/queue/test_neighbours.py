"""The promise to neighbours: beside any dear request, a text is answered before that has gone on by three batches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explainlab.analyses.registry import new_request
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.dispatcher import Dispatcher
from explainlab.service.engine import Ended, Help, Work
from explainlab.service.jobs import JobContext
from explainlab.service.resolved import ResolvedRequest, resolve
from explainlab.service.scheduler import FIRST_TURNS
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.workers.local import here
from tests.analyses.roar.grids import BASE, SETTINGS, written
from tests.service.conftest import SOON
from tests.service.queue.test_turns import ANN, BOB, MODEL
from tests.training.test_train import sentences

SENTENCE = "a stirring, funny and finally moving film about two sisters who hardly talk to each other"
SHORT = Request(model=MODEL, text=SENTENCE, question="occlusion")
LONG = " ".join([SENTENCE] * 6)
ALLOWED = 2


def _of_text(question: str, **parameters: Any) -> Callable[[Path], Request]:
    return lambda _: new_request(model=MODEL, text=LONG, question=question, parameters=parameters)


def _training(folder: Path) -> Request:
    """Return a training whose steps have many parts: more than a thousand texts of 128 tokens."""
    many = sentences(1_200)
    many.texts[:] = [" ".join([text] * 30) for text in many.texts]
    settings = {"batch_size": 1_200, "epochs": 20, "max_tokens": 128, "vocabulary": 300}
    parameters = {"validation_share": 0.0, "settings": settings}
    data = written(folder / "many.csv", many)
    return new_request(model="bert", data=data, question="training", parameters=parameters)


def _grid(folder: Path) -> Request:
    files = {name: written(folder / f"{name}.csv", sentences(200, i)) for i, name in enumerate(("validation", "test"))}
    parameters = {"measures": "gradient", "ratios": [0, 50, 100], "seeds": 1, "settings": {**SETTINGS, "epochs": 50}}
    data = written(folder / "train.csv", sentences(400, 2))
    return new_request(model=BASE, data=data, question="roar", parameters=parameters | files)


DEAR: dict[str, Callable[[Path], Request]] = {
    "training": _training,
    "discretized integrated gradients": _of_text("discretized_integrated_gradients", steps=1_000),
    "KernelSHAP": _of_text("kernel_shap", samples="40000"),
    "randomized path-integration": _of_text("rpi", samples=2_000),
    "attack": _of_text("attack", steps=10_000),
    "substitution": _of_text("substitution", neighbours=1_000, budget=100),
    "grid": _grid,
}


class Counted:
    """A service in this process that counts the batches of a dear job, and those it had when a text was answered."""

    def __init__(self) -> None:
        self.batches = 0
        self.batches_at_answer: int | None = None
        self._moved = threading.Condition()
        self.service = Service(Store("sqlite://"), workers=[here("cpu")], engine=self._engine)

    def _engine(self, answer: Work, ended: Ended, help: Help, places: int, prefer: Any) -> Dispatcher:
        def counting(resolved: ResolvedRequest, context: JobContext) -> Result:
            if resolved.request.text == SENTENCE:
                result = answer(resolved, context)
                self.batches_at_answer = self.batches
                return result
            check = context.run.check_cancelled

            def counted() -> None:
                with self._moved:
                    self.batches += 1
                    self._moved.notify_all()
                check()

            context.run = replace(context.run, check_cancelled=counted)
            return answer(resolved, context)

        return Dispatcher(counting, ended, help, places, prefer)

    def await_batches(self, count: int) -> bool:
        """Wait until the dear job has had ``count`` batches."""
        with self._moved:
            return self._moved.wait_for(lambda: self.batches >= count, SOON)


@pytest.mark.full("a minute in all: it begins what takes minutes")
@pytest.mark.parametrize("name", DEAR)
def test_a_text_is_answered_before_a_dear_request_goes_on_by_three_batches(name: str, tmp_path: Path) -> None:
    counted = Counted()
    with counted.service as service:
        warm = service.submit(resolve(SHORT.model_copy(update={"text": "a film"}), BOB))
        assert service.engine.wait(warm, SOON)
        counted.batches = 0
        dear = service.submit(resolve(DEAR[name](tmp_path), ANN))
        assert counted.await_batches(FIRST_TURNS), dear.progress
        with service.engine.together():
            before = counted.batches
            short = service.submit(resolve(SHORT, BOB))
        assert service.engine.wait(short, SOON)
        assert short.progress.status == "done"
        assert not dear.progress.finished, "it was dear"
        service.cancel(dear.key, ANN)
        assert service.engine.wait(dear, SOON)
        assert dear.progress.status == "cancelled"
    assert counted.batches_at_answer is not None
    assert counted.batches_at_answer - before <= ALLOWED
