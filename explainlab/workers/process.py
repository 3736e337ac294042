"""A worker in a process of its own, of this machine or of a cluster, as its server sees it."""

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
from typing import Any

from explainlab.analyses.bodies import of_bodies
from explainlab.analyses.registry import model_digest
from explainlab.errors import ResourceError
from explainlab.limits import Limits
from explainlab.logs import is_json
from explainlab.models.classifier import Prediction
from explainlab.models.context import RunContext
from explainlab.models.devices import choose_device
from explainlab.request import CompleteRequest
from explainlab.result import Result
from explainlab.settings import ROOT
from explainlab.workers.channel import Channel, ChannelClosed, Message
from explainlab.workers.pool import Loaded
from explainlab.workers.version import source_digest
from explainlab.workers.wire import ANSWERED, TOLD, error_of, error_record, reader_record
from explainlab.workers.worker import Elsewhere

log = logging.getLogger(__name__)

_WORKER = "explainlab.workers"
MOST_TRIES = 3
"""So often a task is begun whose process ends in the middle of it."""
_SO_FAR_SECONDS = 5.0
"""So long a page waits for a result so far."""
_END_SECONDS = 5.0


class WorkerLost(Exception):
    """The process has ended. ``busy``: its worker had been there for this task, which may be why."""

    def __init__(self, busy: bool) -> None:
        super().__init__()
        self.busy = busy


class Process:
    """A :class:`explainlab.workers.worker.Worker` in a process of its own, which is started again when it ends.

    A task whose process ends is begun again, :data:`MOST_TRIES` times in all; what it has kept until then is kept.
    ``device`` None: the best there; ``threads`` of a CPU (0: as many as torch takes); ``most_mb``: with more memory
    the process ends (0: no limit). ``module`` is what the process runs, with its arguments, in this environment and
    the ``environment`` besides: by default a worker; otherwise what leads to one elsewhere, which is started again at
    once, and is ``away`` until it says how that is.

    ``restarts`` counts the processes that were lost, ``seen`` is when one last said how it is (monotonic seconds), and
    ``memory_bytes`` its memory then.
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
        self.changed: Callable[[], None] = _nothing
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
        self._link: Link
        self._start()

    @property
    def away(self) -> str:
        """Why nothing can be asked of it now; empty where it can."""
        if not self._elsewhere:
            return ""
        if self._refused:
            return f"The worker on {self.host} has another version of ExplainLab than the server."
        return str(self._state.get("away", "")) if self._state else "The worker is on its way."

    @property
    def device(self) -> str:
        """Where it computes."""
        return str(self._state.get("device", self._device))

    @property
    def loaded(self) -> tuple[Loaded, ...]:
        """The models in its memory when it last said."""
        return tuple(Loaded(**model) for model in self._state.get("loaded", ()))

    @property
    def out_of_memory(self) -> bool:
        """Whether it could not read a word even with one model in memory."""
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
        """Whether it has said how it is."""
        return "version" in self._state and not self._link.lost

    def answer(self, requests: Sequence[CompleteRequest], context: RunContext) -> list[Result]:
        """See :meth:`explainlab.workers.worker.Worker.answer`.

        Raises :class:`Elsewhere` where it is ``away``, :class:`ResourceError` where process after process ends in the
        middle of it, or has another version of the project.
        """
        tries = 0
        while tries < MOST_TRIES:
            link = self._live()
            if self.away:
                raise Elsewhere
            if self._refused:
                raise ResourceError("The files of ExplainLab have changed since it was started.", "Start it again.")
            task = next(self._tasks)
            try:
                return list(_Conversation(link, task, context).results(requests))
            except WorkerLost as lost:
                tries += lost.busy or not self._elsewhere
            finally:
                link.inboxes.pop(task, None)
        raise ResourceError(
            f"The process that computes ended {MOST_TRIES} times in the middle of this.",
            "It may need more memory than there is: try a smaller model, a shorter text or fewer steps.",
        )

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._closed = True
            self._link.end()

    def _live(self) -> Link:
        """What leads to the process, which is started again if it has ended."""
        with self._lock:
            if self._link.lost and not self._closed:
                log.warning("a worker has ended and is started again")
                self.restarts += self._link.ready
                self._start()
            return self._link

    def _start(self) -> None:
        self._state, self._refused = {}, False
        first = {**self._first, "json_logs": is_json()}
        self._link = Link(self._module, self._environment, first, self._hear, self._gone)

    def _hear(self, state: Message) -> None:
        if state.get("version", source_digest()) != source_digest() and not self._refused:
            self._refused = True
            log.error("a worker has another version of the project and is not used")
        before = self.away
        self._state, self.seen = state, time.monotonic()
        if self.away != before:
            self.changed()

    def _gone(self) -> None:
        """The process has ended."""
        if self._elsewhere:
            self._live()
        self.changed()


class Link:
    """A process and what leads to it: messages go there by :meth:`send`, and come from there by task to ``inboxes``.

    It runs ``module``, with its arguments; ``first`` is said first. There is None in each inbox when it has ended, and
    ``lost`` is set. ``hear`` is told how the worker is, ``gone`` is called at its end.
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
        paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", *module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(paths)},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._channel = Channel(self.process.stdout, self.process.stdin)
        threading.Thread(target=self._listen, name="explainlab-listener", daemon=True).start()
        with suppress(ChannelClosed):
            self.send(first)

    def send(self, message: Message) -> None:
        """Send ``message``; raises :class:`ChannelClosed` where the process has ended."""
        self._channel.send(message)

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
                message = self._channel.receive()
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


