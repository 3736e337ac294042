"""The messages between a server and a worker in a process of its own: plain records, and nothing else.

The server asks with ``{"task", "requests", "reader", "workers", "digest"}``. The worker makes five calls to the run of
its server, ``{"task", "call", "args"}``:

* ``progress``: the name of a receiver, and its values. ``show`` announces that there are partial results; ``shown``
  brings one, with its files.
* ``put``: the name of a cache, bodies by their keys, and whether they take the place of others.
* ``get``: the name of a cache, and keys; the reply has the bodies.
* ``check``: may the run go on? The reply says if a page waits for a partial result, and the seconds that others had.
* ``take``: first the name and all parts of a run, then nothing; the reply is the next part, then None.

The server replies to the last three with ``{"task", "reply"}``, or ``{"task", "error"}``, which the run then raises. A
result comes as ``{"task", "file"}`` for each of its files, then ``{"task", "record"}``; ``{"task", "end"}`` follows the
last, or ``{"task", "error"}``.
A training comes as ``training``, arguments of :func:`explainlab.training.train_files`, beside no requests; a
``{"task", "record"}`` comes for each model. ``{"state"}`` comes every second.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from explainlab import errors
from explainlab.errors import ExplainLabError
from explainlab.limits import Limits
from explainlab.reader import Reader
from explainlab.workers.channel import Message

RECEIVERS = ("report", "expect", "part", "spend", "skip")
"""Receivers of :class:`explainlab.models.context.Receivers` whose values are plain."""


class Unexpected(Exception):
    """An error of a worker that is none of ours; the worker has logged it."""


def error_record(error: BaseException) -> Message:
    """Return ``error`` as a record: one of ours whole, of another only its kind, as its words may quote a text."""
    if isinstance(error, ExplainLabError):
        return {"kind": type(error).__name__, "problem": error.problem, "remedy": error.remedy}
    return {"kind": type(error).__name__, "problem": None}


def error_of(record: Mapping[str, Any]) -> Exception:
    """Return the error of :func:`error_record`."""
    if record["problem"] is None:
        return Unexpected(record["kind"])
    kind = getattr(errors, record["kind"], ExplainLabError)
    return errors.Cancelled() if kind is errors.Cancelled else kind(record["problem"], record["remedy"])


def file_text(content: bytes) -> str:
    """Return a file as text."""
    return b64encode(content).decode("ascii")


def file_of(text: str) -> bytes:
    """Return the file of :func:`file_text`."""
    return b64decode(text)


def reader_record(reader: Reader) -> Message:
    """Return ``reader`` without its watch."""
    folders = {name: folder and str(folder) for name, folder in (("uploads", reader.uploads), ("made", reader.made))}
    return {**folders, "limits": asdict(reader.limits)}


def reader_of(record: Mapping[str, Any]) -> Reader:
    """Return the reader of :func:`reader_record`."""
    uploads, made = (record[name] and Path(record[name]) for name in ("uploads", "made"))
    return Reader(uploads, made, Limits(**record["limits"]))
