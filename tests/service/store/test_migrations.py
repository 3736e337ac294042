"""A database gets the tables that the code knows, many may open it at once, and one of another build is left alone."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from explainlab.errors import ResourceError
from explainlab.service.store import schema
from explainlab.service.store.store import Store
from tests.service.store.processes import killed_in_a_migration, open_and_save, other

VIEW = {"model": "m", "text": "не <b>", "number": 0.1}


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))


@pytest.mark.full("10 s: it kills a process at every second statement")
def test_a_first_opening_that_is_killed_makes_all_tables_or_none(database_url: str) -> None:
    kills = 0
    for number in range(1, 1000, 2):
        with other(killed_in_a_migration, database_url, number) as process:
            if process.ended() == 0:
                break
            assert process.ended() == -signal.SIGKILL
        kills += 1
        with engine_of(database_url).connect() as connection:
            tables = {*sa.inspect(connection).get_table_names()} - {"alembic_version"}
            assert tables in (set(), {*schema.metadata.tables}), "all of it or nothing"
    assert kills > 5
    store = Store(database_url)
    assert store.view(store.save_view(VIEW)).body == VIEW


def test_a_database_has_the_tables_that_the_code_knows(database_url: str) -> None:
    Store(database_url)
    with engine_of(database_url).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []


def test_processes_that_open_a_new_database_at_once(database_url: str) -> None:
    with other(open_and_save, database_url) as first, other(open_and_save, database_url) as second:
        assert [first.told(), second.told()] == ["ready"] * 2
        first.pipe.send("go")
        second.pipe.send("go")
        saved = first.told()
        assert second.told() == saved
        assert [first.ended(), second.ended()] == [0, 0]
    assert Store(database_url).view(saved) is not None


def test_threads_that_open_a_new_database_at_once(database_url: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        stores = list(threads.map(Store, [database_url] * 6))
    assert len({store.save_view(VIEW) for store in stores}) == 1


@pytest.mark.parametrize(
    ("version", "problem"), [("m99", r"newer ExplainLab .*m99"), ("v12", "before the first release.*not carried over")]
)
def test_a_database_of_another_build_is_named_and_left_alone(version: str, problem: str, database_url: str) -> None:
    Store(database_url)
    engine = engine_of(database_url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    with pytest.raises(ResourceError, match=problem):
        Store(database_url)
    with engine.begin() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == version


def test_a_migration_that_fails_changes_nothing(database_url: str) -> None:
    engine = engine_of(database_url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE runs (something TEXT)"))
    with pytest.raises(ResourceError):
        Store(database_url)
    with engine.begin() as connection:
        assert sa.inspect(connection).get_table_names() == ["runs"]
        connection.execute(sa.text("DROP TABLE runs"))
    store = Store(database_url)
    assert store.view(store.save_view(VIEW)).body == VIEW
