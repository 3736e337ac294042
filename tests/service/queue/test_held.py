"""One turn that lasts long: another user's text is answered by the spare worker meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from explainlab.request import Request
from explainlab.result import Result
from explainlab.service import dispatcher
from explainlab.service.dispatcher import Dispatcher
from explainlab.service.engine import Ended, Help, Work
from explainlab.service.jobs import Job, JobContext
from explainlab.service.resolved import ResolvedRequest, resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.workers.local import here
from tests.service.conftest import SOON
from tests.service.queue.test_turns import ANN, BOB, DATA, SHORT


class Held:
    """A service that holds the turn of a data set until the test ends it."""

    def __init__(self) -> None:
        self.end, self.begun = threading.Event(), threading.Event()
        workers = [here("cpu"), here("cpu", spare=True)]
        self.service = Service(Store("sqlite://"), workers=workers, engine=self._engine)

    def _engine(self, answer: Work, ended: Ended, help: Help, places: int, prefer: Any) -> Dispatcher:
        def holding(asked: ResolvedRequest, context: JobContext) -> Result:
            if asked.request.data is not None:
                self.begun.set()
                self.end.wait(SOON)
            return answer(asked, context)

        return Dispatcher(holding, ended, help, places, prefer)

    def hold(self, request: Request) -> Job:
        job = self.service.submit(resolve(request, ANN))
        assert self.begun.wait(SOON)
        return job


@pytest.fixture
def held() -> Iterator[Held]:
    made = Held()
    yield made
    made.end.set()
    made.service.close()


def test_a_text_does_not_wait_for_the_end_of_a_long_turn(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "HELD_SECONDS", 0.1)
    dear, own = held.hold(DATA), held.service
    short = own.submit(resolve(SHORT, BOB))
    assert own.engine.wait(short, SOON)
    assert (short.progress.status, own.workers[short.place].spare) == ("done", True)
    other = own.submit(resolve(DATA.model_copy(update={"seed": 1}), BOB))
    assert not other.begun, "a data set waits"
    assert dear.begun
    own.cancel(other.key, BOB)
    own.cancel(dear.key, ANN)
    held.end.set()
    assert own.engine.wait(dear, SOON)
    after = own.submit(resolve(SHORT.model_copy(update={"text": "another text"}), BOB))
    assert own.engine.wait(after, SOON)
    assert not own.workers[after.place].spare, "the spare one is only for long turns"
