"""The engine of workers: it runs the jobs of its queue in turns, one batch at a time at every worker."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain

from explainlab.errors import Cancelled, ExplainLabError, ResourceError
from explainlab.service.engine import HELD_SECONDS, Ended, Help, Work
from explainlab.service.jobs import HelpContext, Job, JobContext, Status
from explainlab.service.logs import log_end
from explainlab.service.resolved import ResolvedRequest
from explainlab.service.scheduler import Scheduler
from explainlab.service.users import User
from explainlab.settings import settings
from explainlab.workers.worker import MOST_TRIES, Elsewhere, ended_too_often, is_retired

log = logging.getLogger(__name__)

_KEPT = 512
_WATCH_SECONDS = 1.0


Preference = Callable[[Job], Sequence[Sequence[int]]]


def _in_order(places: int) -> Preference:
    return lambda _: [range(places)]


class Dispatcher:
    """The :class:`explainlab.service.engine.Engine` of this process: a queue of jobs, and their turns.

    ``answer`` computes the result of one request at one of the ``places``, each of a worker; ``prefer`` chooses those
    that may begin a job: see :class:`explainlab.service.engine.MakeEngine`. Equal requests share one job. A job that
    has begun has a thread for itself, but at each place only one at a time has its turn: the others wait. Between two
    batches :class:`Scheduler` chooses the next job. An idle place takes a part that another place has handed out: that
    is ``help``. An error of a job never ends a place. ``ended`` is called after each job and must not raise. The last
    512 finished jobs are kept, so that pages can read how theirs ended.
    """

    def __init__(
        self,
        answer: Work,
        ended: Ended = lambda _: None,
        help: Help = lambda *_: None,
        places: int = 1,
        prefer: Preference | None = None,
    ) -> None:
        self._answer = answer
        self._help = help
        self._ended = ended
        self._prefer = prefer or _in_order(places)
        self._scheduler = Scheduler()
        self._turns: list[Job | None] = [None] * places
        self._beats = [time.monotonic()] * places
        self._begins: list[Job] = []  # jobs that have their first turn, until a thread takes them
        self._idle = 0  # threads without a job
        self._closed = False
        self._watching: threading.Timer | None = None
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._changed = threading.Condition()
        self._add_thread()

    def submit(
        self,
        key: str,
        asked: ResolvedRequest,
        urgent: bool = True,
        record: bool = True,
        more: Sequence[ResolvedRequest] = (),
    ) -> Job:
        """See :meth:`explainlab.service.engine.Engine.submit`."""
        user = asked.user
        with self._changed:
            if self._closed:
                raise ResourceError("This service is closed.", "Open another one.")
            job = self._jobs.get(key)
            if job is None or job.progress.finished or job.stop.is_set():
                self._require_room(user)
                job = self._jobs[key] = Job(key, asked, [], urgent, more=tuple(more))
                self._jobs.move_to_end(key)
                self._scheduler.add(job)
                self._forget()
            if user not in job.users:
                job.users.append(user)
            if record:
                job.readers.add(user)
            job.awaited |= urgent
            job.seen = time.monotonic()
            self._scheduler.changed()
            self._use_idle(list(chain(*self._prefer(job))))
            self._watch()
            return job

    def job(self, key: str) -> Job | None:
        """Return the job under ``key``, if it is waiting, running or among the last that ended."""
        return self._jobs.get(key)

    def unfinished(self) -> list[Job]:
        """Return the jobs that have begun, then the waiting ones in their order."""
        with self._changed:
            return [*self._begun(), *self._scheduler.order()]

    def position(self, key: str) -> int:
        """Return the number of jobs ahead; 0 if it runs, takes turns with other users' jobs, or has ended.

        An urgent job does not wait for jobs that are not urgent.
        """
        with self._changed:
            job, waiting = self._jobs.get(key), self._scheduler.order()
            if job is None or job not in waiting:
                return 0 if job is None else self._scheduler.ahead(job)
            return waiting.index(job) + sum(other.urgent or not job.urgent for other in self._begun())

    def cancel(self, key: str, user: User) -> None:
        """See :meth:`explainlab.service.engine.Engine.cancel`."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or user not in job.users:
                return
            job.users.remove(user)
            self._scheduler.changed()
            if job.users:
                return
            job.stop.set()
            waited = not job.begun and not job.progress.finished
            if waited:
                self._scheduler.discard(job)
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

    def wake(self) -> None:
        """See :meth:`explainlab.service.engine.Engine.wake`."""
        with self._changed:
            self._use_idle(range(len(self._turns)))

    def close(self) -> None:
        """See :meth:`explainlab.service.engine.Engine.close`."""
        with self._changed:
            self._closed = True
            for job in self._scheduler.waiting():
                self._scheduler.discard(job)
                job.update(status="cancelled")
            for job in self._jobs.values():
                job.stop.set()
            self._changed.notify_all()

    @property
    def silent_seconds(self) -> float:
        """Seconds since a running job last gave a sign of life, before a batch; 0 when idle."""
        now = time.monotonic()
        return max((now - beat for turn, beat in zip(self._turns, self._beats, strict=True) if turn), default=0.0)

    @property
    def held(self) -> set[int]:
        """See :attr:`explainlab.service.engine.Engine.held`."""
        late = time.monotonic() - HELD_SECONDS
        return {place for place, turn in enumerate(self._turns) if turn and self._beats[place] < late}

    def at(self, place: int) -> Job | None:
        """Return the job that has its turn at ``place``; it may be one that helps another."""
        return self._turns[place]

    def _watch(self) -> None:
        """Look every second, while an urgent job waits, for a place where it may begin; the lock is held."""
        if not (self._watching or self._closed) and any(job.urgent for job in self._scheduler.waiting()):
            timer = threading.Timer(_WATCH_SECONDS, self._look)
            timer.daemon = True
            with suppress(RuntimeError):  # there is no memory for a thread
                timer.start()
                self._watching = timer

    def _look(self) -> None:
        with self._changed:
            self._watching = None
            self._use_idle(range(len(self._turns)))
            self._watch()

    def _begun(self) -> list[Job]:
        return [job for job in self._scheduler.begun() if not job.helps]

    def _require_room(self, user: User) -> None:
        waiting = self._scheduler.waiting()
        own, half = sum(user in job.users for job in waiting), max(1, settings().max_queue // 2)
        if len(waiting) >= settings().max_queue:
            problem, name = f"The queue is full: {len(waiting)} jobs are waiting.", "max_queue"
        elif own >= settings().max_queue_per_user:
            problem, name = f"{own} jobs of yours are waiting already.", "max_queue_per_user"
        elif own >= half:
            problem, name = f"{own} jobs of yours are waiting; half of the queue is for other users.", "max_queue"
        else:
            return
        raise ResourceError(problem, f"Try again when some have finished. {settings().words(name)}")

    def _forget(self) -> None:
        ended = [key for key, job in self._jobs.items() if job.progress.finished]
        for key in ended[: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[key]

    def _add_thread(self) -> None:
        """Start another thread; raises RuntimeError where there is no memory for one."""
        threading.Thread(target=self._work, name="explainlab-worker", daemon=True).start()
        self._idle += 1

    def _replace_thread(self) -> bool:
        """Return whether another thread could be had for this one, which is idle."""
        with self._changed:
            try:
                self._add_thread()
            except RuntimeError:
                return False
            self._idle -= 1
            return True

    def _use_idle(self, order: Sequence[int]) -> None:
        """Give the next jobs their turns where there is none, in this ``order`` of places; the lock is held."""
        for place in order:
            if self._turns[place] is None:
                self._pass_on(place)

    def _pass_on(self, place: int) -> None:
        """Give the next job its turn at ``place``; the lock is held. Where no thread can be had, none begins."""
        self._beats[place] = time.monotonic()
        job = self._scheduler.turn(place, lambda job: self._begins_at(place, job)) or self._helper(place)
        if job is not None and not job.begun:
            try:
                if not self._idle:
                    self._add_thread()
            except RuntimeError:
                job = self._scheduler.turn(place, lambda _: False)
            else:
                self._idle -= 1
                job.place = place
                if job.helps:
                    self._scheduler.add(job)
                self._begins.append(job)
                job.update(status="running", started=time.monotonic())
        self._turns[place] = job
        self._changed.notify_all()

    def _begins_at(self, place: int, job: Job) -> bool:
        """Return whether the waiting ``job`` may begin at ``place``.

        One that is not urgent begins beside another only where no place without a job of its own is left.
        """
        able = self._prefer(job)
        if not job.urgent and self._shared(place) and not all(self._shared(at) for at in chain(*able)):
            return False
        for group in able:
            if place in group:
                return True
            if job.urgent and not all(any(own.urgent for own in self._scheduler.begun(at)) for at in group):
                return False
        return False

    def _shared(self, place: int) -> bool:
        """Return whether a job that helps no other has begun at ``place``."""
        return any(not own.helps for own in self._scheduler.begun(place))

    def _helper(self, place: int) -> Job | None:
        """Return a job that helps, at ``place``, another one that has parts to take; None if there is none."""
        for main in self._begun():
            if main.place == place or main.alone or not main.parts.waiting or not main.context:
                continue
            if any(place in group for group in self._prefer(main)):
                return Job(main.key, main.context.asked, list(main.users), helps=main)
        return None

    def _work(self) -> None:
        """Do one job after another, until the dispatcher is closed."""
        while True:
            try:
                with self._changed:
                    self._changed.wait_for(lambda: self._begins or self._closed)
                    if not self._begins:
                        return
                    job = self._begins.pop(0)
            except BaseException:
                log.exception("the worker was interrupted")
            else:
                self._perform(job)
                if is_retired() and self._replace_thread():
                    return

    def _make_way(self, job: Job) -> float:
        """Let others have their turns between two batches of ``job``; the seconds that they took."""
        with self._changed:
            start = time.monotonic()
            self._pass_on(job.place)
            if self._turns[job.place] is job:
                return 0.0
            if job.helps:
                job.helps.parts.waits(job, True)
            self._changed.wait_for(lambda: self._turns[job.place] is job)
            if job.helps:
                job.helps.parts.waits(job, False)
            return time.monotonic() - start

    def _perform(self, job: Job) -> None:
        """Run ``job`` to its end."""
        users, status, error = list(job.users), "cancelled", ""
        if job.helps:
            self._assist(job, job.helps)
        else:
            job.parts.changed = self.wake
            status, error = self._run(job)
            job.parts.offer("", ())
            if status != "queued":
                log_end(job, users, status)
        with self._changed:
            if status != "queued":
                self._scheduler.discard(job)
            job.partial_result = job.context = None
            job.update(status=status, error=error)
            self._idle += 1
            self._changed.notify_all()
            if self._turns[job.place] is job:
                self._pass_on(job.place)
        if not job.helps and status != "queued" and not self._closed:  # a closed service leaves its jobs cut short
            self._ended(job)

    def _assist(self, job: Job, main: Job) -> None:
        """Do parts of ``main``; where that fails, it does them itself and tells why."""
        try:
            self._help(job.asked, HelpContext(job, main, lambda: self._make_way(job)))
        except (Cancelled, Elsewhere):
            pass
        except BaseException:
            log.exception("a worker could not help with job %s", job.key[:12], extra={"job": job.key[:12]})
            main.alone = True
        finally:
            main.parts.lose(job)

    def _run(self, job: Job) -> tuple[Status, str]:
        """Answer the job's requests; return its status and the error.

        A failed request of a set stops no other. A job that loses its worker is queued again, with its answers.
        """
        hands = sum(map(len, self._prefer(job)))
        context = job.context = JobContext(job, lambda: self._make_way(job), hands)
        for asked in job.all_asked[len(job.outcomes) :]:
            status, error = self._answered(job, asked, context)
            if status in ("cancelled", "queued") or not job.more:
                return status, error
        return "done", ""

    def _answered(self, job: Job, asked: ResolvedRequest, context: JobContext) -> tuple[Status, str]:
        """Compute the result of a request of ``job``; the status of that, and what went wrong."""
        try:
            context.begin_request(asked)  # the job may have waited long for its turn
            result = self._answer(asked, context)
        except Cancelled:
            return "cancelled", "" if job.stop.is_set() else _forsaken()
        except Elsewhere as gone:
            job.tries += gone.tries
            if job.tries < MOST_TRIES:
                return ("cancelled", "") if job.stop.is_set() else ("queued", "")
            problem = str(ended_too_often())
        except ExplainLabError as error:
            problem = str(error)
        except BaseException:  # also those that would end the thread
            log.exception("job %s failed", job.key[:12], extra={"job": job.key[:12]})
            problem = _unexpected(job)
        else:
            job.result = None if job.more else result
            job.outcomes.append(result)
            return "done", ""
        job.outcomes.append(problem)
        return "failed", problem


def _forsaken() -> str:
    return f"No page waited for it any more. {settings().words('max_unwatched_seconds')}"


def _unexpected(job: Job) -> str:
    return (
        f"Something unexpected went wrong; the server's log has it under {job.key[:12]}. "
        "Other results are not affected; run it again or report it."
    )
