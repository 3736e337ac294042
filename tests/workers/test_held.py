"""A worker that one turn holds for long does not hold the single texts of others: a spare worker answers them."""

from __future__ import annotations

import os
import signal
import time

import pytest

from explainlab.service.engine import HELD_SECONDS
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.workers.local import here, processes
from tests.workers.test_workers import ANN, BOB, SOON, begun, end, errors_of, text


@pytest.mark.full("10 s: a turn must last longer than five seconds; test_choice.py has the rule")
def test_a_single_text_is_answered_elsewhere_while_one_turn_lasts() -> None:
    workers = [*processes(1), here("cpu", spare=True)]
    service = Service(Store("sqlite://"), "cpu", workers=workers)
    job = service.submit(errors_of(40, steps=128), ANN)
    begun(service, job)
    os.kill(workers[0].pid, signal.SIGSTOP)  # its turn does not end
    try:
        since = time.monotonic()
        answered = service.submit(text("a text of another"), BOB)
        end(service, answered)
        assert time.monotonic() - since > HELD_SECONDS / 2, "a short turn is waited for"
        assert answered.place == 1
        assert service.engine.at(0) is job
    finally:
        os.kill(workers[0].pid, signal.SIGCONT)
    service.cancel(job.key, ANN)
    assert service.engine.wait(job, SOON)
