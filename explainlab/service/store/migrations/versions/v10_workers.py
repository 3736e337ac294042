"""Workers: what each server on the database says of its own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v10"
down_revision = "v9"


def upgrade() -> None:
    """Add the column to the table of servers."""
    op.add_column("servers", sa.Column("workers", sa.Text, nullable=True))
