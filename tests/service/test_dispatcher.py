"""The queue: one job a question, users in turns, limits, and a cancel within one batch."""

from __future__ import annotations

import threading
import time

import pytest

from explainlab.errors import ResourceError
from explainlab.request import Request
from explainlab.service import dispatcher as dispatcher_module
from explainlab.service.jobs import Job, JobContext, Progress
from explainlab.service.resolved import resolve
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings
from explainlab.workers.worker import Elsewhere
from tests.service.conftest import SOON, Bench, raising

ANN, BOB, CY = (User(name, name.title()) for name in ("ann", "bob", "cy"))


# Sharing and order ---------------------------------------------------------------------------------------------------


def test_equal_requests_share_one_job_and_one_computation(bench: Bench) -> None:
    running = bench.busy()
    first, second = bench.submit("same"), bench.submit("same", BOB)
    assert first is second
    assert first.users == [LOCAL, BOB]
    assert bench.submit("busy", BOB) is running
    assert bench.go(running, first) == ["done", "done"]
    assert bench.ran == ["busy", "same"]
    assert first.result is bench.result


def test_jobs_run_in_order_and_know_their_position(bench: Bench) -> None:
    running = bench.busy()
    jobs = [bench.submit(name) for name in ("one", "two", "three")]
    assert running.progress.status == "running"
    assert [job.progress.status for job in jobs] == ["queued"] * 3
    assert [bench.engine.position(key) for key in ("busy", "one", "two", "three", "unknown")] == [0, 1, 2, 3, 0]
    bench.engine.cancel("two", LOCAL)
    assert bench.engine.position("three") == 2
    bench.go(running, *jobs)
    assert bench.ran == ["busy", "one", "three"]
    assert bench.engine.position("three") == 0


def test_a_finished_request_is_computed_again_when_asked_again(bench: Bench) -> None:
    first = bench.submit("again")
    bench.go(first)
    second = bench.submit("again")
    assert second is not first
    bench.go(second)
    assert bench.ran == ["again", "again"]


