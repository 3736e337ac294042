"""The process between a server and a worker on a cluster of Ray, which passes their messages on.

Ray ends a process that loses its cluster: so the server has none. This one ends instead, and is started again.
``python -m explainlab.workers.cluster.bridge ADDRESS THREADS IDLE_SECONDS``; without threads the worker wants a GPU.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import time
from typing import Any

from explainlab.settings import PACKAGE
from explainlab.workers.cluster.address import answers
from explainlab.workers.protocol import Channel, ChannelClosed, Message

log = logging.getLogger(__name__)

_KNOCK_SECONDS = 1.0
_TAKE_SECONDS = 1.0
_PLACED_SECONDS = 5.0
"""Seconds after which an unplaced worker is reported as waiting for a place."""


class Bridge:
    """A bridge that passes messages on: those of the server, on ``channel``, to an actor, and the actor's back.

    The actor wants ``threads`` cores, or a GPU if it is 0. After ``idle_seconds`` without a task it gives back its
    place (0: never), and takes another when the next one comes.
    """

    def __init__(self, channel: Channel, address: str, threads: int, idle_seconds: float) -> None:
        self._channel, self._address = channel, address
        self._threads, self._idle_seconds = threads, idle_seconds
        self._first = channel.receive()
        self._actor: Any = None
        self._here = threading.Condition()
        self._tasks: set[int] = set()
        self._used = time.monotonic()

    def run(self) -> None:
        """Serve until the server or the cluster is gone; the process must end then."""
        threading.Thread(target=_ending(self._hear), daemon=True).start()
        while not answers(self._address):
            self._say(f"No Ray cluster answers at {self._address}.")
            time.sleep(_KNOCK_SECONDS)
        self._connect()
        threading.Thread(target=_ending(self._knock), daemon=True).start()
        while True:
            self._place()
            self._pass_on()

    def _connect(self) -> None:
        import ray

        quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "namespace": "explainlab"}
        try:
            ray.init(address=self._address, **quiet)
        except (RuntimeError, ValueError) as error:  # another version of Ray or Python, another token
            self._say(f"The Ray cluster at {self._address} refuses this machine: {type(error).__name__}.")
            raise

    def _place(self) -> None:
        """Have an actor, when one is needed."""
        import ray

        from explainlab.workers.cluster.actor import Actor

        environment = {"PYTHONPATH": str(PACKAGE.parent), "OMP_NUM_THREADS": str(self._threads or 1)}
        needs = {"num_cpus": self._threads} if self._threads else {"num_cpus": 1, "num_gpus": 1}
        actor: Any = Actor
        placed = actor.options(runtime_env={"env_vars": environment}, **needs).remote(
            json.dumps(self._first), self._threads
        )
        ready = placed.take.remote(0)
        while not ray.wait([ready], timeout=_PLACED_SECONDS)[0]:
            self._say("The cluster has no free GPU." if not self._threads else "The cluster has no free cores.")
        with self._here:
            self._actor = placed
            self._here.notify_all()

    def _pass_on(self) -> None:
        """Pass the actor's messages to the server, until it has been idle for long and there is a task again."""
        import ray

        while not self._gives_back():
            for words in ray.get(self._actor.take.remote(_TAKE_SECONDS)):
                message: Message = json.loads(words)
                if "end" in message or "error" in message:
                    self._tasks.discard(message["task"])
                    self._used = time.monotonic()
                self._channel.send(message)

    def _gives_back(self) -> bool:
        """Return whether the actor was idle for long: then it has ended, and there is a task for another one."""
        import ray

        with self._here:
            if not self._idle_seconds or self._tasks or time.monotonic() - self._used < self._idle_seconds:
                return False
            ray.kill(self._actor)
            self._actor = None
            self._channel.send({"state": {"resting": True}})
            self._here.wait_for(lambda: self._tasks)
            return True

    def _hear(self) -> None:
        """Pass the server's messages to the actor, as soon as there is one."""
        while True:
            message = self._channel.receive()
            with self._here:
                if "requests" in message:
                    self._tasks.add(message["task"])
                    self._here.notify_all()
                self._here.wait_for(lambda: self._actor is not None)
                self._actor.put.remote(json.dumps(message))

    def _knock(self) -> None:
        """Notice within seconds that the cluster has gone."""
        while answers(self._address):
            time.sleep(_KNOCK_SECONDS)
        raise ChannelClosed

    def _say(self, away: str) -> None:
        self._channel.send({"state": {"away": away}})


def _ending(call: Any) -> Any:
    """Run ``call``, then end the process."""

    def run() -> None:
        try:
            call()
        except ChannelClosed:
            pass
        except Exception as error:  # its words may be long
            log.error("the way to a worker of the cluster has ended: %s", type(error).__name__)
        finally:
            os._exit(1)

    return run


def main() -> None:
    """Serve until the server or the cluster is gone."""
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for its server, which ends it
    answers_to = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print
    address, threads, idle_seconds = sys.argv[1:]
    channel = Channel(sys.stdin.buffer, answers_to)
    _ending(lambda: Bridge(channel, address, int(threads), float(idle_seconds)).run())()


if __name__ == "__main__":
    main()
