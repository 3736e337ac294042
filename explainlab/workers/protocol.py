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

import hashlib
import json
import struct
import threading
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import IO, Any

from explainlab import errors
from explainlab.errors import ExplainLabError
from explainlab.limits import Limits
from explainlab.reader import Reader

Message = dict[str, Any]
_LENGTH = struct.Struct(">Q")


class ChannelClosed(Exception):
    """The other side is gone."""


class Channel:
    """Sends and receives messages over two streams of bytes. Any thread may send; one receives.

    ``sent`` and ``received`` count the bytes of the messages.
    """

    def __init__(self, read: IO[bytes], write: IO[bytes]) -> None:
        self.sent = self.received = 0
        self._read, self._write = read, write
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Send ``message``; raises :class:`ChannelClosed` where nobody receives it, ValueError for what is no JSON."""
        body = json.dumps(message).encode("ascii")
        try:
            with self._lock:
                self._write.write(_LENGTH.pack(len(body)))
                self._write.write(body)
                self._write.flush()
                self.sent += len(body)
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            raise ChannelClosed from error

    def receive(self) -> Message:
        """Wait for the next message, and return it. Raises :class:`ChannelClosed` where there will be none."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        message: Message = json.loads(self._exactly(length))
        self.received += length
        return message

    def _exactly(self, length: int) -> bytes:
        try:
            body = self._read.read(length)
        except (OSError, ValueError) as error:
            raise ChannelClosed from error
        if len(body) < length:
            raise ChannelClosed
        return body


_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def source_digest() -> str:
    """Return the SHA-256 of this package's source.

    A server refuses workers of other sources than its own.
    """
    whole = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        whole.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


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
