"""Held: what users have in the store, by what it is about. Runs get a column for that; results without a run are local.

Notes from before belong to nobody: the first sweep deletes them, and what needs them computes them again.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "v6"
down_revision = "v5"

_BATCH = 100
_RUNS = sa.table("runs", *map(sa.column, ("id", "owner", "key", "asked", "request", "about")))
_RESULTS = sa.table("results", *map(sa.column, ("key", "created", "body")))
_VIEWS = sa.table("views", *map(sa.column, ("id", "owner", "created", "body")))
_HELD = sa.table("held", *map(sa.column, ("owner", "about", "key", "bytes", "created")))


def upgrade() -> None:
    """Make the table, and fill it and the column from runs, views and results."""
    op.create_table(
        "held",
        sa.Column("owner", sa.String(255), primary_key=True),
        sa.Column("about", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("held_key", "held", ["key"])
    op.add_column("runs", sa.Column("about", sa.String(64), nullable=False, server_default=""))
    connection = op.get_bind()
    for run_id, request in connection.execute(sa.select(_RUNS.c.id, _RUNS.c.request)).all():
        about = _abouts(json.loads(request))[0]
        connection.execute(sa.update(_RUNS).where(_RUNS.c.id == run_id).values(about=about))
    op.create_index("runs_about", "runs", ["owner", "about"])
    _hold_results(connection)
    _hold_views(connection)


def _hold_results(connection: sa.Connection) -> None:
    theirs = (_RUNS.c.owner, _RUNS.c.about, _RUNS.c.key)
    of_runs = (
        sa.select(*theirs, sa.func.max(sa.func.length(_RESULTS.c.body)), sa.func.max(_RUNS.c.asked))
        .join_from(_RUNS, _RESULTS, _RUNS.c.key == _RESULTS.c.key)
        .group_by(*theirs)
    )
    connection.execute(sa.insert(_HELD).from_select(["owner", "about", "key", "bytes", "created"], of_runs))
    last = ""
    while rows := connection.execute(
        sa.select(_RESULTS)
        .where(_RESULTS.c.key > last, _RESULTS.c.key.not_in(sa.select(_RUNS.c.key)))
        .order_by(_RESULTS.c.key)
        .limit(_BATCH)
    ).all():
        last = rows[-1].key
        for row in rows:
            _hold(connection, "local", _abouts(json.loads(row.body))[:1], row.key, row)


def _hold_views(connection: sa.Connection) -> None:
    for row in connection.execute(sa.select(_VIEWS)).all():
        body = json.loads(row.body)
        _hold(connection, row.owner, _abouts(body) if isinstance(body, dict) else [""], row.id, row)


def _hold(connection: sa.Connection, owner: str, abouts: list[str], key: str, row: Any) -> None:
    same = {"owner": owner, "key": key, "bytes": len(row.body), "created": row.created}
    for about in abouts:
        connection.execute(sa.insert(_HELD).values(about=about, **same))


def _abouts(record: dict[str, Any]) -> list[str]:
    """The digests of the data set and of the text that a request, a result or a view is about, as of this version."""
    chosen = record.get("source") or record.get("data")
    source = chosen.get("source") if isinstance(chosen, dict) else chosen
    text = record.get("text")
    named = [[source]] if source else []
    named += [[text, record.get("text_pair")]] if text is not None else []
    return [hashlib.sha256(json.dumps(name, separators=(",", ":")).encode("ascii")).hexdigest() for name in named] or [
        ""
    ]
