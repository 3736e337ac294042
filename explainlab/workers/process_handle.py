"""A process that a server has started, and what leads to it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue

from explainlab.settings import PACKAGE
from explainlab.workers.channel import Channel, ChannelClosed, Message

_END_SECONDS = 5.0


class ProcessHandle:
    """A process and the way to it: messages go there by :meth:`send`, and come from there by task to ``inboxes``.

    It runs ``module``, with its arguments; ``first`` is the first message over its ``channel``. There is None in each
    inbox when it has ended, and ``lost`` is set. ``hear`` receives every report of the worker's condition, ``gone`` is
    called at the end.
    """

    def __init__(
        self,
        module: Sequence[str],
        environment: Mapping[str, str],
        first: Message,
        hear: Callable[[Message], None],
        gone: Callable[[], None],
    ) -> None:
        self.inboxes: dict[int, SimpleQueue[Message | None]] = {}
        self.lost = self.ready = False
        self._hear, self._gone = hear, gone
        paths = filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", *module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(paths)},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.channel = Channel(self.process.stdout, self.process.stdin)
        threading.Thread(target=self._listen, name="explainlab-listener", daemon=True).start()
        with suppress(ChannelClosed):
            self.send(first)

    def send(self, message: Message) -> None:
        """Send ``message``; raises :class:`ChannelClosed` where the process has ended."""
        self.channel.send(message)

    def end(self) -> None:
        """End the process, at once."""
        self.process.terminate()
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def _listen(self) -> None:
        """Deliver what comes until the process ends."""
        with suppress(ChannelClosed):
            while True:
                message = self.channel.receive()
                if "state" in message:
                    self.ready = self.ready or "version" in message["state"]
                    self._hear(message["state"])
                inbox = self.inboxes.get(message.get("task", -1))
                if inbox is not None:
                    inbox.put(message)
        self.process.wait()
        self.lost = True
        for inbox in list(self.inboxes.values()):
            inbox.put(None)
        self._gone()