def test_many_threads_asking_the_same_get_one_job(bench: Bench) -> None:
    running, found = bench.busy(), []
    users = [User(f"{i}", "") for i in range(20)]
    threads = [threading.Thread(target=lambda user=user: found.append(bench.submit("same", user))) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.go(running, *found)
    assert len(set(map(id, found))) == 1
    assert len(found[0].users) == 20
    assert bench.ran == ["busy", "same"]


# Limits --------------------------------------------------------------------------------------------------------------


def test_a_full_queue_names_its_limit_and_still_takes_what_it_knows(bench: Bench) -> None:
    running = bench.busy()
    waiting = [bench.submit(str(i), (ANN, BOB)[i % 2]) for i in range(6)]
    with pytest.raises(ResourceError, match="queue is full: 6 jobs"):
        bench.submit("one too many", CY)
    assert bench.engine.job("one too many") is None
    assert bench.submit("0", BOB) is waiting[0]
    assert bench.go(running, *waiting) == ["done"] * 7
    assert bench.go(bench.submit("one too many")) == ["done"]


def test_only_the_last_finished_jobs_are_remembered(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher_module, "_KEPT", 3)
    bench.go()
    for name in "abcdef":
        bench.go(bench.submit(name))
    assert [name for name in "abcdef" if bench.engine.job(name)] == ["d", "e", "f"]


def test_waiting_jobs_are_never_forgotten(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher_module, "_KEPT", 1)
    running = bench.busy()
    waiting = [bench.submit(name) for name in "abc"]
    assert [bench.engine.job(name) for name in "abc"] == waiting
    assert bench.go(running, *waiting) == ["done"] * 4


def test_a_user_fills_half_of_the_queue_and_others_still_get_in(bench: Bench) -> None:
    running = bench.busy()
    waiting = [bench.submit(name) for name in ("one", "two", "three")]
    with pytest.raises(ResourceError, match=r"3 jobs of yours.*half.*EXPLAINLAB_MAX_QUEUE\)"):
        bench.submit("four")
    waiting += [bench.submit(name, BOB) for name in ("four", "five", "six")]
    assert bench.go(running, *waiting) == ["done"] * 7


def test_a_user_waits_with_so_many_jobs_and_others_still_get_in(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_queue_per_user", 2)
    running = bench.busy()
    waiting = [bench.submit(name) for name in ("one", "two")]
    with pytest.raises(ResourceError, match=r"2 jobs of yours.*EXPLAINLAB_MAX_QUEUE_PER_USER"):
        bench.submit("three")
    assert bench.submit("one", CY) is waiting[0]
    waiting.append(bench.submit("three", BOB))
    assert bench.go(running, *waiting) == ["done"] * 4


def test_a_job_that_runs_too_long_ends_with_the_limit_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_job_seconds", 0.2)
    batches: list[float] = []

    def endless(context: JobContext) -> None:
        while True:
            context.check_cancelled()
            batches.append(time.monotonic())
            time.sleep(0.01)

    bench.does["endless"] = endless
    job = bench.submit("endless")
    assert bench.go(job, bench.submit("after")) == ["failed", "done"]
    assert "0.2 s" in job.progress.error
    assert "EXPLAINLAB_MAX_JOB_SECONDS" in job.progress.error
    assert 0 < batches[-1] - batches[0] <= 0.3


# Turns ---------------------------------------------------------------------------------------------------------------


def test_users_take_turns_however_many_jobs_one_has(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_queue", 10)
    running = bench.busy()
    jobs = [bench.submit(f"ann {i}", user=ANN) for i in range(3)]
    jobs += [bench.submit(f"bob {i}", user=BOB) for i in range(2)]
    jobs.append(bench.submit("cy 0", user=CY))
    expected = ["ann 0", "bob 0", "cy 0", "ann 1", "bob 1", "ann 2"]
    assert [bench.engine.position(key) for key in expected] == [1, 2, 3, 4, 5, 6]
    assert [job.key for job in bench.engine.unfinished()] == ["busy", *expected]
    bench.go(running, *jobs)
    assert bench.ran == ["busy", *expected]


def test_a_job_of_two_users_has_the_better_of_both_places(bench: Bench) -> None:
    running = bench.busy()
    jobs = [bench.submit(name, user=ANN) for name in ("one", "two", "three")]
    assert bench.submit("three", BOB) is jobs[2]
    assert bench.engine.position("three") == 2
    bench.engine.cancel("three", BOB)
    assert bench.engine.position("three") == 3, "his place leaves with him"
    bench.submit("three", BOB)
    bench.go(running, *jobs)
    assert bench.ran == ["busy", "one", "three", "two"]


def test_one_text_comes_before_data_sets_and_what_somebody_waits_for_before_what_is_ahead(bench: Bench) -> None:
    running = bench.busy()
    jobs = [bench.submit("data", urgent=False), bench.submit("ahead", urgent=False), bench.submit("text")]
    assert [bench.engine.position(key) for key in ("text", "data", "ahead")] == [1, 2, 3]
    assert bench.submit("ahead", urgent=True) is jobs[1], "now somebody waits for it"
    bench.go(running, *jobs)
    assert bench.ran == ["busy", "ahead", "text", "data"]


def test_one_text_runs_between_two_batches_of_a_data_set(bench: Bench) -> None:
    events: list[str] = []
    reached, resume = threading.Semaphore(0), threading.Event()

    def batches(context: JobContext) -> None:
        for i in range(4):
            context.check_cancelled()
            events.append(f"batch {i}")
            if i == 1:
                reached.release()
                resume.wait(SOON)

    bench.does["data"] = batches
    bench.does["text"] = lambda context: (context.check_cancelled(), events.append("text"))
    bench.does["bad"] = raising(SystemExit())
    bench.go()
    data = bench.submit("data", user=ANN, urgent=False)
    assert reached.acquire(timeout=SOON)
    bad, text = bench.submit("bad", user=BOB), bench.submit("text", user=BOB)
    other = bench.submit("other data", user=BOB, urgent=False)
    assert [bench.engine.position(key) for key in ("bad", "text", "other data")] == [0, 1, 3]
    resume.set()
    assert bench.go(data, bad, text, other) == ["done", "failed", "done", "done"]
    assert events == ["batch 0", "batch 1", "text", "batch 2", "batch 3"]
    assert bench.ran == ["data", "bad", "text", "other data"]


def test_the_time_of_what_runs_between_its_batches_is_not_a_jobs_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings(), "max_job_seconds", 0.5)
    reached, resume = threading.Semaphore(0), threading.Event()
    not_its_own: list[float] = []

    def batches(context: JobContext) -> None:
        start = time.monotonic()
        context.expect(2.0)
        for _ in range(2):
            context.check_cancelled()
            context.spend(1.0)
            reached.release()
            resume.wait(SOON)
        end = time.monotonic()
        not_its_own.append(end - start - 2 * context.estimate.taken(end).seconds)

    bench.does["data"] = batches
    bench.does["text"] = lambda _: time.sleep(0.8)
    bench.go()
    data = bench.submit("data", urgent=False)
    assert reached.acquire(timeout=SOON)
    text = bench.submit("text")
    resume.set()
    assert bench.go(data, text) == ["done", "done"]
    assert not_its_own[0] >= 0.8


def test_what_is_submitted_together_waits_for_each_other(bench: Bench) -> None:
    with bench.engine.together():
        first = bench.submit("first")
        assert not bench.started.acquire(timeout=0.2)
        second = bench.submit("second")
        assert bench.engine.unfinished() == [first, second]
    assert bench.go(first, second) == ["done", "done"]


def test_a_waiting_job_is_moved_among_its_users_jobs(bench: Bench) -> None:
    running = bench.busy()
    ann = [bench.submit(name, user=ANN) for name in ("one", "two")]
    bob = bench.submit("bob's", BOB)
    assert bench.engine.unfinished() == [running, ann[0], bob, ann[1]]
    bench.engine.move("two", -1)
    assert bench.engine.unfinished() == [running, ann[1], bob, ann[0]]
    assert bench.engine.peers("one") == [ann[1], ann[0]]
    assert bench.engine.peers("busy") == []
    for key in ("two", "busy", "unknown"):
        bench.engine.move(key, -1)
    assert bench.engine.unfinished() == [running, ann[1], bob, ann[0]]
    bench.go(running, *ann, bob)
    assert bench.ran == ["busy", "two", "bob's", "one"]


# Cancelling ----------------------------------------------------------------------------------------------------------


def test_a_queued_job_is_cancelled_at_once_and_never_runs(bench: Bench) -> None:
    running, queued = bench.busy(), bench.submit("queued")
    bench.engine.cancel("queued", LOCAL)
    assert bench.engine.wait(queued, 0)
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
    bench.engine.cancel("long", LOCAL)
    after = bench.submit("long", BOB)
    assert after is not job
    resume.set()
    assert bench.engine.wait(job, SOON)
    assert (job.progress.status, job.progress.done, job.result) == ("cancelled", 3, None)
    assert batches[:4] == [0, 1, 2, 0]
    assert bench.go(after) == ["done"]


def test_only_the_last_user_cancels(bench: Bench) -> None:
    running, job = bench.busy(), bench.submit("shared")
    bench.submit("shared", BOB)
    bench.engine.cancel("shared", LOCAL)
    bench.engine.cancel("shared", LOCAL)
    bench.engine.cancel("shared", CY)
    bench.engine.cancel("unknown", LOCAL)
    assert job.progress.status == "queued"
    bench.engine.cancel("shared", BOB)
    assert job.progress.status == "cancelled"
    assert bench.go(running) == ["done"]


def test_cancelling_what_has_ended_changes_nothing(bench: Bench) -> None:
    job = bench.submit("short")
    bench.go(job)
    bench.engine.cancel("short", LOCAL)
    assert job.progress.status == "done"


# Progress ------------------------------------------------------------------------------------------------------------


def test_waiting_ends_with_the_job_or_with_the_time(bench: Bench) -> None:
    running = bench.busy()
    assert not bench.engine.wait(running, 0.01)
    bench.go(running)
    assert bench.engine.wait(running, 0)


def test_snapshots_tell_phase_and_time_left() -> None:
    job = Job("key", resolve(Request(model="m", text="t", question="random")), [ANN])
    context = JobContext(job)
    assert job.progress == Progress(status="queued")
    context.begin("loading the model")
    assert (job.progress.phase, job.progress.total, job.progress.seconds_left) == ("loading the model", 0, None)
    before = job.progress

    context.expect(100.0)
    context.spend(10.0)
    context.report(10, 100, "gradients")
    assert (job.progress.phase, job.progress.done, job.progress.total) == ("gradients", 10, 100)
    assert job.progress.share == pytest.approx(0.1)
    assert (before.phase, before.share) == ("loading the model", 0), "a snapshot is never changed"

    context.report(1, 2, "forward passes")
    assert job.progress.share == pytest.approx(0.1), "another phase does not take the bar back"


def test_a_finished_job_knows_when_it_started(bench: Bench) -> None:
    before = time.monotonic()
    job = bench.submit("short")
    bench.go(job)
    assert before <= job.progress.started <= time.monotonic()
    assert job.progress.finished


def test_what_a_job_has_so_far_ends_with_it(bench: Bench) -> None:
    job = bench.busy()
    JobContext(job).show(lambda: "the texts that are finished")
    assert job.partial_result is not None
    assert job.partial_result() == "the texts that are finished"
    bench.go(job)
    assert job.partial_result is None


def test_a_job_whose_worker_goes_away_waits_again(bench: Bench) -> None:
    left = [Elsewhere(), Elsewhere()]

    def leave(_: JobContext) -> None:
        if left:
            raise left.pop()

    bench.does["moved"] = leave
    job = bench.submit("moved")
    assert bench.go(job) == ["done"]
    assert bench.ran == ["moved"] * 3


def test_a_job_that_ends_worker_after_worker_is_given_up(bench: Bench) -> None:
    bench.does["deadly"] = raising(Elsewhere(tries=1))
    job = bench.submit("deadly")
    assert bench.go(job) == ["failed"]
    assert bench.ran == ["deadly"] * 3
    assert "ended 3 times" in job.progress.error
