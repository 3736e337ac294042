"""The workers of a server, as it tells them: to other programs, to Status and to who watches a hosted instance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from explainlab.result import Result
from explainlab.service.engine import Engine
from explainlab.service.jobs import Job
from explainlab.settings import settings
from explainlab.workers.worker import Condition, Worker

_MB = 2**20


def state_of(condition: Condition, busy: bool) -> str:
    """Return ``busy`` or ``idle``, else the reason: ``starting``, ``lost``, ``away``, ``refused`` or ``spare``."""
    if busy:
        return "busy"
    return "idle" if condition.state == "ready" else condition.state


def hands_of(job: Job, engine: Engine, workers: Sequence[Worker]) -> int:
    """Return the number of workers that now run ``job``."""
    having = (engine.at(place) for place in range(len(workers)))
    return sum(other is not None and job in (other, other.helps) for other in having)


def with_device_warning(result: Result, device: str, helpers: Iterable[str]) -> Result:
    """Return ``result``, made on ``device``, with a warning where ``helpers`` did parts on devices of another kind."""
    kinds = {name.partition(":")[0] for name in (device, *helpers)}
    if len(kinds) == 1:
        return result
    return result.with_warning(
        f"Parts of this were computed on different devices ({' and '.join(sorted(kinds))}): "
        "their numbers may differ by rounding, about a hundred-thousandth of the largest score."
    )


def workers_json(workers: Sequence[Worker], engine: Engine | None = None) -> str:
    """Return ``{"engine", "address", "workers"}`` of a server, as JSON; it shows the questions of runs, but no text."""
    body = {
        "engine": settings().engine,
        "address": settings().ray_address,
        "workers": [_record(worker.condition, engine, place) for place, worker in enumerate(workers)],
    }
    return json.dumps(body)


def merged(told: Mapping[str, str]) -> dict[str, Any]:
    """Return the reports of several servers, by their ids, as one report; server ids prefix the ids of workers."""
    bodies = {server: json.loads(record) for server, record in told.items()}
    first: dict[str, Any] = next(iter(bodies.values()))
    every = ((server[:8], worker) for server, body in bodies.items() for worker in body["workers"])
    workers = [{**worker, "id": f"{server}-{worker['id']}"} for server, worker in every]
    return {**first, "workers": workers}


def lines_of(body: Mapping[str, Any]) -> list[str]:
    """Return ``body`` in words: a line a worker."""
    where = f"ray at {body['address'] or 'this machine'}" if body["engine"] == "ray" else body["engine"]
    return [f"engine: {where}", *map(_line, body["workers"])]


def _record(condition: Condition, engine: Engine | None, place: int) -> dict[str, Any]:
    job = engine.at(place) if engine else None
    seen, memory = condition.seen, condition.memory_bytes
    return {
        "id": condition.name,
        "place": condition.place,
        "device": condition.device,
        "models": list(condition.models),
        "state": state_of(condition, job is not None),
        "task": job.request.question if job else None,
        "texts_per_second": round(condition.texts_per_second, 1),
        "memory_mb": None if memory is None else round(memory / _MB),
        "seen": None if seen is None else datetime.fromtimestamp(seen, UTC).isoformat(timespec="seconds"),
    }


def _line(worker: Mapping[str, Any]) -> str:
    doing = f"{worker['state']}, {worker['task']}" if worker["task"] else worker["state"]
    facts = [f"{worker['id']:<12}", worker["place"] or "not there yet", worker["device"], doing]
    facts.append(f"{worker['texts_per_second']:g} texts a second")
    if worker["memory_mb"] is not None:
        facts.append(f"{worker['memory_mb']:,} MB")
    return "  ".join([*facts, f"models: {', '.join(worker['models']) or 'none'}"])
