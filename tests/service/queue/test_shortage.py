"""A shortage of memory, in a process of its own that may have no more: survived, or told."""

from __future__ import annotations

import logging
import os
import resource
from io import StringIO
from multiprocessing.connection import Connection
from typing import Any

import pytest

from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.status import health
from explainlab.service.store.store import Store
from tests import forked


def asked_without_memory(pipe: Connection) -> None:
    """Tells for each of five jobs how it ended, and whether the service was ready then; last what was logged."""
    logged = StringIO()
    logging.basicConfig(stream=logged, force=True)
    service = Service(Store("sqlite://"), "cpu")
    jobs = logging.getLogger("explainlab.workers.answering")
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    ballast: list[bytearray] = []

    def limit(more: int) -> None:
        with open("/proc/self/status") as status:
            size = next(line for line in status if line.startswith("VmSize"))
        resource.setrlimit(resource.RLIMIT_AS, (int(size.split()[1]) * 1024 + more * 2**20, hard))

    def lift(record: object = None) -> bool:
        ballast.clear()
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        return True

    def ask(text: str, question: str) -> None:
        job = service.submit(resolve(Request(model="embedded:bert-mini-sst2", text=text, question=question)))
        assert service.engine.wait(job, 60)
        pipe.send({"status": job.progress.status, "error": job.progress.error, "ready": health(service)["ready"]})

    ask("a first film", "occlusion")
    jobs.addFilter(lift)  # memory is free again before the second attempt
    limit(1)
    try:
        while True:
            ballast.append(bytearray(2**18))
    except MemoryError:
        del ballast[-16:]
    ask("a film without room", "integrated_gradients")
    ask("a film after that", "integrated_gradients")
    jobs.removeFilter(lift)
    service.workers[0].pool.clear()
    limit(4)
    ask("a film with less room than its model", "occlusion")
    lift()
    ask("a last film", "occlusion")
    pipe.send(logged.getvalue())
    os._exit(0)


@pytest.fixture(scope="module")
def said() -> list[dict[str, Any]]:
    """Return the end of each job."""
    ours, theirs = forked.pipe()
    process = forked.start(asked_without_memory, theirs)
    theirs.close()
    *lines, logged = [ours.recv() for _ in range(6) if ours.poll(120)]
    process.join()
    assert len(lines) == 5
    assert logged.count("memory ran out") == 2
    return lines


def test_a_job_without_memory_is_tried_once_more_and_what_comes_after_it_is_answered(
    said: list[dict[str, Any]],
) -> None:
    """A thread in which oneDNN had no memory once says "could not create a primitive" for good."""
    assert [line["status"] for line in said[:3]] == ["done", "done", "done"]
    assert all(line["ready"] for line in said[:3])


def test_a_shortage_that_lasts_is_told_and_ends_with_the_next_answer(said: list[dict[str, Any]]) -> None:
    short, after = said[3:]
    assert (short["status"], short["ready"]) == ("failed", False)
    assert short["error"].startswith("Memory ran out, and again")
    assert (after["status"], after["ready"]) == ("done", True)
