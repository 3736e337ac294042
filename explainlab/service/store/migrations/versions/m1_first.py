"""All tables of the first store. Later changes of the store are migrations of their own, after this one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m1"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "results",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("question", sa.String(64), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("beside", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "views",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("owner", sa.String(255), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("visibility", sa.String(8), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.UniqueConstraint("owner", "digest", name="one_view_an_owner"),
    )
    op.create_table(
        "notes",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("owner", sa.String(255), nullable=False),
        sa.Column("owner_full_id", sa.Text, nullable=False),
        sa.Column("owner_name", sa.Text, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("question", sa.String(64), nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("asked", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("forward", sa.BigInteger, nullable=False),
        sa.Column("backward", sa.BigInteger, nullable=False),
        sa.Column("visibility", sa.String(8), nullable=False),
        sa.Column("imported", sa.Boolean, nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("request_key", sa.String(64), nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("about", sa.String(64), nullable=False),
        sa.UniqueConstraint("owner", "request_key", name="one_run_a_request"),
    )
    op.create_index("runs_about", "runs", ["owner", "about"])
    op.create_index("runs_asked", "runs", ["asked", "id", "owner", "visibility"])
    op.create_index("runs_key", "runs", ["key"])
    op.create_table(
        "held",
        sa.Column("owner", sa.String(255), primary_key=True),
        sa.Column("about", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("held_key", "held", ["key"])
    op.create_table(
        "remarks",
        sa.Column("owner", sa.String(255), primary_key=True),
        sa.Column("data", sa.String(64), primary_key=True),
        sa.Column("row", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("edit", sa.String(16), primary_key=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "unfinished",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("owner", sa.String(255), primary_key=True),
        sa.Column("server", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("request", sa.Text, nullable=False),
    )
    op.create_table(
        "servers",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("workers", sa.Text, nullable=True),
    )
    op.create_table(
        "sign_outs",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
    )