def _nothing() -> None:
    """Tell nobody."""


class _Conversation:
    """One task: asked, and answered to its end by what the ``context`` of its run does and knows."""

    def __init__(self, link: Link, task: int, context: RunContext) -> None:
        self._link, self._task, self._context = link, task, context
        self._inbox: SimpleQueue[Message | None] = SimpleQueue()
        self._parts: Iterator[Any] = iter(())
        self._so_far: SimpleQueue[Result] = SimpleQueue()
        self._wanted = False
        self._last: Result | None = None
        link.inboxes[task] = self._inbox

    def results(self, requests: Sequence[CompleteRequest]) -> Iterator[Result]:
        """The results; raises :class:`WorkerLost`, and what the run raises."""
        self._send(
            requests=[request.model_dump(mode="json") for request in requests],
            reader=reader_record(self._context.reader),
            workers=self._context.workers,
            digest=model_digest(requests[0]),
        )
        bodies: list[str] = []
        for message in self._messages():
            if "call" in message:
                self._do(message["call"], message["args"])
            elif "body" in message:
                bodies.append(message["body"])
            elif "record" in message:
                yield of_bodies(message["record"], iter(bodies) if bodies else None)
                bodies = []

    def _messages(self) -> Iterator[Message]:
        """What the worker says, to the end of the task."""
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
        if call in ANSWERED:
            try:
                reply = getattr(self, f"_{call}", None) or getattr(self._context, call)
                self._send(reply=reply(*args))
            except WorkerLost:
                raise
            except Exception as error:  # the run raises it there, and ends
                self._send(error=error_record(error))
        elif call == "predicted":
            self._context.predicted(Prediction(**args[0]))
        elif call == "show":
            self._context.show(self._shown)
        elif call == "so_far":
            self._so_far.put(of_bodies(args[0], iter(args[1]) if args[1] else None))
        elif call in TOLD:
            getattr(self._context, call)(*args)

    def _check_cancelled(self) -> tuple[bool, float]:
        """Whether a page wants to see the result so far, and how many seconds others had their turns."""
        start = time.monotonic()
        self._context.check_cancelled()
        wanted, self._wanted = self._wanted, False
        return wanted, time.monotonic() - start

    def _hand_out(self, of: str, parts: Sequence[Any]) -> None:
        self._parts = self._context.hand_out(of, parts)

    def _next_part(self) -> Any:
        return next(self._parts, None)

    def _shown(self) -> Result | None:
        """The result of what is finished when the next batch ends, for which a page waits; else the last one."""
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
