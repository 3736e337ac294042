"""A worker whose computations a test holds in its hands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from explainlab import Attribution, explain
from explainlab.models.classifier import Classifier
from explainlab.request import Request
from explainlab.service.dispatcher import Dispatcher
from explainlab.service.jobs import Job, JobContext
from explainlab.service.resolved import ResolvedRequest, resolve
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings

SOON = 60
Computation = Callable[[JobContext], None]


def raising(error: BaseException) -> Computation:
    """A computation that ends like this."""

    def compute(_: JobContext) -> None:
        raise error

    return compute


class Bench:
    """A worker whose computations the test holds in its hands.

    The request's text names what to compute: a computation of ``does``, or nothing at all. Nothing runs before
    :meth:`go`.
    """

    def __init__(self, result: Attribution) -> None:
        self.result = result
        self.does: dict[str, Computation] = {}
        self.ran: list[str] = []
        self.started = threading.Semaphore(0)
        self._gate = threading.Event()
        self.engine = Dispatcher(self._answer)

    def _answer(self, asked: ResolvedRequest, context: JobContext) -> Attribution:
        self.ran.append(asked.request.text)
        self.started.release()
        self._gate.wait(SOON)
        self.does.get(asked.request.text, lambda _: None)(context)
        return self.result

    def submit(self, text: str, user: User = LOCAL, urgent: bool = True) -> Job:
        return self.engine.submit(text, resolve(Request(model="m", text=text, question="random"), user), urgent)

    def busy(self) -> Job:
        """A job that is running now and ends with :meth:`go`."""
        job = self.submit("busy")
        assert self.started.acquire(timeout=SOON)
        return job

    def go(self, *jobs: Job) -> list[str]:
        """Let everything run; how ``jobs`` ended."""
        self._gate.set()
        assert all(self.engine.wait(job, SOON) for job in jobs)
        return [job.progress.status for job in jobs]


@pytest.fixture
def bench(encoder: Classifier, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(settings(), "max_queue", 6)
    made = Bench(explain(encoder, "a film", "random"))
    yield made
    made.go()
