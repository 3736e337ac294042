"""The tables of the store as the code uses them; ``migrations/`` creates and changes them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

RESULTS = Table(
    "results",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("model", Text, nullable=False),
    Column("question", String(64), nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("body", Text, nullable=False),
    Column("beside", BigInteger, nullable=False, default=0),
)
"""Results by the keys of their requests, of all users; ``question`` is the id of a method or an analysis. The rows of a
long one are in files, which take ``beside`` bytes outside the database: see :mod:`.parts`."""

VIEWS = Table(
    "views",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("owner", String(255), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("visibility", String(8), nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("owner", "digest", name="one_view_an_owner"),
)
"""Views that links reopen."""

NOTES = Table(
    "notes",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("body", Text, nullable=False),
)
"""Values that runs reuse."""

RUNS = Table(
    "runs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("owner", String(255), nullable=False),
    Column("owner_full_id", Text, nullable=False),
    Column("owner_name", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("question", String(64), nullable=False),
    Column("model", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("asked", DateTime(timezone=True), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("forward", BigInteger, nullable=False),
    Column("backward", BigInteger, nullable=False),
    Column("visibility", String(8), nullable=False),
    Column("imported", Boolean, nullable=False),
    Column("key", String(64), nullable=False),
    Column("request_key", String(64), nullable=False),
    Column("words", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("about", String(64), nullable=False),
    UniqueConstraint("owner", "request_key", name="one_run_a_request"),
    Index("runs_asked", "asked", "id", "owner", "visibility"),
    Index("runs_key", "key"),
    Index("runs_about", "owner", "about"),
)
"""Users' requests with their results.

``owner`` is a user's key, ``owner_full_id`` the id that it stands for; ``request_key`` names equal requests, ``words``
is what a search reads, ``about`` the text or the data set.
"""

HELD = Table(
    "held",
    metadata,
    Column("owner", String(255), primary_key=True),
    Column("about", String(64), primary_key=True),
    Column("key", String(64), primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Index("held_key", "key"),
)
"""Ownership: keys of results, notes and views of users, by the text or the data set that they are about; ``created`` is
the last time of use."""

REMARKS = Table(
    "remarks",
    metadata,
    Column("owner", String(255), primary_key=True),
    Column("data", String(64), primary_key=True),
    Column("row", Integer, primary_key=True, autoincrement=False),
    Column("edit", String(16), primary_key=True),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("body", Text, nullable=False),
)
"""Remarks of readers on the rows of data sets."""

UNFINISHED = Table(
    "unfinished",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("owner", String(255), primary_key=True),
    Column("server", String(32), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("request", Text, nullable=False),
)
"""Jobs that have not ended, by their keys and users; ``server`` is the one that runs them."""

SERVERS = Table(
    "servers",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("until", DateTime(timezone=True), nullable=False),
    Column("workers", Text),
)
"""The servers on this database, each with the end of its lease and what it says of its workers (JSON)."""

SIGN_OUTS = Table(
    "sign_outs",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("created", DateTime(timezone=True), nullable=False),
)
"""Sign-ins that have been ended: the digests of their claims."""
