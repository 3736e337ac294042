"""Computation of requests on one device, with the models that it keeps loaded."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import psutil

from explainlab.analyses.registry import answer_alone, answer_targets
from explainlab.errors import MemoryShortage
from explainlab.limits import Limits
from explainlab.models.context import Receivers, RunContext
from explainlab.models.devices import choose_device, free_memory, is_out_of_memory, whole_memory
from explainlab.request import CompleteRequest
from explainlab.result import Result
from explainlab.training import Trained
from explainlab.workers.pool import Loaded, ModelPool
from explainlab.workers.training import train_here
from explainlab.workers.worker import Condition, Meter, place_of, retire_thread

log = logging.getLogger(__name__)
T = TypeVar("T")


class Answering:
    """The worker of this process: see :class:`explainlab.workers.worker.Worker`.

    Where memory runs out a request is tried once more, with nothing in memory but its model, loaded anew.
    """

    away = ""

    def __init__(self, device: str | None, limit_bytes: int, limits: Limits, spare: bool = False) -> None:
        self.pool = ModelPool(device, limit_bytes, limits)
        self.device = str(choose_device(device))
        self.out_of_memory = False
        self.meter = Meter()
        self.spare = spare
        self.changed: Callable[[], None] = lambda: None
        self._limits = limits

    @property
    def loaded(self) -> tuple[Loaded, ...]:
        """The models in memory."""
        return self.pool.loaded

    @property
    def free_bytes(self) -> int:
        """Memory of the device that is free."""
        return free_memory(choose_device(self.device))

    @property
    def device_bytes(self) -> int:
        """Memory of the device in all."""
        return whole_memory(choose_device(self.device))

    @property
    def condition(self) -> Condition:
        """The condition of this process."""
        return Condition(
            name="here" if self.spare else "1",
            state="spare" if self.spare else "ready",
            place=place_of({"host": socket.gethostname(), "pid": os.getpid()}),
            device=self.device,
            models=tuple(model.id for model in self.loaded),
            texts_per_second=self.meter.rate,
            memory_bytes=psutil.Process().memory_info().rss,
            seen=time.time(),
        )

    def answer(self, requests: Sequence[CompleteRequest], context: RunContext) -> list[Result]:
        """See :meth:`explainlab.workers.worker.Worker.answer`."""
        outcome = self._attempt(requests, context)
        if isinstance(outcome, MemoryShortage):
            log.warning("memory ran out: models are loaded anew")
            retire_thread()
            outcome = on_new_thread(partial(self._attempt_alone, requests, context))
        if isinstance(outcome, MemoryShortage):
            raise outcome
        return outcome

    def train(self, fields: Mapping[str, Any], context: RunContext) -> list[Trained]:
        """See :meth:`explainlab.workers.worker.Worker.train`."""
        return train_here(fields, context, self.device)

    def close(self) -> None:
        """See :meth:`explainlab.workers.worker.Worker.close`."""
        self.pool.clear()

    def _attempt(self, requests: Sequence[CompleteRequest], context: RunContext) -> list[Result] | MemoryShortage:
        """Return the results, or the error of memory that ran out: without its cause, which would hold its tensors."""
        try:
            return self._answered(requests, context)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            told = error if isinstance(error, MemoryShortage) else MemoryShortage()
            return MemoryShortage(told.problem, told.remedy)

    def _attempt_alone(self, requests: Sequence[CompleteRequest], context: RunContext) -> list[Result] | MemoryShortage:
        """Answer as :meth:`_attempt`, with nothing in memory but the model, loaded anew."""
        self.pool.clear()
        outcome = self._attempt(requests, context)
        if isinstance(outcome, MemoryShortage):
            self.pool.clear()
            self.out_of_memory = not self.pool.reads(requests[0].model, requests[0].dtype)
        return MemoryShortage() if self.out_of_memory else outcome

    def _answered(self, requests: Sequence[CompleteRequest], context: RunContext) -> list[Result]:
        first = requests[0]
        context = replace(context, progress=context.progress.then(Receivers(read=self.meter.add)))
        alone = answer_alone(first, context, self.device, self._limits)
        if alone is not None:
            return [alone.answering(first)]
        classifier = self.pool.get(first.model, first.dtype)
        results = answer_targets(classifier, requests, context)
        self.out_of_memory = False
        return [result.answering(request) for result, request in zip(results, requests, strict=True)]


def on_new_thread(call: Callable[[], T]) -> T:
    """Return the result of ``call`` on a thread of its own, or on this one where there is no memory for another.

    A thread in which oneDNN (torch on a CPU) once had no memory for a kernel makes none any more: its code generator
    keeps the error for each thread.
    """
    with ThreadPoolExecutor(1) as threads:
        try:
            running = threads.submit(call)
        except RuntimeError:
            return call()
        return running.result()
