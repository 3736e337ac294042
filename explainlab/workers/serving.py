"""The process of a worker: it answers its server's requests, several at once, each on a thread of its own."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol

import psutil

from explainlab.analyses.bodies import in_bodies
from explainlab.analyses.registry import model_digest
from explainlab.errors import ModelError
from explainlab.models.classifier import Prediction
from explainlab.models.context import Body, Receivers, RunContext, Shards, ignore
from explainlab.models.devices import free_cached
from explainlab.reader import Reader
from explainlab.request import CompleteRequest
from explainlab.workers.answering import Answering
from explainlab.workers.protocol import (
    ChannelClosed,
    Message,
    error_of,
    error_record,
    file_text,
    reader_of,
    source_digest,
)

log = logging.getLogger(__name__)

STATE_SECONDS = 1.0
"""Seconds between two reports of a worker's state."""
IDLE_SECONDS = 5.0
"""A worker without a task for this time gives unused memory back."""
_OFTEN, _RARELY, _ASKING = 0.01, 0.5, 0.02
"""Seconds between two questions of a run whether it may go on: the least, the most, and in between the share of the
time that such a question may take on a slow connection."""
_TELL_SECONDS = 0.05
TOO_LARGE = 3
"""Exit code of a process that has more memory than it may."""


class RemoteRun:
    """A run, whose server has the real ``context``; only one ``of_text`` reports its predictions.

    ``ask`` and ``tell`` send the calls of :mod:`explainlab.workers.protocol`.
    """

    def __init__(
        self, ask: Callable[..., Any], tell: Callable[..., None], reader: Reader, workers: int, of_text: bool
    ) -> None:
        self._ask, self._tell = ask, tell
        self._asked = self._reported = 0.0
        self._often = _OFTEN
        self._result: Callable[[], Any] | None = None
        self.context = RunContext(
            replace(reader, watch=self._reading),
            Receivers(
                self._report,
                self._expect,
                partial(tell, "progress", "part"),
                partial(tell, "progress", "spend"),
                partial(tell, "progress", "skip"),
                predicted=self._predicted if of_text else ignore,
                show=self._show,
            ),
            self._check_cancelled,
            cache=RemoteCache("cache", ask, tell),
            results=RemoteCache("results", ask, tell),
            shards=Shards(workers, take=self._take),
        )

    def _report(self, done: int, total: int, phase: str) -> None:
        if done == total or time.monotonic() - self._reported > _TELL_SECONDS:
            self._reported = time.monotonic()
            self._tell("progress", "report", done, total, phase)

    def _expect(self, work: float, exact: bool = True) -> None:
        self._tell("progress", "expect", work, exact)

    def _predicted(self, prediction: Callable[[], Prediction]) -> None:
        self._tell("progress", "predicted", asdict(prediction()))

    def _show(self, result: Callable[[], Any]) -> None:
        if self._result is None:
            self._tell("progress", "show")
        self._result = result

    def _check_cancelled(self) -> None:
        start = time.monotonic()
        if start - self._asked < self._often:
            return
        wants_result, paused = self._ask("check")
        self._asked = time.monotonic()
        self._often = min(_RARELY, max(_OFTEN, (self._asked - start - paused) / _ASKING))
        if wants_result and self._result is not None:
            record, files = in_bodies(self._result())
            self._tell("progress", "shown", record, [*map(file_text, files)])

    def _take(self, of: str, parts: Sequence[Any]) -> Iterator[Any]:
        part = self._ask("take", of, list(parts))
        while part is not None:
            yield part
            part = self._ask("take")

    def _reading(self, share: float) -> None:
        self._report(round(100 * share), 100, "percent of the file")
        self._check_cancelled()


