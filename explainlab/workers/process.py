"""A worker in a process of its own, of this machine or of a cluster, as its server sees it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import count
from typing import Any, TypeVar

from explainlab.errors import ResourceError
from explainlab.limits import Limits
from explainlab.logs import is_json
from explainlab.models.context import RunContext
from explainlab.models.devices import choose_device
from explainlab.request import CompleteRequest
from explainlab.result import Result
from explainlab.training import Trained
from explainlab.workers.channel import Message
from explainlab.workers.condition import Condition, State, place_of
from explainlab.workers.pool import Loaded
from explainlab.workers.process_handle import ProcessHandle
from explainlab.workers.remote_task import RemoteTask, WorkerLost
from explainlab.workers.version import source_digest
from explainlab.workers.worker import MOST_TRIES, Elsewhere, ended_too_often

log = logging.getLogger(__name__)
T = TypeVar("T")

_WORKER = "explainlab.workers"


class Process:
    """A :class:`explainlab.workers.worker.Worker` in a process of its own, which is started again when it ends.

    A task whose process ends is begun again, :data:`MOST_TRIES` times in all, with the results that it has kept.
    ``device`` None: the best there; ``threads`` of a CPU (0: as many as torch takes); ``most_mb``: with more memory the
    process ends (0: no limit). ``module`` is the program of the process, with its arguments, in this environment and
    the ``environment`` besides: by default a worker; otherwise the way to a worker elsewhere. That one is started again
    at once, and is ``away`` until it reports the state of the worker.

    ``restarts`` counts the processes that were lost, ``seen`` is the time of the last report of one (monotonic
    seconds), and ``memory_bytes`` its memory then.
    """

    spare = False

    def __init__(
        self,
        device: str | None,
        pool_bytes: int,
        limits: Limits,
        threads: int = 0,
        most_mb: int = 0,
        name: str = "1",
        module: Sequence[str] = (_WORKER,),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.restarts = 0
        self.seen = time.monotonic()
        self.changed: Callable[[], None] = lambda: None
        self._first = {
            "device": device,
            "pool_bytes": pool_bytes,
            "limits": asdict(limits),
            "most_bytes": most_mb * 2**20,
        }
        self._module, self._environment = tuple(module), {**(environment or {})}
        if threads:
            self._environment["OMP_NUM_THREADS"] = str(threads)
        self._elsewhere = self._module[0] != _WORKER
        self._device = device or str(choose_device())
        self._state: Message = {}
        self._tasks = count()
        self._lock = threading.Lock()
        self._closed = self._refused = False
        self._link: ProcessHandle
        self._start()

    @property
    def away(self) -> str:
        """The reason why it takes no tasks now; empty where it does."""
        if not self._elsewhere:
            return ""
        if self._refused:
            return self._refusal
        return str(self._state.get("away", "")) if self._state else "The worker is on its way."

    @property
    def condition(self) -> Condition:
        """Its condition by its last report."""
        here = not self._link.lost
        return Condition(
            name=self.name,
            state=self._condition_state,
            place=place_of(self._state),
            device=self.device,
            models=tuple(model.id for model in self.loaded) if here else (),
            texts_per_second=self._state.get("texts_per_second", 0.0) if here else 0.0,
            memory_bytes=self.memory_bytes if here else None,
            seen=time.time() - (time.monotonic() - self.seen) if self._state else None,
            restarts=self.restarts,
            sent=self._link.channel.sent,
            received=self._link.channel.received,
            problem=self._refusal if self._refused else str(self._state.get("away", "")),
        )

    @property
    def _condition_state(self) -> State:
        if self._refused:
            return "refused"
        if "away" in self._state:
            return "away"
        return "lost" if self._link.lost else "ready" if self._state else "starting"

    @property
    def _refusal(self) -> str:
        return f"The worker on {self.host} has another version of ExplainLab than the server."

    @property
    def device(self) -> str:
        """The device on which it computes."""
        return str(self._state.get("device", self._device))

    @property
    def loaded(self) -> tuple[Loaded, ...]:
        """The models in its memory when it last said."""
        return tuple(Loaded(**model) for model in self._state.get("loaded", ()))

    @property
    def out_of_memory(self) -> bool:
        """True if it could not read a word even with one model in memory."""
        return bool(self._state.get("out_of_memory"))

    @property
    def free_bytes(self) -> int | None:
        """Free memory of its device when it last said."""
        return self._state.get("free_bytes")

    @property
    def memory_bytes(self) -> int | None:
        """Its own memory when it last said."""
        return self._state.get("memory_bytes")

    @property
    def pid(self) -> int:
        """The id of its process; 0 while it is not known."""
        return int(self._state.get("pid", 0))

    @property
    def host(self) -> str:
        """The name of its machine; empty while it is not known."""
        return str(self._state.get("host", ""))

    @property
    def device_bytes(self) -> int | None:
        """Memory of its device in all."""
        return self._state.get("device_bytes")

    @property
    def ready(self) -> bool:
        """True once it has reported its state."""
        return "version" in self._state and not self._link.lost

    def answer(self, requests: Sequence[CompleteRequest], context: RunContext) -> list[Result]:
        """See :meth:`explainlab.workers.worker.Worker.answer`.

        Raises :class:`Elsewhere` where it is ``away``, :class:`ResourceError` where process after process ends in the
        middle of it, or has another version of the project.
        """
        return self._told(lambda conversation: conversation.results(requests), context)

    def train(self, fields: Mapping[str, Any], context: RunContext) -> list[Trained]:
        """See :meth:`explainlab.workers.worker.Worker.train`; raises as :meth:`answer`."""
        return self._told(lambda conversation: conversation.trained(fields), context)

    def _told(self, talk: Callable[[RemoteTask], Iterator[T]], context: RunContext) -> list[T]:
        """Return the outcomes of a conversation of ``talk``, in process after process until one ends well."""
        tries = 0
        while tries < MOST_TRIES:
            link = self._live()
            if self.away:
                raise Elsewhere(tries)
            if self._refused:
                raise ResourceError("The files of ExplainLab have changed since it was started.", "Start it again.")
            task = next(self._tasks)
            try:
                return list(talk(RemoteTask(link, task, context)))
            except WorkerLost as lost:
                tries += lost.busy or not self._elsewhere
            finally:
                link.inboxes.pop(task, None)
        raise ended_too_often()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._closed = True
            self._link.end()

    def _live(self) -> ProcessHandle:
        """Return the connection to the process, restarting the process if it has ended."""
        with self._lock:
            if self._link.lost and not self._closed:
                log.warning("a worker has ended and is started again")
                self.restarts += self._link.ready
                self._start()
            return self._link

    def _start(self) -> None:
        self._state, self._refused = {}, False
        first = {**self._first, "json_logs": is_json()}
        self._link = ProcessHandle(self._module, self._environment, first, self._hear, self._gone)

    def _hear(self, state: Message) -> None:
        if state.get("version", source_digest()) != source_digest() and not self._refused:
            self._refused = True
            log.error("a worker has another version of the project and is not used")
        before = self.away
        self._state, self.seen = state, time.monotonic()
        if self.away != before:
            self.changed()

    def _gone(self) -> None:
        """React to the end of the process."""
        if self._elsewhere:
            self._live()
        self.changed()
