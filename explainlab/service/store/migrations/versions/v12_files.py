"""Files: the rows of long results go from the database to Parquet files beside it; results know how large these are."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256

import sqlalchemy as sa
from alembic import context, op

from explainlab.analyses.bodies import pack

revision = "v12"
down_revision = "v11"

_RESULTS = sa.table("results", *map(sa.column, ("key", "body", "beside")))
_PARTS = sa.table("parts", *map(sa.column, ("key", "number", "body", "digest")))


def upgrade() -> None:
    """Write the files, and drop the table of parts. A result that lacks one, or has a changed one, is deleted."""
    op.add_column("results", sa.Column("beside", sa.BigInteger, nullable=False, server_default="0"))
    connection, parts = op.get_bind(), context.config.attributes["parts"]
    keys = connection.scalars(sa.select(_RESULTS.c.key).where(_RESULTS.c.key.in_(sa.select(_PARTS.c.key)))).all()
    for key in keys:
        own = _RESULTS.c.key == key
        record = json.loads(connection.execute(sa.select(_RESULTS.c.body).where(own)).scalar_one())
        packed = "parquet" in (record.get("texts"), record.get("rows"))
        try:
            kept = parts.write(key, _files(connection, key, packed))
        except ValueError:
            kept = []
        if not kept or len(kept) != record.get("parts", len(kept)):
            parts.delete([key])
            connection.execute(sa.delete(_RESULTS).where(own))
            continue
        record["parts"] = [part._asdict() for part in kept]
        values = {"body": json.dumps(record), "beside": parts.size(kept)}
        connection.execute(sa.update(_RESULTS).where(own).values(**values))
    op.drop_table("parts")


def _files(connection: sa.Connection, key: str, packed: bool) -> Iterator[bytes]:
    """The files of a result; raises :class:`ValueError` at a part that is not what was written."""
    own = sa.select(_PARTS.c.body, _PARTS.c.digest).where(_PARTS.c.key == key)
    numbers = sa.select(_PARTS.c.number).where(_PARTS.c.key == key).order_by(_PARTS.c.number)
    for number in connection.scalars(numbers).all():
        body, digest = connection.execute(own.where(_PARTS.c.number == number)).one()
        if digest not in (None, sha256(json.dumps(body).encode()).hexdigest()):
            raise ValueError(number)
        yield b64decode(body) if packed else pack(json.loads(body))
