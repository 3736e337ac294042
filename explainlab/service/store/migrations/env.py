"""Run by alembic: the migrations, in the connection and transaction of :mod:`explainlab.service.store.database`."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
