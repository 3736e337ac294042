"""Remarks of readers on the rows of data sets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v3"
down_revision = "v2"


def upgrade() -> None:
    """Make the table of remarks."""
    op.create_table(
        "remarks",
        sa.Column("owner", sa.String(255), primary_key=True),
        sa.Column("data", sa.String(64), primary_key=True),
        sa.Column("row", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("edit", sa.String(16), primary_key=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
