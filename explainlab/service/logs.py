"""Logs of jobs, without their texts."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from explainlab.analyses.registry import kind_of
from explainlab.service.jobs import Job, Status
from explainlab.service.users import User

log = logging.getLogger(__name__)


def log_end(job: Job, users: Sequence[User], status: Status) -> None:
    """Log one line on a job of ``users`` that has ended with ``status``."""
    request, cost, started = job.request, job.result and job.result.cost, job.progress.started
    assert started is not None
    fields = {
        "job": job.key[:12],
        "user": ", ".join(user.id for user in users),
        "kind": kind_of(request),
        "method": request.question,
        "model": request.model,
        "seconds": round(time.monotonic() - started, 3),
        "passes": cost.forward + cost.backward if cost else None,
        "status": status,
    }
    log.info("a job has ended", extra=fields)
