"""User ids of any length: long ones become hashed keys, and runs have the full id beside; sign-ins that have ended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from explainlab.service.users import MOST_KEY, key_of

revision = "v7"
down_revision = "v6"

_OWNED = [sa.table(name, sa.column("owner")) for name in ("views", "runs", "held", "remarks", "unfinished")]
_RUNS = sa.table("runs", sa.column("owner"), sa.column("owner_full_id"))


def upgrade() -> None:
    """Add the column and the table; SQLite, which takes keys of any length, may have some that are too long."""
    op.add_column("runs", sa.Column("owner_full_id", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "sign_outs",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
    )
    connection = op.get_bind()
    connection.execute(sa.update(_RUNS).values(owner_full_id=_RUNS.c.owner))
    for table in _OWNED:
        long = sa.select(table.c.owner).where(sa.func.length(table.c.owner) > MOST_KEY).distinct()
        for owner in connection.scalars(long).all():
            connection.execute(sa.update(table).where(table.c.owner == owner).values(owner=key_of(owner)))
