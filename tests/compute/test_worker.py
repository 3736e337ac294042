"""The queue: one job a question, in order, cancelled within one batch, and never brought down by a bad job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from explainlab import Attribution, explain
from explainlab.compute import worker as worker_module
from explainlab.compute.jobs import Job, JobContext, Progress
from explainlab.compute.worker import Worker
from explainlab.errors import ResourceError, TextError
from explainlab.models.classifier import Classifier
from explainlab.request import Request

SOON = 20
Computation = Callable[[JobContext], None]


class Bench:
    """A worker whose computations the test holds in its hands.

    The request's text names what to compute: a computation of ``does``, or nothing at all. Nothing runs before
    :meth:`go`.
    """

    def __init__(self, result: Attribution, max_queue: int = 10) -> None:
        self.result = result
        self.does: dict[str, Computation] = {}
        self.ran: list[str] = []
        self.started = threading.Semaphore(0)
        self._gate = threading.Event()
        self.worker = Worker(self._answer, max_queue)

    def _answer(self, request: Request, context: JobContext) -> Attribution:
        self.ran.append(request.text)
        self.started.release()
        self._gate.wait(SOON)
        self.does.get(request.text, lambda _: None)(context)
        return self.result

    def submit(self, text: str, owner: str = "ann") -> Job:
        return self.worker.submit(text, Request(model="m", text=text, method="random"), owner)

    def busy(self) -> Job:
        """A job that is running now and ends with :meth:`go`."""
        job = self.submit("busy")
        assert self.started.acquire(timeout=SOON)
        return job

    def go(self, *jobs: Job) -> list[str]:
        """Let everything run; how ``jobs`` ended."""
        self._gate.set()
        assert all(self.worker.wait(job, SOON) for job in jobs)
        return [job.progress.status for job in jobs]


@pytest.fixture
def bench(encoder: Classifier) -> Iterator[Bench]:
    made = Bench(explain(encoder, "a film", "random"), max_queue=4)
    yield made
    made.go()


# Sharing and order ---------------------------------------------------------------------------------------------------


def test_equal_requests_share_one_job_and_one_computation(bench: Bench) -> None:
    running = bench.busy()
    first, second = bench.submit("same", "ann"), bench.submit("same", "bob")
    assert first is second
    assert first.owners == {"ann", "bob"}
    assert bench.submit("busy", "bob") is running
    assert bench.go(running, first) == ["done", "done"]
    assert bench.ran == ["busy", "same"]
    assert first.result is bench.result


def test_jobs_run_in_order_and_know_their_position(bench: Bench) -> None:
    running = bench.busy()
    jobs = [bench.submit(name) for name in ("one", "two", "three")]
    assert running.progress.status == "running"
    assert [job.progress.status for job in jobs] == ["queued"] * 3
    assert [bench.worker.position(key) for key in ("busy", "one", "two", "three", "unknown")] == [0, 1, 2, 3, 0]
    bench.worker.cancel("two", "ann")
    assert bench.worker.position("three") == 2
    bench.go(running, *jobs)
    assert bench.ran == ["busy", "one", "three"]
    assert bench.worker.position("three") == 0


def test_a_finished_request_is_computed_again_when_asked_again(bench: Bench) -> None:
    first = bench.submit("again")
    bench.go(first)
    second = bench.submit("again")
    assert second is not first
    bench.go(second)
    assert bench.ran == ["again", "again"]


def test_many_threads_asking_the_same_get_one_job(bench: Bench) -> None:
    running, found = bench.busy(), []
    threads = [threading.Thread(target=lambda i=i: found.append(bench.submit("same", f"{i}"))) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.go(running, *found)
    assert len(set(map(id, found))) == 1
    assert len(found[0].owners) == 20
    assert bench.ran == ["busy", "same"]


# Limits --------------------------------------------------------------------------------------------------------------


def test_a_full_queue_names_its_limit_and_still_takes_what_it_knows(bench: Bench) -> None:
    running = bench.busy()
    waiting = [bench.submit(str(i)) for i in range(4)]
    with pytest.raises(ResourceError, match="queue is full: 4 jobs"):
        bench.submit("one too many")
    assert bench.worker.job("one too many") is None
    assert bench.submit("0", "bob") is waiting[0]
    assert bench.go(running, *waiting) == ["done"] * 5
    assert bench.go(bench.submit("one too many")) == ["done"]


def test_only_the_last_finished_jobs_are_remembered(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_KEPT", 3)
    bench.go()
    for name in "abcdef":
        bench.go(bench.submit(name))
    assert [name for name in "abcdef" if bench.worker.job(name)] == ["d", "e", "f"]


def test_waiting_jobs_are_never_forgotten(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_KEPT", 1)
    running = bench.busy()
    waiting = [bench.submit(name) for name in "abc"]
    assert [bench.worker.job(name) for name in "abc"] == waiting
    assert bench.go(running, *waiting) == ["done"] * 4


# Cancelling ----------------------------------------------------------------------------------------------------------


def test_a_queued_job_is_cancelled_at_once_and_never_runs(bench: Bench) -> None:
    running, queued = bench.busy(), bench.submit("queued")
    bench.worker.cancel("queued", "ann")
    assert bench.worker.wait(queued, 0)
    assert queued.progress.status == "cancelled"
    again = bench.submit("queued")
    assert again is not queued
    assert bench.go(running, again) == ["done", "done"]
    assert bench.ran == ["busy", "queued"]


def test_a_running_job_stops_before_its_next_batch(bench: Bench) -> None:
    batches, reached = [], threading.Semaphore(0)
    resume = threading.Event()

    def work(context: JobContext) -> None:
        for i in range(1000):
            context.check_cancelled()
            batches.append(i)
            context.report(i + 1, 1000, "gradients")
            if i == 2:
                reached.release()
                resume.wait(SOON)

    bench.does["long"] = work
    job = bench.submit("long")
    bench.go()
    assert reached.acquire(timeout=SOON)
    bench.worker.cancel("long", "ann")
    after = bench.submit("long", "bob")
    assert after is not job
    resume.set()
    assert bench.worker.wait(job, SOON)
    assert (job.progress.status, job.progress.done, job.result) == ("cancelled", 3, None)
    assert batches[:4] == [0, 1, 2, 0]
    assert bench.go(after) == ["done"]


def test_only_the_last_owner_cancels(bench: Bench) -> None:
    running, job = bench.busy(), bench.submit("shared", "ann")
    bench.submit("shared", "bob")
    bench.worker.cancel("shared", "ann")
    bench.worker.cancel("shared", "ann")
    bench.worker.cancel("shared", "a stranger")
    bench.worker.cancel("unknown", "ann")
    assert job.progress.status == "queued"
    bench.worker.cancel("shared", "bob")
    assert job.progress.status == "cancelled"
    assert bench.go(running) == ["done"]


def test_cancelling_what_has_ended_changes_nothing(bench: Bench) -> None:
    job = bench.submit("short")
    bench.go(job)
    bench.worker.cancel("short", "ann")
    assert job.progress.status == "done"


# Failing -------------------------------------------------------------------------------------------------------------


def _raise(error: Exception) -> Computation:
    def compute(_: JobContext) -> None:
        raise error

    return compute


def test_a_mendable_error_is_told_with_its_remedy(bench: Bench) -> None:
    bench.does["bad"] = _raise(TextError("The text is empty.", "Give it at least one word."))
    job = bench.submit("bad")
    assert bench.go(job) == ["failed"]
    assert job.progress.error == "The text is empty. Give it at least one word."
    assert job.result is None


def test_an_unexpected_error_hides_its_inside_and_the_worker_goes_on(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.does["broken"] = _raise(KeyError("secret inside"))
    job, after = bench.submit("broken"), bench.submit("fine")
    assert bench.go(job, after) == ["failed", "done"]
    assert "secret" not in job.progress.error
    assert "KeyError" not in job.progress.error
    assert job.key[:12] in job.progress.error
    assert "secret inside" in caplog.text
    assert job.key[:12] in caplog.text


# Progress ------------------------------------------------------------------------------------------------------------


def test_waiting_ends_with_the_job_or_with_the_time(bench: Bench) -> None:
    running = bench.busy()
    assert not bench.worker.wait(running, 0.01)
    bench.go(running)
    assert bench.worker.wait(running, 0)


def test_snapshots_tell_phase_and_time_left() -> None:
    job = Job("key", Request(model="m", text="t", method="random"), {"ann"})
    context = JobContext(job)
    assert job.progress == Progress(status="queued")
    context.begin("loading the model")
    assert (job.progress.phase, job.progress.total, job.progress.seconds_left) == ("loading the model", 0, None)
    before = job.progress

    context.check_cancelled()
    time.sleep(0.05)
    context.report(10, 100, "gradients")
    assert (job.progress.phase, job.progress.done, job.progress.total) == ("gradients", 10, 100)
    assert 9 * 0.05 <= job.progress.seconds_left < 9 * 0.5
    assert (before.phase, before.done) == ("loading the model", 0), "a snapshot is never changed"

    context.check_cancelled()
    context.report(100, 100, "gradients")
    assert job.progress.seconds_left == 0


def test_a_phase_of_the_same_name_starts_its_own_clock() -> None:
    job = Job("key", Request(model="m", text="t", method="random"), {"ann"})
    context = JobContext(job)
    context.check_cancelled()
    time.sleep(0.2)
    context.report(1, 1, "forward passes")
    for _ in range(2):
        context.check_cancelled()
        context.report(1, 2, "forward passes")
        assert job.progress.seconds_left < 0.1


def test_a_finished_job_knows_when_it_started(bench: Bench) -> None:
    before = time.monotonic()
    job = bench.submit("short")
    assert job.progress.started is None
    bench.go(job)
    assert before <= job.progress.started <= time.monotonic()
    assert job.progress.finished
