"""Logs of jobs, and logs as JSON lines. They hold no texts: no error messages and no values of requests."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from explainlab.service.jobs import Job, Status
from explainlab.service.questions import kind_of
from explainlab.service.users import User

log = logging.getLogger(__name__)

_FIELDS = ("job", "user", "kind", "method", "model", "seconds", "passes", "status", "error_id")


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
    log.info("job %s: %s", fields["job"], fields["status"], extra=fields)


class JsonLines(logging.Formatter):
    """One JSON object a record: time (UTC), level, logger, message, and the fields of a job.

    Of an exception it holds the type and where it was raised, not its message, which may quote a user's text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
        }
        line |= {name: vars(record)[name] for name in _FIELDS if name in vars(record)}
        if record.exc_info and record.exc_info[0]:
            frames = traceback.extract_tb(record.exc_info[2])
            line["exception"] = record.exc_info[0].__name__
            line["raised"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps({**line, "message": record.getMessage()}, ensure_ascii=False)


def log_as_json() -> None:
    """Write our logs from INFO on, and those of libraries from WARNING on, to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("explainlab").setLevel(logging.INFO)
    for name in list(logging.root.manager.loggerDict):
        for own in logging.getLogger(name).handlers:
            own.setFormatter(JsonLines())
