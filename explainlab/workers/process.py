"""A worker in a process of its own, of this machine or of a cluster: its server's handle, and its tasks."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from explainlab.analyses.bodies import of_bodies
from explainlab.analyses.registry import model_digest
from explainlab.errors import ResourceError
from explainlab.limits import Limits
from explainlab.logs import is_json
from explainlab.models.classifier import Prediction
from explainlab.models.context import Body, RunContext
from explainlab.models.devices import choose_device
from explainlab.request import CompleteRequest
from explainlab.result import Result
from explainlab.settings import PACKAGE
from explainlab.training import Trained
from explainlab.workers.pool import Loaded
from explainlab.workers.protocol import (
    RECEIVERS,
    Channel,
    ChannelClosed,
    Message,
    error_of,
    error_record,
    file_of,
    reader_record,
    source_digest,
)
from explainlab.workers.training import trained_of
from explainlab.workers.worker import MOST_TRIES, Condition, Elsewhere, State, ended_too_often, place_of

_END_SECONDS = 5.0


class ProcessHandle:
    """A process and the way to it: messages go there by :meth:`send`, and come from there by task to ``inboxes``.

    It runs ``module``, with its arguments; ``first`` is the first message over its ``channel``. There is None in each
    inbox when it has ended, and ``lost`` is set. ``hear`` receives every report of the worker's condition, ``gone`` is
    called at the end.
    """

    def __init__(
        self,
        module: Sequence[str],
        environment: Mapping[str, str],
        first: Message,
        hear: Callable[[Message], None],
        gone: Callable[[], None],
    ) -> None:
        self.inboxes: dict[int, SimpleQueue[Message | None]] = {}
        self.lost = self.ready = False
        self._hear, self._gone = hear, gone
        paths = filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", *module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(paths)},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.channel = Channel(self.process.stdout, self.process.stdin)
        threading.Thread(target=self._listen, name="explainlab-listener", daemon=True).start()
        with suppress(ChannelClosed):
            self.send(first)

    def send(self, message: Message) -> None:
        """Send ``message``; raises :class:`ChannelClosed` where the process has ended."""
        self.channel.send(message)

    def end(self) -> None:
        """End the process, at once."""
        self.process.terminate()
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def _listen(self) -> None:
        """Deliver what comes until the process ends."""
        with suppress(ChannelClosed):
            while True:
                message = self.channel.receive()
                if "state" in message:
                    self.ready = self.ready or "version" in message["state"]
                    self._hear(message["state"])
                inbox = self.inboxes.get(message.get("task", -1))
                if inbox is not None:
                    inbox.put(message)
        self.process.wait()
        self.lost = True
        for inbox in list(self.inboxes.values()):
            inbox.put(None)
        self._gone()


_SO_FAR_SECONDS = 5.0
"""Seconds that a page waits for a partial result."""


class WorkerLost(Exception):
    """The process has ended. ``busy``: its worker had been there for this task, which may be why."""

    def __init__(self, busy: bool) -> None:
        super().__init__()
        self.busy = busy


class RemoteTask:
    """One task: asked, and answered to its end by what the ``context`` of its run does and knows."""

    def __init__(self, link: ProcessHandle, task: int, context: RunContext) -> None:
        self._link, self._task, self._context = link, task, context
        self._caches = {"cache": context.cache, "results": context.results}
        self._inbox: SimpleQueue[Message | None] = SimpleQueue()
        self._parts: Iterator[Any] = iter(())
        self._so_far: SimpleQueue[Result] = SimpleQueue()
        self._wanted = False
        self._last: Result | None = None
        link.inboxes[task] = self._inbox

    def results(self, requests: Sequence[CompleteRequest]) -> Iterator[Result]:
        """Yield the results; raises :class:`WorkerLost`, and the errors of the run."""
        self._send(
            requests=[request.model_dump(mode="json") for request in requests],
            reader=reader_record(self._context.reader),
            workers=self._context.shards.workers,
            digest=model_digest(requests[0]),
        )
        files: list[bytes] = []
        for message in self._messages():
            if "call" in message:
                self._do(message["call"], message["args"])
            elif "file" in message:
                files.append(file_of(message["file"]))
            elif "record" in message:
                yield of_bodies(message["record"], files or None)
                files = []

    def trained(self, fields: Mapping[str, Any]) -> Iterator[Trained]:
        """Yield the models that a training makes; raises as :meth:`results`."""
        self._send(requests=[], training=fields, reader=reader_record(self._context.reader), workers=1)
        for message in self._messages():
            if "call" in message:
                self._do(message["call"], message["args"])
            elif "record" in message:
                yield trained_of(message["record"])

    def _messages(self) -> Iterator[Message]:
        """Yield the worker's messages, to the end of the task."""
        if self._link.lost:
            raise WorkerLost(busy=False)
        while True:
            message = self._inbox.get()
            if message is None:
                raise WorkerLost(busy=self._link.ready)
            if "error" in message:
                raise error_of(message["error"])
            if "end" in message:
                return
            yield message

    def _do(self, call: str, args: list[Any]) -> None:
        if call == "progress":
            self._progress(*args)
        elif call == "put":
            name, bodies, renew = args
            self._caches[name].put_many(bodies, renew)
        else:
            asked: dict[str, Callable[..., Any]] = {"check": self._check, "get": self._get, "take": self._take}
            try:
                self._send(reply=asked[call](*args))
            except WorkerLost:
                raise
            except Exception as error:  # the run raises it there, and ends
                self._send(error=error_record(error))

    def _progress(self, name: str, *values: Any) -> None:
        progress = self._context.progress
        if name == "predicted":
            progress.predicted(lambda: Prediction(**values[0]))
        elif name == "show":
            progress.show(self._shown)
        elif name == "shown":
            record, files = values
            self._so_far.put(of_bodies(record, [*map(file_of, files)] or None))
        elif name in RECEIVERS:
            getattr(progress, name)(*values)

    def _get(self, name: str, keys: list[str]) -> dict[str, Body]:
        return self._caches[name].get_many(keys)

    def _check(self) -> tuple[bool, float]:
        """Return whether a page wants to see the partial result, and how many seconds others had their turns."""
        start = time.monotonic()
        self._context.check_cancelled()
        wanted, self._wanted = self._wanted, False
        return wanted, time.monotonic() - start

    def _take(self, *offered: Any) -> Any:
        """Return the next part, None after the last one; ``offered`` are new parts, with the name of all."""
        if offered:
            self._parts = self._context.shards.take(*offered)
        return next(self._parts, None)

    def _shown(self) -> Result | None:
        """Return the result of the finished texts at the end of the next batch, if a page waits; else the last one."""
        self._wanted = True
        with suppress(Empty):
            self._last = self._so_far.get(timeout=_SO_FAR_SECONDS)
        return self._last

    def _send(self, **message: Any) -> None:
        try:
            self._link.send({"task": self._task, **message})
        except ChannelClosed:
            self._link.lost = True
            raise WorkerLost(busy=False) from None


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
