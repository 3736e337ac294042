"""The process of a worker: its server starts it, talks with it over stdin and stdout, and ends it by closing them."""

from __future__ import annotations

import os
import signal
import sys

from explainlab.limits import Limits
from explainlab.logs import log_as_json
from explainlab.workers.answering import Answering
from explainlab.workers.protocol import Channel
from explainlab.workers.serving import Serving


def main() -> None:
    """Serve until the server is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for its server, which ends it
    channel = Channel(sys.stdin.buffer, answers)
    first = channel.receive()
    if first["json_logs"]:
        log_as_json()
    answering = Answering(first["device"], first["pool_bytes"], Limits(**first["limits"]))
    Serving(channel, answering, first["most_bytes"]).run()
    os._exit(0)  # also where a batch is running


main()
