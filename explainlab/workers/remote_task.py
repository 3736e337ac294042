"""A task of a worker in a process of its own, from its server's side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from explainlab.analyses.bodies import of_bodies
from explainlab.analyses.registry import model_digest
from explainlab.models.classifier import Prediction
from explainlab.models.context import Body, RunContext
from explainlab.request import CompleteRequest
from explainlab.result import Result
from explainlab.training import Trained
from explainlab.workers.channel import ChannelClosed, Message
from explainlab.workers.process_handle import ProcessHandle
from explainlab.workers.protocol import RECEIVERS, error_of, error_record, file_of, reader_record
from explainlab.workers.training import trained_of

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