class RemoteCache:
    """The cache with this ``name`` of the server's run."""

    def __init__(self, name: str, ask: Callable[..., Any], tell: Callable[..., None]) -> None:
        self._name, self._ask, self._tell = name, ask, tell

    def get_many(self, keys: Collection[str]) -> dict[str, Body]:
        """See :class:`explainlab.models.context.Cache`."""
        found: dict[str, Body] = self._ask("get", self._name, list(keys))
        return found

    def put_many(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        """See :class:`explainlab.models.context.Cache`."""
        self._tell("put", self._name, dict(bodies), renew)


class Talk(Protocol):
    """A connection to a server: see :class:`explainlab.workers.protocol.Channel`."""

    def send(self, message: Message) -> None:
        """Send ``message``."""

    def receive(self) -> Message:
        """Return the next message."""


class Serving:
    """The server side of ``channel``: messages are answered by ``answering`` until the server is gone.

    ``most_bytes``: with more anonymous memory the process ends (0: no limit), so that its server starts another.
    """

    def __init__(self, channel: Talk, answering: Answering, most_bytes: int = 0) -> None:
        self._channel = channel
        self._answering = answering
        self._most_bytes = most_bytes
        self._replies: dict[int, SimpleQueue[Message]] = {}
        self._ended: float | None = None  # when (monotonic) a task did so whose memory has not been given back

    def run(self) -> None:
        """Serve until the channel is closed."""
        threading.Thread(target=self._tell_state, daemon=True).start()
        try:
            while True:
                message = self._channel.receive()
                task = message["task"]
                if "requests" in message:
                    self._replies[task] = SimpleQueue()
                    threading.Thread(target=self._answer, args=(message,), daemon=True).start()
                elif task in self._replies:
                    self._replies[task].put(message)
        except ChannelClosed:
            return

    def state(self) -> Message:
        """Return the state of this worker."""
        return {
            "version": source_digest(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "device": self._answering.device,
            "loaded": [asdict(model) for model in self._answering.loaded],
            "out_of_memory": self._answering.out_of_memory,
            "free_bytes": self._answering.free_bytes,
            "device_bytes": self._answering.device_bytes,
            "texts_per_second": self._answering.meter.rate,
            "memory_bytes": psutil.Process().memory_info().rss,
        }

    def _tell_state(self) -> None:
        while True:
            state = self.state()
            try:
                self._channel.send({"state": state})
            except ChannelClosed:
                return
            if self._most_bytes and state["memory_bytes"] > self._most_bytes:
                log.error("this worker has more memory than it may, and ends")
                os._exit(TOO_LARGE)
            time.sleep(STATE_SECONDS)
            if self._ended and not self._replies and time.monotonic() - self._ended > IDLE_SECONDS:
                self._ended = None
                free_cached()

    def _answer(self, message: Message) -> None:
        """Answer one task, to its end."""
        task = message["task"]
        try:
            context = RemoteRun(
                lambda name, *args: self._ask(task, name, *args),
                lambda name, *args: self._channel.send({"task": task, "call": name, "args": args}),
                reader_of(message["reader"]),
                message["workers"],
                any(fields["text"] is not None for fields in message["requests"]),
            ).context
            for said in self._trained(message, context) if "training" in message else self._results(message, context):
                self._channel.send({"task": task, **said})
            self._end(task, {"end": True})
        except ChannelClosed:
            pass
        except BaseException as error:
            record = error_record(error)
            if record["problem"] is None:
                log.exception("a task failed")
            self._end(task, {"error": record})

    def _results(self, message: Message, context: RunContext) -> Iterator[Message]:
        """Yield the messages with the results that the server asks for."""
        requests = [CompleteRequest(**fields) for fields in message["requests"]]
        if model_digest(requests[0]) != message["digest"]:
            raise ModelError(
                f"The worker has other files of {requests[0].model} than the server.",
                "Give both the same files, then run it again.",
            )
        for result in self._answering.answer(requests, context):
            record, files = in_bodies(result)
            for file in files:
                yield {"file": file_text(file)}
            yield {"record": record}

    def _trained(self, message: Message, context: RunContext) -> Iterator[Message]:
        """Yield the messages with the models that the server wants to be made."""
        for trained in self._answering.train(message["training"], context):
            yield {"record": asdict(trained)}

    def _end(self, task: int, message: Message) -> None:
        del self._replies[task]
        self._ended = time.monotonic()
        with suppress(ChannelClosed):
            self._channel.send({"task": task, **message, "state": self.state()})

    def _ask(self, task: int, name: str, *args: Any) -> Any:
        self._channel.send({"task": task, "call": name, "args": args})
        message = self._replies[task].get()
        if "error" in message:
            raise error_of(message["error"])
        return message["reply"]
