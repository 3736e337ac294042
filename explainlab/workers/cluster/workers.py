"""Workers on a cluster of Ray."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec

import torch

from explainlab.errors import ResourceError
from explainlab.settings import PACKAGE, settings
from explainlab.workers.cluster.address import LOOPBACK, require_private
from explainlab.workers.process import Process

_MB = 2**20


def cluster(count: int | None = None) -> list[Process]:
    """Return workers on the cluster that the settings name: ``count``, or (None) one for each GPU here, else one.

    Without an address a cluster of this machine is started, of which only this process knows the token. Each worker has
    a GPU for itself, or its share of the cores of this machine. Raises :class:`ResourceError` where Ray is not
    installed, :class:`RequestError` for an address that a hosted instance must not use.
    """
    if find_spec("ray") is None:
        raise ResourceError("Ray is not installed.", "Install it: pip install ray==2.60.0.")
    gpus = torch.cuda.device_count()
    wanted = count or gpus or 1
    threads = 0 if gpus else max(1, (os.cpu_count() or 1) // wanted)
    address, environment = _address()
    limits, pool_bytes = settings().limits, settings().model_pool_mb * _MB
    bridge = ("explainlab.workers.cluster.bridge", address, str(threads), str(settings().idle_worker_seconds))
    return [
        Process(
            "cuda" if gpus else "cpu",
            pool_bytes,
            limits,
            most_mb=settings().max_worker_mb,
            name=str(number + 1),
            module=bridge,
            environment=environment,
        )
        for number in range(wanted)
    ]


def _address() -> tuple[str, dict[str, str]]:
    """Return the address of the cluster, and the environment variables of its bridges."""
    address = settings().ray_address
    require_private(address)
    return (address, {}) if address else _own()


@lru_cache(maxsize=1)
def _own() -> tuple[str, dict[str, str]]:
    """Start a cluster of this machine, which ends with this process.

    Ray listens to the network, so it asks for a token.
    """
    with socket.create_server((LOOPBACK, 0)) as free:
        port = str(free.getsockname()[1])
    environment = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    start_head(port, environment)
    return f"{LOOPBACK}:{port}", environment


def start_head(port: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the process of a cluster of this machine: it ends with this process, or when its stdin is closed."""
    return subprocess.Popen(
        [sys.executable, "-m", "explainlab.workers.cluster.head", port],
        env={**os.environ, **environment, "PYTHONPATH": str(PACKAGE.parent)},
        stdin=subprocess.PIPE,
    )
