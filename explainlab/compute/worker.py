"""One worker a device: a thread that owns the loaded models and takes jobs from its queue, one at a time."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from explainlab.compute.jobs import Job, JobContext
from explainlab.compute.questions import Answer, Question
from explainlab.errors import Cancelled, ExplainLabError, ResourceError

log = logging.getLogger(__name__)

Work = Callable[[Question, JobContext], Answer]
_KEPT = 512


class Worker:
    """A queue of jobs and the thread that works on them.

    ``answer`` computes one request; it is only ever called on the worker's thread. Equal requests share one job.
    Finished jobs are remembered (the last 512), so that a page can still read how its own ended.
    """

    def __init__(self, answer: Work, max_queue: int) -> None:
        self._answer = answer
        self._max_queue = max_queue
        self._waiting: OrderedDict[str, Job] = OrderedDict()
        self._running: Job | None = None
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._changed = threading.Condition()
        threading.Thread(target=self._work, name="explainlab-worker", daemon=True).start()

    def submit(self, key: str, request: Question, owner: str) -> Job:
        """Queue ``request``, or join the job that already answers it. Raises :class:`ResourceError` on a full queue."""
        with self._changed:
            job = self._jobs.get(key)
            if job is not None and not job.progress.finished and not job.stop.is_set():
                job.owners.add(owner)
                return job
            if len(self._waiting) >= self._max_queue:
                raise ResourceError(
                    f"The queue is full: {self._max_queue} jobs are waiting.", "Try again when some have finished."
                )
            job = Job(key, request, {owner})
            self._waiting[key] = job
            self._jobs[key] = job
            self._jobs.move_to_end(key)
            self._forget()
            self._changed.notify_all()
            return job

    def job(self, key: str) -> Job | None:
        """The job under ``key``, if it is waiting, running or among the last that ended."""
        return self._jobs.get(key)

    def position(self, key: str) -> int:
        """How many jobs will run before this one, the running one included; 0 if it runs or has ended."""
        with self._changed:
            waiting = list(self._waiting)
            return waiting.index(key) + (self._running is not None) if key in waiting else 0

    def cancel(self, key: str, owner: str) -> None:
        """``owner`` gives the job up; with its last owner it leaves the queue, or stops within one batch."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or owner not in job.owners:
                return
            job.owners.discard(owner)
            if job.owners:
                return
            job.stop.set()
            if self._waiting.get(key) is job:
                del self._waiting[key]
                job.update(status="cancelled")
                self._changed.notify_all()

    def wait(self, job: Job, timeout: float | None = None) -> bool:
        """Block until ``job`` has ended (True) or ``timeout`` seconds have passed (False)."""
        with self._changed:
            return self._changed.wait_for(lambda: job.progress.finished, timeout)

    def _forget(self) -> None:
        ended = [key for key, job in self._jobs.items() if job.progress.finished]
        for key in ended[: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[key]

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                _, job = self._waiting.popitem(last=False)
                self._running = job
            job.update(status="running", started=time.monotonic())
            changes = self._run(job)
            with self._changed:
                self._running = None
                job.update(**changes)
                self._changed.notify_all()

    def _run(self, job: Job) -> dict[str, str]:
        """Answer the job; how it ended, as changes to its progress."""
        try:
            job.result = self._answer(job.request, JobContext(job))
        except Cancelled:
            return {"status": "cancelled"}
        except ExplainLabError as error:
            return {"status": "failed", "error": str(error)}
        except Exception:
            log.exception("job %s failed", job.key[:12])
            return {
                "status": "failed",
                "error": f"Something unexpected went wrong; the server's log has it under {job.key[:12]}. "
                "Other results are not affected; run it again or report it.",
            }
        return {"status": "done"}
