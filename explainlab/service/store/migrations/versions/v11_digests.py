"""Digests: what each part of a long result must have."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v11"
down_revision = "v10"


def upgrade() -> None:
    """Add the column to the table of parts; those that are there have none."""
    op.add_column("parts", sa.Column("digest", sa.String(64), nullable=True))
