"""Messages between two processes: plain JSON, each with its length before it."""

from __future__ import annotations

import json
import struct
import threading
from typing import IO, Any

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
