"""The lease of a server: while it is renewed, other servers on the same database leave its jobs alone."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from explainlab.errors import ResourceError
from explainlab.service.store.database import Database
from explainlab.service.store.schema import SERVERS

log = logging.getLogger(__name__)

LEASE_SECONDS = 10.0
"""A server that has not renewed its lease for so long is taken for dead, by the clock of the database."""
BEAT_SECONDS = 2.0


class Lease:
    """The lease of one server, known by its random id ``server``. It has none before it first renews it.

    With every renewal it is written down what ``workers`` gives: what the server says of its workers, as JSON.
    """

    def __init__(self, database: Database) -> None:
        self.server = secrets.token_hex(16)
        self.workers: Callable[[], str | None] = lambda: None
        self._database = database
        self._over = threading.Event()

    def renew(self) -> None:
        """Take or prolong the lease; raises :class:`ResourceError` where the database cannot be written."""
        with suppress(IntegrityError), self._database.connection() as connection:  # another thread just took it
            until = connection.execute(select(func.now())).scalar_one() + timedelta(seconds=LEASE_SECONDS)
            own, told = SERVERS.c.id == self.server, {"until": until, "workers": self.workers()}
            if not connection.execute(update(SERVERS).where(own).values(told)).rowcount:
                connection.execute(delete(SERVERS).where(SERVERS.c.until < func.now()))
                connection.execute(insert(SERVERS).values(id=self.server, **told))

    def keep(self, then: Callable[[], None]) -> None:
        """Renew it from now on, in a thread of its own, and call ``then`` each time that this succeeds."""
        self._beat(then)
        others = len(self._database.rows(select(SERVERS.c.id).where(lives(), SERVERS.c.id != self.server)))
        if others:
            log.info("servers on this database besides this one: %d; each has a queue of its own", others)

        def work() -> None:
            while not self._over.wait(BEAT_SECONDS):
                self._beat(then)

        threading.Thread(target=work, name="explainlab-lease", daemon=True).start()

    def told(self) -> dict[str, str]:
        """What the living servers on the database say of their workers, by their ids."""
        query = select(SERVERS.c.id, SERVERS.c.workers).where(lives(), SERVERS.c.workers.is_not(None))
        return {server: workers for server, workers in self._database.rows(query.order_by(SERVERS.c.id))}

    def end(self) -> None:
        """Give it up: what this server leaves unfinished is cut short."""
        self._over.set()
        with suppress(ResourceError):
            self._database.change(delete(SERVERS).where(SERVERS.c.id == self.server))

    def _beat(self, then: Callable[[], None]) -> None:
        try:
            self.renew()
            then()
        except ResourceError:  # readiness and Status tell it
            pass
        except Exception as error:  # its traceback would show what users have written
            log.error("what the store could not take before cannot be written: %s", type(error).__name__)


def lives() -> ColumnElement[bool]:
    """Whether a row of the servers has a lease."""
    return SERVERS.c.until > func.now()
