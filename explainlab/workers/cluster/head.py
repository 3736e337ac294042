"""A cluster of Ray on this machine, which ends when stdin does: ``python -m explainlab.workers.cluster.head PORT``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

from explainlab.workers.cluster.address import LOOPBACK

START = "from ray.scripts.scripts import main; main()"
STORE_BYTES = 100 * 2**20  # Ray's own store of objects, in which nothing of ours is
NONE_AHEAD = {"RAY_prestart_worker_first_driver": "0"}
"""Ray starts no process for each core ahead: an actor of ours has an environment of its own, so none would be used."""


def main(port: str) -> None:
    """Run the cluster, whose token is in the environment."""
    options = {
        "node-ip-address": LOOPBACK,
        "port": port,
        "include-dashboard": "false",
        "object-store-memory": str(STORE_BYTES),
    }
    command = [sys.executable, "-c", START, "start", "--head", "--block", "--disable-usage-stats"]
    head = subprocess.Popen(
        [*command, *(f"--{name}={value}" for name, value in options.items())],
        env={**os.environ, **NONE_AHEAD},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def end_with_server() -> None:
        sys.stdin.buffer.read()
        head.terminate()  # it ends all that belongs to it

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for its server, which ends it
    signal.signal(signal.SIGTERM, lambda *_: head.terminate())
    threading.Thread(target=end_with_server, daemon=True).start()
    head.wait()


if __name__ == "__main__":
    main(sys.argv[1])
