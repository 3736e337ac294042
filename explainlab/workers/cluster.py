"""Workers on a cluster of Ray."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from explainlab.errors import RequestError, ResourceError
from explainlab.settings import PACKAGE, settings
from explainlab.workers.channel import ChannelClosed, Message
from explainlab.workers.process import Link, Process
from explainlab.workers.worker import Worker

_TAKE_SECONDS = 1.0
_KNOCK_SECONDS = 3.0
_LOOPBACK = "127.0.0.1"
_MB = 2**20
_STORE_BYTES = 100 * _MB  # Ray's own store of objects, in which nothing of ours is


def cluster(count: int | None = None) -> list[Worker]:
    """So many workers on the cluster that the settings name (None: one for each GPU, else one for each node).

    Without an address a cluster of this machine is started, which listens to this machine alone. Raises
    :class:`ResourceError` where Ray is not installed or nothing answers, :class:`RequestError` for an address that a
    hosted instance must not use.
    """
    ray = _connected()
    resources = ray.cluster_resources()
    gpus, cores = int(resources.get("GPU", 0)), int(resources.get("CPU", 1))
    wanted = count or gpus or len([node for node in ray.nodes() if node["Alive"]])
    threads = 0 if gpus else max(1, cores // wanted)
    return [RayWorker(bool(gpus), threads, str(number + 1)) for number in range(wanted)]


class RayWorker(Process):
    """A worker in a process that Ray places; another one takes over where that ends, or its node leaves.

    It asks Ray for a GPU (``gpu``), else for as many cores as it has ``threads``, and waits where none is free.
    """

    def __init__(self, gpu: bool, threads: int, name: str) -> None:
        self._gpu = gpu
        limits, pool_bytes = settings().limits, settings().model_pool_mb * _MB
        super().__init__("cuda" if gpu else "cpu", pool_bytes, limits, threads, settings().max_worker_mb, name)

    def connect(self, first: Message, hear: Callable[[Message], None]) -> Link:
        """See :meth:`Process.connect`."""
        return _ActorLink(first, self._gpu, self._threads, hear)


class _ActorLink(Link):
    """An actor, and what it is asked and answers."""

    def __init__(self, first: Message, gpu: bool, threads: int, hear: Callable[[Message], None]) -> None:
        super().__init__(hear)
        _connected()
        from explainlab.workers.actor import Actor

        needs = {"num_gpus": 1, "num_cpus": 1} if gpu else {"num_cpus": threads}
        environment = {"PYTHONPATH": str(PACKAGE.parent), "OMP_NUM_THREADS": str(threads or 1)}
        actor: Any = Actor
        self._actor = actor.options(runtime_env={"env_vars": environment}, **needs).remote(json.dumps(first), threads)
        self._came: deque[str] = deque()
        threading.Thread(target=self.listen, args=(self._receive,), name="explainlab-listener", daemon=True).start()

    def send(self, message: Message) -> None:
        if self.lost:
            raise ChannelClosed
        self._actor.put.remote(json.dumps(message))

    def end(self) -> None:
        import ray

        self.lost = True
        ray.kill(self._actor)

    def _receive(self) -> Message:
        """The next message; waits for it."""
        import ray

        while not self._came:
            if not ray.is_initialized():
                raise ChannelClosed
            try:
                self._came.extend(ray.get(self._actor.take.remote(_TAKE_SECONDS)))
            except ray.exceptions.RayError as error:
                raise ChannelClosed from error
        message: Message = json.loads(self._came.popleft())
        return message


def require_private(address: str) -> None:
    """Raise :class:`RequestError` where a hosted instance has no explicit address on a private network."""
    try:
        private = ipaddress.ip_address(_host_and_port(address)[0]).is_private
    except ValueError:
        private = False
    if settings().hosted and not private:
        raise RequestError(
            f"EXPLAINLAB_RAY_ADDRESS = {address!r} is not an address on a private network.",
            "Ray has no sign-in: a hosted instance uses only a cluster that nobody else reaches, by its IP address.",
        )


def _host_and_port(address: str) -> tuple[str, str]:
    """The two of ``address``, which may have a scheme; the host is empty where it names none."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    return host.strip("[]"), port


def _answers(address: str) -> bool:
    """Whether something listens at ``address``: Ray itself would try for minutes."""
    host, port = _host_and_port(address)
    if not host:
        return True  # it names what Ray finds itself
    with suppress(OSError, ValueError), socket.create_connection((host, int(port)), _KNOCK_SECONDS):
        return True
    return False


def _connected() -> Any:
    """Ray, connected with the cluster of the settings."""
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")  # what is asked after the end starts no cluster
    try:
        import ray
    except ImportError:
        raise ResourceError("Ray is not installed.", "Install it: pip install ray==2.60.0.") from None
    if ray.is_initialized():
        return ray
    address = settings().ray_address
    require_private(address)
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "namespace": "explainlab"}
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    silent = ResourceError(
        f"No Ray cluster answers at {address or 'this machine'}.", "Start one there, or correct the address."
    )
    if not _answers(address):
        raise silent
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            here: dict[str, Any] = {
                "include_dashboard": False,
                "object_store_memory": _STORE_BYTES,
                "_node_ip_address": _LOOPBACK,
            }
            ray.init(address="local", **here, **quiet)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise silent from error
    return ray
