"""A database of any age is brought up to date: nothing is lost, many may open it at once, a newer one is left alone."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from explainlab import explain
from explainlab.errors import ResourceError
from explainlab.models.classifier import Classifier
from explainlab.request import digest
from explainlab.service.store import schema
from explainlab.service.store.store import Store
from tests.service.store.processes import open_and_save, other

KEY = "0" * 64
VIEW = {"model": "m", "text": "не <b>", "number": 0.1}
FIRST = [
    "CREATE TABLE results (key VARCHAR(64) NOT NULL, model TEXT NOT NULL, method VARCHAR(64) NOT NULL, "
    "created {time} NOT NULL, body TEXT NOT NULL, PRIMARY KEY (key))",
    "CREATE TABLE views (id VARCHAR(16) NOT NULL, created {time} NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id))",
    "CREATE TABLE notes (key VARCHAR(64) NOT NULL, created {time} NOT NULL, body TEXT NOT NULL, PRIMARY KEY (key))",
]
"""The tables as they were before there were migrations."""


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))


@pytest.fixture
def old(database_url: str, encoder: Classifier) -> str:
    """A database that the code before migrations made, with something in every table."""
    engine = engine_of(database_url)
    time = "TIMESTAMP WITH TIME ZONE" if engine.dialect.name == "postgresql" else "DATETIME"
    result = explain(encoder, "a stirring, funny film", "gradient").to_json()
    with engine.begin() as connection:
        for table in FIRST:
            connection.execute(sa.text(table.format(time=time)))
        now = "'2026-01-02 03:04:05.000000'"
        put = sa.text(f"INSERT INTO results VALUES (:key, 'm', 'gradient', {now}, :body)")
        connection.execute(put, {"key": KEY, "body": json.dumps(result)})
        put = sa.text(f"INSERT INTO views VALUES (:id, {now}, :body)")
        for view in (VIEW, {**VIEW, "text": "other"}):
            connection.execute(put, {"id": digest(view)[:16], "body": json.dumps(view)})
        connection.execute(sa.text(f"INSERT INTO notes VALUES (:key, {now}, :body)"), {"key": KEY, "body": '{"a": 1}'})
    engine.dispose()
    return database_url


def test_a_database_from_before_migrations_loses_nothing(old: str, encoder: Classifier) -> None:
    store = Store(old)
    assert store.get(KEY).request.text == "a stirring, funny film"
    assert store.note(KEY) == {"a": 1}
    for view in (VIEW, {**VIEW, "text": "other"}):
        old_id = digest(view)[:16]
        found = store.view(old_id)
        assert (found.body, found.owner, found.visibility) == (view, "local", "private")
        assert store.save_view(view) == old_id, "the same view, the same link"
    assert store.save_view(VIEW, "ann") != digest(VIEW)[:16]
    Store(old)
    assert store.view(digest(VIEW)[:16]).body == VIEW


def test_a_database_has_the_tables_that_the_code_knows(old: str) -> None:
    Store(old)
    with engine_of(old).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []


def test_processes_that_open_an_old_database_at_once(old: str) -> None:
    with other(open_and_save, old) as first, other(open_and_save, old) as second:
        assert [first.told(), second.told()] == ["ready"] * 2
        first.pipe.send("go")
        second.pipe.send("go")
        assert first.told() == second.told()
        assert [first.ended(), second.ended()] == [0, 0]
    assert Store(old).view(digest(VIEW)[:16]).body == VIEW


def test_threads_that_open_a_database_at_once(old: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        stores = list(threads.map(Store, [old] * 6))
    assert [store.view(digest(VIEW)[:16]).body for store in stores] == [VIEW] * 6


def test_a_newer_database_is_told_and_left_alone(database_url: str) -> None:
    Store(database_url)
    engine = engine_of(database_url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = 'v99'"))
    with pytest.raises(ResourceError, match=r"newer ExplainLab .*v99"):
        Store(database_url)
    with engine.begin() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == "v99"


def test_a_migration_that_fails_changes_nothing(old: str) -> None:
    engine = engine_of(old)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE runs (something TEXT)"))
        connection.execute(sa.text("UPDATE views SET body = 'no JSON'"))
    with pytest.raises(ResourceError):
        Store(old)
    with engine.begin() as connection:
        assert [row[0] for row in connection.execute(sa.text("SELECT body FROM views"))] == ["no JSON"] * 2
        assert sa.inspect(connection).get_columns("views")[-1]["name"] == "body"
        connection.execute(sa.text("DROP TABLE runs"))
        connection.execute(sa.text("UPDATE views SET body = '\"' || id || '\"'"))
    assert Store(old).note(KEY) == {"a": 1}
