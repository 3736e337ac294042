"""A worker as an actor of Ray. Messages are JSON text: nothing else is sent."""

from __future__ import annotations

import json
import os
import threading
from queue import Empty, SimpleQueue

import ray

from explainlab.workers.protocol import Message


class _Mailbox:
    """Messages received from the server, and messages to send to it."""

    def __init__(self) -> None:
        self.came: SimpleQueue[Message] = SimpleQueue()
        self.goes: SimpleQueue[str] = SimpleQueue()

    def send(self, message: Message) -> None:
        """Send ``message``, when the server asks for it."""
        self.goes.put(json.dumps(message))

    def receive(self) -> Message:
        """Return the next message; waits for it."""
        return self.came.get()


@ray.remote(max_restarts=0, concurrency_groups={"put": 1, "take": 1})
class Actor:
    """A process of the cluster that serves what is ``put`` there; the server takes what it answers."""

    def __init__(self, first: str, threads: int) -> None:
        from explainlab.limits import Limits  # imported here: the driver loads only the actor's name
        from explainlab.logs import log_as_json
        from explainlab.workers.answering import Answering
        from explainlab.workers.serving import Serving

        if threads:
            os.environ["OMP_NUM_THREADS"] = str(threads)
        begin = json.loads(first)
        if begin["json_logs"]:
            log_as_json()
        self._mailbox = _Mailbox()
        answering = Answering(begin["device"], begin["pool_bytes"], Limits(**begin["limits"]))
        serving = Serving(self._mailbox, answering, begin["most_bytes"])
        threading.Thread(target=serving.run, daemon=True).start()

    @ray.method(concurrency_group="put")  # type: ignore[untyped-decorator]
    def put(self, message: str) -> None:
        """Put a message of the server into the inbox."""
        self._mailbox.came.put(json.loads(message))

    @ray.method(concurrency_group="take")  # type: ignore[untyped-decorator]
    def take(self, seconds: float) -> list[str]:
        """Return the messages for the server; waits up to ``seconds`` for one."""
        messages = []
        try:
            messages.append(self._mailbox.goes.get(timeout=seconds))
            while True:
                messages.append(self._mailbox.goes.get_nowait())
        except Empty:
            return messages
