"""The engine of one device of this machine: a thread that runs the jobs of its queue, one at a time."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from explainlab.errors import Cancelled, ExplainLabError, ResourceError
from explainlab.request import CompleteRequest
from explainlab.service.engine import Ended, Work
from explainlab.service.jobs import Job, JobContext, Status
from explainlab.service.logs import log_end
from explainlab.service.scheduler import Scheduler
from explainlab.service.users import LOCAL, User
from explainlab.settings import limit_words, settings

log = logging.getLogger(__name__)

_KEPT = 512
_BEAT_SECONDS = 1.0


class Worker:
    """The :class:`explainlab.service.engine.Engine` of this process: a queue of jobs and the thread that runs them.

    ``answer`` computes the result of one request, always on the worker's thread. Equal requests share one job.
    :class:`Scheduler` chooses the next job; urgent jobs also run between two batches of a job that is not urgent.
    Nothing that a job raises ends the worker. ``ended`` is called after each job and must not raise. The last 512
    finished jobs are kept, so that pages can read how theirs ended.
    """

    def __init__(self, answer: Work, ended: Ended = lambda _: None) -> None:
        self._answer = answer
        self._ended = ended
        self._scheduler = Scheduler()
        self._running: list[Job] = []  # last: an urgent job that runs between two batches of another
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._changed = threading.Condition()
        self._beat = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="explainlab-worker", daemon=True)
        self._thread.start()

    def submit(
        self,
        key: str,
        request: CompleteRequest,
        owner: str,
        user: User = LOCAL,
        urgent: bool = True,
        record: bool = True,
    ) -> Job:
        """See :meth:`explainlab.service.engine.Engine.submit`."""
        with self._changed:
            readers = {user} if record else set()
            job = self._jobs.get(key)
            if job is not None and not job.progress.finished and not job.stop.is_set():
                job.owners[owner] = user
                job.urgent |= urgent
                job.readers |= readers
                self._scheduler.changed()
                return job
            self._require_room(user)
            job = Job(key, request, {owner: user}, urgent, readers)
            self._scheduler.add(job)
            self._jobs[key] = job
            self._jobs.move_to_end(key)
            self._forget()
            self._changed.notify_all()
            return job

    def job(self, key: str) -> Job | None:
        """The job under ``key``, if it is waiting, running or among the last that ended."""
        return self._jobs.get(key)

    def unfinished(self) -> list[Job]:
        """The running jobs, then the waiting ones in the order in which they will run."""
        with self._changed:
            return [*reversed(self._running), *self._scheduler.order()]

    def position(self, key: str) -> int:
        """How many jobs will run before this one, the running ones included; 0 if it runs or has ended.

        An urgent job does not wait for a running job that is not urgent.
        """
        with self._changed:
            waiting = [job.key for job in self._scheduler.order()]
            if key not in waiting:
                return 0
            urgent = self._jobs[key].urgent
            return waiting.index(key) + sum(job.urgent or not urgent for job in self._running)

    def cancel(self, key: str, owner: str) -> None:
        """Remove ``owner`` from the job; without owners it leaves the queue, or stops within a batch."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or owner not in job.owners:
                return
            del job.owners[owner]
            self._scheduler.changed()
            if job.owners:
                return
            job.stop.set()
            waited = self._scheduler.discard(job)
            if waited:
                job.update(status="cancelled")
                self._changed.notify_all()
        if waited:
            self._ended(job)

    def move(self, key: str, by: int) -> None:
        """See :meth:`explainlab.service.engine.Engine.move`."""
        with self._changed:
            if key in self._jobs:
                self._scheduler.move(self._jobs[key], by)

    def peers(self, key: str) -> list[Job]:
        """See :meth:`explainlab.service.engine.Engine.peers`."""
        with self._changed:
            peers = self._scheduler.peers(self._jobs[key]) if key in self._jobs else []
            return peers if any(job.key == key for job in peers) else []

    @contextmanager
    def together(self) -> Iterator[None]:
        """See :meth:`explainlab.service.engine.Engine.together`."""
        with self._changed:
            yield

    def wait(self, job: Job, timeout: float | None = None) -> bool:
        """Block until ``job`` has ended (True) or ``timeout`` seconds have passed (False)."""
        with self._changed:
            return self._changed.wait_for(lambda: job.progress.finished, timeout)

    @property
    def silent_seconds(self) -> float:
        """Seconds since the thread last gave a sign of life: every second when idle, else before each batch."""
        return time.monotonic() - self._beat if self._thread.is_alive() else math.inf

    def _require_room(self, user: User) -> None:
        if len(self._scheduler) >= settings().max_queue:
            raise ResourceError(
                f"The queue is full: {len(self._scheduler)} jobs are waiting.",
                f"Try again when some have finished. {limit_words('max_queue')}",
            )
        if self._scheduler.waiting_of(user) >= settings().max_queue_per_user:
            raise ResourceError(
                f"{self._scheduler.waiting_of(user)} jobs of yours are waiting already.",
                f"Try again when some have finished. {limit_words('max_queue_per_user')}",
            )

    def _forget(self) -> None:
        ended = [key for key, job in self._jobs.items() if job.progress.finished]
        for key in ended[: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[key]

    def _work(self) -> None:
        while True:
            try:
                with self._changed:
                    self._changed.wait_for(lambda: len(self._scheduler), _BEAT_SECONDS)
                    self._beat = time.monotonic()
                self._run_next()
            except BaseException:
                log.exception("the worker was interrupted")
                self._abandon()

    def _run_next(self, urgent_only: bool = False) -> bool:
        """Run the next job to its end; False if none waits."""
        with self._changed:
            job = self._scheduler.take(urgent_only)
            if job is None:
                return False
            self._running.append(job)
            users = job.users
        job.update(status="running", started=time.monotonic())
        status, error = self._run(job)
        log_end(job, users, status)
        with self._changed:
            self._running.remove(job)
            job.update(status=status, error=error)
            self._changed.notify_all()
        self._ended(job)
        return True

    def _run(self, job: Job) -> tuple[Status, str]:
        """Compute the job's result; its status, and what went wrong."""
        limit = settings().max_job_seconds or math.inf
        try:
            job.result = self._answer(job.request, JobContext(job, lambda: self._between_batches(job), limit))
        except Cancelled:
            return "cancelled", ""
        except ExplainLabError as error:
            return "failed", str(error)
        except BaseException:  # also those that would end the thread
            log.exception("job %s failed", job.key[:12], extra={"job": job.key[:12]})
            return "failed", _unexpected(job)
        return "done", ""

    def _between_batches(self, job: Job) -> float:
        """Run all urgent jobs unless ``job`` is urgent; returns the seconds that they took."""
        self._beat = start = time.monotonic()
        if job.urgent or not self._run_next(urgent_only=True):
            return 0.0
        while self._run_next(urgent_only=True):
            continue
        return time.monotonic() - start

    def _abandon(self) -> None:
        with self._changed:
            jobs, self._running = self._running, []
            for job in jobs:
                job.update(status="failed", error=_unexpected(job))
            self._changed.notify_all()
        for job in jobs:
            self._ended(job)


def _unexpected(job: Job) -> str:
    return (
        f"Something unexpected went wrong; the server's log has it under {job.key[:12]}. "
        "Other results are not affected; run it again or report it."
    )
