"""A machine that joins a cluster of Ray by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

from explainlab.errors import RequestError, ResourceError
from explainlab.settings import PACKAGE
from explainlab.workers.cluster.address import answers, require_private
from explainlab.workers.cluster.head import NONE_AHEAD, START, STORE_BYTES

_END_SECONDS = 30.0


def join(address: str) -> None:
    """Let the cluster whose head is at ``address`` (HOST:PORT) use this machine until the command is ended.

    Raises :class:`ResourceError` where Ray is not installed, nothing answers or Ray ends by itself, and
    :class:`RequestError` for what is no such address, or none that a hosted instance may use.
    """
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise RequestError(f"{address!r} is no address of a head.", "Write HOST:PORT, as in 10.0.0.7:6379.")
    if find_spec("ray") is None:
        raise ResourceError("Ray is not installed.", "Install it: pip install ray==2.60.0.")
    require_private(address)
    if not answers(address):
        raise ResourceError(f"No Ray cluster answers at {address}.", "Start one there, or correct the address.")
    environment = {
        **os.environ,
        **NONE_AHEAD,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(PACKAGE.parent), os.getenv("PYTHONPATH")])),
    }
    options = ["--address", address, "--block", "--disable-usage-stats", "--object-store-memory", str(STORE_BYTES)]
    command = [sys.executable, "-c", START, "start", *options]
    joined = subprocess.Popen(command, env=environment, stdout=sys.stderr)
    try:
        ended = joined.wait()
    finally:
        joined.terminate()
        joined.wait(_END_SECONDS)
    if ended:
        raise ResourceError(f"Ray has left the cluster at {address}.", "Read its messages above for the reason.")
