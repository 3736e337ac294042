"""Run by alembic: the migrations, in the connection and the transaction that :mod:`explainlab.store.database` holds."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
