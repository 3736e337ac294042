"""A hosted server that asks its workers for what must not be logged: ``python -m tests.workers.logged_server FILE``.

The engine is that of the settings; FILE is a data set. It prints one line on stdout, how its jobs have ended.
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
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import User
from explainlab.workers.local import configured

MODEL = "embedded:bert-mini-sst2"
SECRET = "zyxomma <script>alert('zyxomma')</script> \u202ezyxomma"
ANN = User("ann", "Ann")
SOON = 240
_NONSENSE = 10**6


def main(data: str) -> None:
    """Ask, be refused, lose a worker, and be told nonsense."""
    log_as_json()
    service = Service(Store("sqlite://"), workers=configured())
    parameters = {"rows": 12, "sample": "first", "steps": [48], "rules": ["right"]}
    asked = [
        Request(model=MODEL, text=SECRET, question="integrated_gradients"),
        Request(model=MODEL, text=SECRET, question="gradient", target=SECRET),
        new_request(model=MODEL, question="integration_error", data=data, parameters=parameters),
    ]
    jobs = [service.submit(request, ANN) for request in asked]
    until = time.monotonic() + SOON
    while jobs[2].progress.done < 2 and time.monotonic() < until:
        service.engine.wait(jobs[2], 0.05)
    worker: Any = service.workers[jobs[2].place]
    os.kill(worker.pid, signal.SIGKILL)
    ended = [service.engine.wait(job, SOON) and job.progress.status for job in jobs]
    link = worker._live()
    link.inboxes[_NONSENSE] = SimpleQueue()
    link.send({"task": _NONSENSE, "requests": [{"text": SECRET}], "reader": {SECRET: SECRET}, "digest": SECRET})
    link.inboxes[_NONSENSE].get(timeout=SOON)  # it has told of that in its log
    for worker in service.workers:
        worker.close()
    print(*ended, file=sys.__stdout__, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
