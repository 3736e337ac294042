"""Runs; views get an owner. Earlier views belong to the local user, and their links keep their ids."""

from __future__ import annotations

import hashlib
import json

import sqlalchemy as sa
from alembic import op

revision = "v2"
down_revision = "v1"


def upgrade() -> None:
    """Make the table of runs, and give every view its owner, its digest and who may see it."""
    _make_runs()
    with op.batch_alter_table("views") as views:
        views.alter_column("id", existing_type=sa.String(16), type_=sa.String(32), existing_nullable=False)
        views.add_column(sa.Column("owner", sa.String(255), nullable=False, server_default="local"))
        views.add_column(sa.Column("digest", sa.String(64), nullable=False, server_default=""))
        views.add_column(sa.Column("visibility", sa.String(8), nullable=False, server_default="private"))
    saved = sa.table("views", sa.column("id"), sa.column("digest"), sa.column("body"))
    connection = op.get_bind()
    for view_id, body in connection.execute(sa.select(saved.c.id, saved.c.body)).all():
        change = sa.update(saved).where(saved.c.id == view_id)
        connection.execute(change.values(digest=_digest(json.loads(body))))
    with op.batch_alter_table("views") as views:
        for name in ("owner", "digest", "visibility"):
            views.alter_column(name, server_default=None)
        views.create_unique_constraint("one_view_an_owner", ["owner", "digest"])


def _make_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("owner", sa.String(255), nullable=False),
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
        sa.UniqueConstraint("owner", "request_key", name="one_run_a_request"),
    )
    op.create_index("runs_asked", "runs", ["asked", "id", "owner", "visibility"])
    op.create_index("runs_key", "runs", ["key"])


def _digest(body: object) -> str:
    """The digest of a view as of this version."""
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
