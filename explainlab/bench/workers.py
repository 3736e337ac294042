"""Several workers: how long they take for an evaluation that this process does alone, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from explainlab.analyses.registry import complete, new_request
from explainlab.analyses.run import evaluation_parameters
from explainlab.bench.runner import Row, timed
from explainlab.models.context import RunContext
from explainlab.request import Request
from explainlab.service.fleet.command import answered
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.workers.local import processes
from explainlab.workers.worker import Worker

MODEL, DATA, TEXTS = "embedded:bert-mini-sst2", "embedded:sentiment", 40
METHODS, METRICS = ["integrated_gradients", "kernel_shap", "occlusion"], ["comprehensiveness", "sufficiency"]


def rows(fleet: Sequence[Worker]) -> Iterator[Row]:
    """One row, by the workers of ``fleet``, or by two processes; all have loaded the model before."""
    with ExitStack() as ends:
        workers = fleet or processes(2)
        for worker in () if fleet else workers:
            ends.callback(worker.close)
        alone, together = Service(Store("sqlite://")), Service(Store("sqlite://"), workers=workers)
        for worker in (*alone.workers, *workers):
            worker.answer([complete(Request(model=MODEL, text="a film", question="gradient"))], RunContext())
        parameters = evaluation_parameters(METHODS, METRICS, TEXTS, "first", {}, [])
        request = new_request(question="evaluation", model=MODEL, data=DATA, parameters=parameters)
        ours: Any
        theirs: Any
        ours, seconds = timed(lambda: answered(together, request))
        theirs, rival = timed(lambda: answered(alone, request))
    means = [(own.mean, other.mean) for own, other in zip(ours.body.rows, theirs.body.rows, strict=True)]
    yield Row(
        name="workers",
        work=f"{TEXTS} texts evaluated by {len(workers)} workers",
        device=workers[0].device,
        seconds=seconds,
        rival="this process",
        rival_seconds=rival,
        ratio_to_rival=seconds / rival,
        difference=max(abs(own - other) for own, other in means) / max(abs(other) for _, other in means),
    )
