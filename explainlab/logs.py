"""Logs as JSON lines. They hold no texts: no error messages and no values of requests.

A hosted instance writes nothing else. Where a library prints a line, the log names the place in the code, but leaves
out the words.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from types import FrameType, TracebackType
from typing import Any, TextIO, cast

log = logging.getLogger(__name__)

_FIELDS = (
    "job",
    "user",
    "kind",
    "method",
    "model",
    "seconds",
    "passes",
    "status",
    "error_id",
    "reason",
    "peer",
    "host",
    "where",
    "file",
)

_PRINTERS = ("logging", "traceback", "warnings", "click.utils", "click.termui")
"""Modules that print on behalf of others."""


class JsonLines(logging.Formatter):
    """A formatter of records as JSON objects: time (UTC), level, logger, place in the code, message, and own fields.

    It leaves out a message that is not a literal of the code, and never fills in the values of a message: they may
    quote a user's text. Of an exception it writes the type and the places in the code.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "where": f"{record.pathname}:{record.lineno}",
        }
        line |= {name: vars(record)[name] for name in _FIELDS if name in vars(record)}
        if record.exc_info and record.exc_info[0]:
            frames = traceback.extract_tb(record.exc_info[2])
            line["exception"] = record.exc_info[0].__name__
            line["raised"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        if _is_literal(record):
            line["message"] = record.msg
        return json.dumps(line, ensure_ascii=False)


class Withheld(io.TextIOBase):
    """A stream in place of stdout and stderr, which logs one record for the writes of a line of code."""

    def __init__(self) -> None:
        self._last = ""

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Log the place in the code that wrote ``text``."""
        where = _printed_by()
        if text.strip() and where != self._last:
            self._last = where
            log.warning("something was printed, which is not repeated here", extra={"where": where})
        return len(text)


def log_as_json() -> None:
    """Write our logs from INFO on, those of libraries from WARNING on, as JSON lines to stderr, and nothing else."""
    handler = logging.StreamHandler(sys.__stderr__)
    handler.setFormatter(JsonLines())
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name.startswith("explainlab."))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(True)
    logging.getLogger("explainlab").setLevel(logging.INFO)
    for name in list(logging.root.manager.loggerDict):
        leave_to_root(logging.getLogger(name))
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda raised: _log_uncaught(raised.exc_type, raised.exc_value, raised.exc_traceback)
    sys.stdout = sys.stderr = cast(TextIO, Withheld())


def is_json() -> bool:
    """Return whether :func:`log_as_json` has been called."""
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.root.handlers)


def leave_to_root(logger: logging.Logger) -> None:
    """Let ``logger`` write nothing itself: its records go to the root's handler."""
    logger.handlers.clear()
    logger.propagate = True


def _log_uncaught(kind: type[BaseException], error: BaseException | None, raised: TracebackType | None) -> None:
    if error is not None:
        log.error("an error that nothing caught", exc_info=(kind, error, raised))


def _is_literal(record: logging.LogRecord) -> bool:
    """Return whether the message is a literal of the code that logged it, so that it cannot quote a text."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and (frame.f_code.co_filename, frame.f_lineno) != (record.pathname, record.lineno):
        frame = frame.f_back
    return frame is not None and isinstance(record.msg, str) and record.msg in frame.f_code.co_consts


def _printed_by() -> str:
    """Return the file and line of the code that printed, below those of the modules in ``_PRINTERS``."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_back is not None and frame.f_globals.get("__name__") in _PRINTERS:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""
