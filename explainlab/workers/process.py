"""A worker in a process of its own, as its server sees it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
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
from explainlab.settings import PACKAGE
from explainlab.workers.channel import Channel, ChannelClosed, Message
from explainlab.workers.pool import Loaded
from explainlab.workers.version import source_digest
from explainlab.workers.wire import ANSWERED, TOLD, error_of, error_record, reader_record

log = logging.getLogger(__name__)

MOST_TRIES = 3
"""So often a task is begun whose process ends in the middle of it."""
_SO_FAR_SECONDS = 5.0
"""So long a page waits for a result so far."""
_END_SECONDS = 5.0


class WorkerLost(Exception):
    """The process has ended. ``busy``: it was computing for this task, which may be why."""

    def __init__(self, busy: bool) -> None:
        super().__init__()
        self.busy = busy


class Process:
    """A :class:`explainlab.workers.worker.Worker` in a process of its own, which is started again when it ends.

    A task whose process ends is begun again, :data:`MOST_TRIES` times in all; what it has kept until then is kept.
    ``device`` None: the best there; ``threads`` of a CPU (0: as many as torch takes); ``most_mb``: with more memory
    the process ends (0: no limit). ``restarts`` counts the processes that were lost, ``seen`` is when one last said how
    it is (monotonic seconds), and ``memory_bytes`` its memory then.
    """

    def __init__(
        self, device: str | None, pool_bytes: int, limits: Limits, threads: int = 0, most_mb: int = 0, name: str = "1"
    ) -> None:
        self.name = name
        self.restarts = 0
        self.seen = time.monotonic()
        self._first = {
            "device": device,
            "pool_bytes": pool_bytes,
            "limits": asdict(limits),
            "most_bytes": most_mb * 2**20,
        }
        self._threads = threads
        self._device = device or str(choose_device())
        self._state: Message = {}
        self._tasks = count()
        self._lock = threading.Lock()
        self._closed = self._refused = False
        self._link: Link
        self._start()

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
    def ready(self) -> bool:
        """Whether it has said how it is."""
        return bool(self._state) and not self._link.lost

    def answer(self, requests: Sequence[CompleteRequest], context: RunContext) -> list[Result]:
        """See :meth:`explainlab.workers.worker.Worker.answer`.

        Raises :class:`ResourceError` where process after process ends in the middle of it.
        """
        tries = 0
        while tries < MOST_TRIES:
            if self._refused:
                raise ResourceError(
                    f"The worker on {self.host} has another version of ExplainLab than the server.",
                    "Give both the same, then start it again.",
                )
            link = self._live()
            task = next(self._tasks)
            try:
                return list(_Conversation(link, task, context).results(requests))
            except WorkerLost as lost:
                tries += lost.busy
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
                self.restarts += 1
                self._state = {}
                self._start()
            return self._link

    def _start(self) -> None:
        self._link = self.connect({**self._first, "json_logs": is_json()}, self._hear)

    def connect(self, first: Message, hear: Callable[[Message], None]) -> Link:
        """A new process, to which ``first`` is said first."""
        return _Pipes(first, self._threads, hear)

    def _hear(self, state: Message) -> None:
        if not self._state and state["version"] != source_digest():
            self._refused = True
            log.error("a worker has another version of the project and is not used")
        self._state, self.seen = state, time.monotonic()


class Link(ABC):
    """What leads to a process: messages go there by :meth:`send`, and come from there by task into ``inboxes``.

    There is None in each when the process has ended, and ``lost`` is set. ``hear`` is told how the worker is.
    """

    def __init__(self, hear: Callable[[Message], None]) -> None:
        self.inboxes: dict[int, SimpleQueue[Message | None]] = {}
        self.lost = False
        self._hear = hear

    @abstractmethod
    def send(self, message: Message) -> None:
        """Send ``message``; raises :class:`ChannelClosed` where the process has ended."""

    @abstractmethod
    def end(self) -> None:
        """End the process, at once."""

    def listen(self, receive: Callable[[], Message]) -> None:
        """Deliver what comes until the process ends; this is what a thread of a link does."""
        try:
            while True:
                message = receive()
                if "state" in message:
                    self._hear(message["state"])
                inbox = self.inboxes.get(message.get("task", -1))
                if inbox is not None:
                    inbox.put(message)
        except ChannelClosed:
            self.lost = True
            for inbox in list(self.inboxes.values()):
                inbox.put(None)


class _Pipes(Link):
    """A process of this machine, with so many ``threads``, and its stdin and stdout."""

    def __init__(self, first: Message, threads: int, hear: Callable[[Message], None]) -> None:
        super().__init__(hear)
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGE.parent), environment.get("PYTHONPATH")]))
        if threads:
            environment["OMP_NUM_THREADS"] = str(threads)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "explainlab.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._channel = Channel(self.process.stdout, self.process.stdin)
        threading.Thread(target=self._listen, name="explainlab-listener", daemon=True).start()
        with suppress(ChannelClosed):
            self.send(first)

    def send(self, message: Message) -> None:
        self._channel.send(message)

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def _listen(self) -> None:
        self.listen(self._channel.receive)
        self.process.wait()


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
                raise WorkerLost(busy=True)
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
