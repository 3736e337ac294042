"""Results of studies move from the notes to the results, whose column ``method`` becomes ``question``."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "v5"
down_revision = "v4"

_BATCH = 200
_NOTES = sa.table("notes", sa.column("key"), sa.column("created"), sa.column("body"))
_RESULTS = sa.table("results", *map(sa.column, ("key", "model", "question", "created", "body")))


def upgrade() -> None:
    """Rename the column and move the notes whose first field marks them as results."""
    op.alter_column("results", "method", new_column_name="question", existing_type=sa.String(64))
    connection = op.get_bind()
    last = ""
    while rows := connection.execute(
        sa.select(_NOTES)
        .where(_NOTES.c.body.like('{"study": "%'), _NOTES.c.key > last)
        .order_by(_NOTES.c.key)
        .limit(_BATCH)
    ).all():
        last = rows[-1].key
        for row in rows:
            record = json.loads(row.body)
            named = {"model": record["model"], "question": record["study"]}
            moved = sa.insert(_RESULTS).values(key=row.key, created=row.created, body=row.body, **named)
            connection.execute(moved)
        connection.execute(sa.delete(_NOTES).where(_NOTES.c.key.in_([row.key for row in rows])))
