"""Jobs that go wrong: told as what they are, logged without a text, and never the end of the worker."""

from __future__ import annotations

import ctypes
import json
import sys
import threading
import time

import pytest

from explainlab.errors import TextError
from explainlab.logs import JsonLines
from explainlab.request import Request
from explainlab.service.dispatcher import Dispatcher
from explainlab.service.jobs import JobContext
from explainlab.service.resolved import resolve
from explainlab.service.users import User
from tests.service.conftest import SOON, Bench, raising


def test_a_mendable_error_is_told_with_its_remedy(bench: Bench) -> None:
    bench.does["bad"] = raising(TextError("The text is empty.", "Give it at least one word."))
    job = bench.submit("bad")
    assert bench.go(job) == ["failed"]
    assert job.progress.error == "The text is empty. Give it at least one word."
    assert job.result is None


def test_an_unexpected_error_hides_its_inside_and_the_worker_goes_on(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.does["broken"] = raising(KeyError("secret inside"))
    job, after = bench.submit("broken"), bench.submit("fine")
    assert bench.go(job, after) == ["failed", "done"]
    assert "secret" not in job.progress.error
    assert "KeyError" not in job.progress.error
    assert job.key[:12] in job.progress.error
    assert "secret inside" in caplog.text
    assert job.key[:12] in caplog.text


def test_what_would_end_the_thread_ends_the_job_alone(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.does["leaving"] = raising(SystemExit(1))
    job = bench.submit("leaving")
    assert bench.go(job, bench.submit("after")) == ["failed", "done"]
    assert job.key[:12] in job.progress.error
    del bench.does["leaving"]
    assert bench.go(bench.submit("leaving")) == ["done"], "it can be run again"
    assert bench.engine.silent_seconds < SOON


@pytest.mark.skipif(sys.gettrace() is not None, reason="a killed thread keeps the locks of coverage")
@pytest.mark.parametrize("busy", [True, False], ids=["in a job", "idle"])
def test_a_thread_that_is_killed_goes_on(bench: Bench, busy: bool, caplog: pytest.LogCaptureFixture) -> None:
    def endless(context: JobContext) -> None:
        bench.started.release()
        while True:
            time.sleep(0.001)

    before = set(threading.enumerate())
    worker = Dispatcher(bench.engine._answer)
    (thread,) = set(threading.enumerate()) - before
    bench.engine = worker
    bench.go()
    bench.does["endless"] = endless
    job = bench.submit("endless" if busy else "short")
    for _ in range(2 if busy else 1):
        assert bench.started.acquire(timeout=SOON)
    if not busy:
        bench.go(job)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
    after = bench.submit("after")
    assert bench.go(job, after) == (["failed", "done"] if busy else ["done", "done"])
    assert thread.is_alive()


# Logs ----------------------------------------------------------------------------------------------------------------


def test_the_end_of_a_job_is_logged_without_its_text(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="explainlab")
    bench.does["a secret text"] = raising(KeyError("a secret text"))
    bench.go()
    ended = (
        bench.submit("busy"),
        bench.engine.submit(
            "0123456789abcdef",
            resolve(Request(model="m", text="a secret text", question="random"), User("bob", "Bob")),
        ),
    )
    bench.go(*ended)
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    done, failed = (line for line in lines if "status" in line)
    assert (done["status"], failed["status"]) == ("done", "failed")
    assert (failed["job"], failed["user"], failed["kind"]) == ("0123456789ab", "bob", "attribution")
    assert (failed["method"], failed["model"], failed["passes"]) == ("random", "m", None)
    assert done["passes"] == bench.result.cost.forward + bench.result.cost.backward
    assert 0 <= done["seconds"] < SOON
    (error,) = (line for line in lines if "exception" in line)
    assert error["exception"] == "KeyError"
    assert any("dispatcher.py" in frame for frame in error["raised"])
    assert "secret" not in json.dumps(lines)
