"""Trouble with the store: its place and the reason, for the log and for those who run it for themselves."""

from __future__ import annotations

import logging
import time

from explainlab.errors import ResourceError
from explainlab.settings import settings

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 60.0
_logged: dict[str, float] = {}
"""Problems logged in the last minute, with the time (monotonic) of each."""


def trouble(problem: str, remedy: str) -> ResourceError:
    """Return the error with this ``problem`` and ``remedy``; where the instance is hosted, the log alone has them.

    The log has the same problem once a minute: pages ask again every few seconds.
    """
    if not settings().hosted:
        return ResourceError(problem, remedy)
    now = time.monotonic()
    for past in [past for past, logged in _logged.items() if now - logged >= _PAUSE_SECONDS]:
        _logged.pop(past, None)
    if problem not in _logged:
        _logged[problem] = now
        words = f"{problem} {remedy}"
        log.error("the result store cannot be used: %s", words, extra={"reason": words})  # JSON lines have no values
    return ResourceError(
        "The result store cannot be used now.", "Whoever runs this instance finds the reason in its log."
    )
