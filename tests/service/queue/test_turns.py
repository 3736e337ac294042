"""Turns: no reader waits for another's text for ever, and a job without a waiting page stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from explainlab.request import Request
from explainlab.service import jobs as jobs_module
from explainlab.service.estimate import Pace
from explainlab.service.jobs import JobContext
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import User
from explainlab.settings import Settings, settings
from tests.service.conftest import SOON, Bench, Computation

ANN, BOB = User("ann", "Ann"), User("bob", "Bob")
MODEL = "embedded:bert-mini-sst2"
WORDS = " ".join(["a slow and warm film about two sisters and a kitchen"] * 10)
HOURS = Request(model=MODEL, text=WORDS, question="kernel_shap", parameters={"samples": "40000"})
SHORT = Request(model=MODEL, text="a stirring, funny film", question="occlusion")
DATA = Request(model=MODEL, question="path_gradients", data="embedded:sentiment", parameters={"rows": 200})


@pytest.fixture
def service() -> Service:
    return Service(Store("sqlite://"), "cpu")


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)


def test_a_text_that_takes_minutes_holds_nobody(service: Service) -> None:
    endless = service.submit(resolve(HOURS, ANN))
    until(lambda: endless.progress.share > 0)
    short = service.submit(resolve(SHORT, BOB))
    assert service.engine.wait(short, SOON)
    assert short.progress.status == "done"
    assert not endless.progress.finished
    until(lambda: endless.long)
    own = service.submit(resolve(SHORT.model_copy(update={"text": "another of hers"}), ANN))
    assert service.engine.wait(own, SOON), "a long one makes way for her own short ones too"
    service.cancel(endless.key, ANN)
    assert service.engine.wait(endless, SOON)
    assert (endless.progress.status, endless.progress.error) == ("cancelled", "")


def test_batches_of_two_users_alternate(bench: Bench) -> None:
    events: list[str] = []

    def batches(context: JobContext) -> None:
        for _ in range(5):
            context.check_cancelled()
            events.append(context.asked.request.text)

    bench.does = {"ann's": batches, "bob's": batches, "ann's next": batches}
    running = bench.busy()
    jobs = [bench.submit("ann's"), bench.submit("ann's next"), bench.submit("bob's", BOB)]
    assert bench.go(running, *jobs) == ["done"] * 4
    assert events[1:7] == ["bob's", "ann's"] * 3, "once he has caught up with the turns of the job before"
    assert events[-5:] == ["ann's next"] * 5


def test_what_is_expected_to_take_long_is_not_urgent(bench: Bench) -> None:
    begun, resume = threading.Semaphore(0), threading.Event()

    def works(seconds: float) -> Computation:
        def compute(context: JobContext) -> None:
            context.estimate.pace = Pace(seconds, 1.0)
            context.expect(1.0)
            context.check_cancelled()
            begun.release()
            resume.wait(SOON)
            context.check_cancelled()

        return compute

    bench.does = {"long": works(21.0), "short": works(19.0)}
    bench.go()
    jobs = []
    for name in bench.does:
        jobs.append(bench.submit(name))
        assert begun.acquire(timeout=SOON)
        assert jobs[-1].urgent is (name == "short")
        resume.set()
        bench.go(jobs[-1])
        resume.clear()


def test_a_job_has_an_end_where_others_use_the_instance() -> None:
    assert Settings(auth="none").max_job_seconds == 0
    assert Settings(auth="proxy").max_job_seconds == Settings(allow_anyone=True).max_job_seconds == 3600
    assert Settings(auth="oidc", max_job_seconds=7).max_job_seconds == 7


# Waiting users -------------------------------------------------------------------------------------------------------


def test_one_text_stops_when_no_page_waits_for_it_and_a_data_set_goes_on(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings(), "max_unwatched_seconds", 1)
    data, text = service.submit(resolve(DATA, BOB)), service.submit(resolve(HOURS, ANN))
    for _ in range(15):
        text.watch(ANN, "a page")
        time.sleep(0.1)
    assert not text.progress.finished, "a page waits for it"
    assert service.engine.wait(text, SOON)
    assert text.progress.status == "cancelled"
    assert "EXPLAINLAB_MAX_UNWATCHED_SECONDS" in text.progress.error
    assert not data.stop.is_set()
    service.leave(data, "a page", BOB)
    assert not data.stop.is_set()
    assert data.progress.status in ("running", "done")
    service.cancel(data.key, BOB)
    assert service.engine.wait(data, SOON)


def test_a_text_that_waits_for_its_turn_without_a_page_never_begins(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, left = bench.busy(), bench.submit("left")
    monkeypatch.setattr(settings(), "max_unwatched_seconds", 0)
    assert bench.go(running, left) == ["done", "cancelled"]
    assert bench.ran == ["busy"]


def test_a_page_that_moves_on_gives_a_text_up_unless_another_page_waits(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = service.submit(resolve(HOURS, ANN))
    service.submit(resolve(HOURS, BOB))
    for page in ("one", "two"):
        job.watch(ANN, page)
    job.watch(BOB, "his")
    service.leave(job, "one", ANN)
    assert job.users == [ANN, BOB]
    monkeypatch.setattr(jobs_module, "LIVE_SECONDS", 0.0)
    service.leave(job, "none", ANN)
    assert job.users == [BOB], "her second page is closed"
    service.leave(job, "his", BOB)
    assert service.engine.wait(job, SOON)
    assert job.progress.status == "cancelled"


def test_a_reload_takes_the_job_over_and_cancelled_means_cancelled(service: Service) -> None:
    job = service.submit(resolve(HOURS, ANN))
    job.watch(ANN, "before the reload")
    assert service.ask(resolve(HOURS, ANN)) is job
    job.watch(ANN, "after the reload")
    service.cancel(job.key, ANN)
    assert service.engine.wait(job, SOON)
    assert job.progress.status == "cancelled"
