"""A hosted server with workers: ``python -m tests.workers.own_server FILE``.

The engine and the store are those of the settings; FILE is a data set that must not be logged. It prints two lines on
stdout: how its first jobs have ended, then, with many tasks out, how many are done and the processes of its workers.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from queue import SimpleQueue
from typing import Any

from explainlab.analyses.registry import new_request
from explainlab.logs import log_as_json
from explainlab.request import Request
from explainlab.service.jobs import Job
from explainlab.service.resolved import resolve
from explainlab.service.service import Service, open_service
from explainlab.service.users import User
from explainlab.workers.local import configured

MODEL = "embedded:bert-mini-sst2"
SECRET = "zyxomma <script>alert('zyxomma')</script> \u202ezyxomma"
ANN = User("ann", "Ann")
TASKS, DONE = 200, 20
SOON = 240
_NONSENSE = 10**6


MANY = new_request(
    model=MODEL,
    question="evaluation",
    data="embedded:sentiment",
    parameters={"rows": TASKS, "sample": "first", "methods": ["occlusion"], "metrics": ["comprehensiveness"]},
)


def main(data: str) -> None:
    """Send requests, get a refusal, lose a worker, receive nonsense; then run a study until killed."""
    log_as_json()
    service = open_service(workers=configured())
    parameters = {"rows": 12, "sample": "first", "steps": [48], "rules": ["right"]}
    asked = [
        Request(model=MODEL, text=SECRET, question="integrated_gradients"),
        Request(model=MODEL, text=SECRET, question="gradient", target=SECRET),
        new_request(model=MODEL, question="integration_error", data=data, parameters=parameters),
    ]
    jobs = [service.submit(resolve(request, ANN)) for request in asked]
    _wait(service, jobs[2], 2)
    worker: Any = service.workers[jobs[2].place]
    os.kill(worker.pid, signal.SIGKILL)
    ended = [service.engine.wait(job, SOON) and job.progress.status for job in jobs]
    link = worker._live()
    link.inboxes[_NONSENSE] = SimpleQueue()
    link.send({"task": _NONSENSE, "requests": [{"text": SECRET}], "reader": {SECRET: SECRET}, "digest": SECRET})
    link.inboxes[_NONSENSE].get(timeout=SOON)  # it has told of that in its log
    print(*ended, file=sys.__stdout__, flush=True)
    many = service.submit(resolve(MANY, ANN))
    _wait(service, many, DONE)
    pids = [worker.pid for worker in service.workers if not getattr(worker, "spare", False)]
    print(many.progress.done, *pids, file=sys.__stdout__, flush=True)
    service.engine.wait(many, SOON)


def _wait(service: Service, job: Job, done: int) -> None:
    """Wait until this many texts of ``job`` are done."""
    until = time.monotonic() + SOON
    while job.progress.done < done and time.monotonic() < until:
        service.engine.wait(job, 0.01)


if __name__ == "__main__":
    main(sys.argv[1])
