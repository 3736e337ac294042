"""A database written before results became typed records still opens: nothing in it is lost or changed."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from streamlit.testing.v1 import AppTest

from explainlab.service.service import Service
from explainlab.service.store import database
from explainlab.service.store.runs import Filters
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL, User
from explainlab.settings import ROOT, settings
from tests.compat.test_recorded import differences
from tests.pages import scripted

HERE = Path(__file__).parent
STORED: dict[str, Any] = json.loads(gzip.decompress((HERE / "stored.json.gz").read_bytes()))
DUMP = gzip.decompress((HERE / "stored.sql.gz").read_bytes()).decode()
ANN = User("ann@example.org", "Ann")
RUNS = {run["id"]: run for run in STORED["runs"]}


@pytest.fixture
def service(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Service:
    """A service on the old database."""
    monkeypatch.setattr(settings(), "home", tmp_path)
    load(database_url)
    return Service(Store(database_url), "cpu")


def load(url: str) -> None:
    """Write the old database to ``url``: for PostgreSQL the tables of its version, filled with the same rows."""
    path = sa.make_url(url).database
    if url.startswith("sqlite"):
        with sqlite3.connect(path) as connection:
            connection.executescript(DUMP)
        return
    old = sqlite3.connect(":memory:")
    old.executescript(DUMP)
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
        config.attributes["connection"] = connection
        (version,) = old.execute("SELECT version_num FROM alembic_version").fetchone()
        command.upgrade(config, version)
        tables = sa.MetaData()
        tables.reflect(connection)
        for table in tables.sorted_tables:
            if table.name != "alembic_version":
                copy(old, table, connection)
    engine.dispose()


def copy(old: sqlite3.Connection, table: sa.Table, connection: sa.Connection) -> None:
    """Copy the rows of one table; PostgreSQL takes SQLite's times and 0 and 1 as text."""
    rows = old.execute(f'SELECT * FROM "{table.name}"')
    names = [name for name, *_ in rows.description]
    assert set(names) == set(table.columns.keys())
    typed = ", ".join(
        f"CAST(CAST(:{name} AS TEXT) AS {table.c[name].type.compile(connection.dialect)})" for name in names
    )
    quoted = ", ".join(f'"{name}"' for name in names)
    insert = sa.text(f'INSERT INTO "{table.name}" ({quoted}) VALUES ({typed})')
    for row in rows:
        connection.execute(insert, dict(zip(names, row, strict=True)))


def test_every_run_opens_and_its_question_is_answered_anew(service: Service) -> None:
    """Texts were read in another way when these runs were stored, so no question of today has their keys."""
    answers = {}
    for run_id, run in RUNS.items():
        if not run["imported"]:
            opened = service.open_run(run_id, LOCAL)
            assert opened.result is not None, run
            assert service.find(opened.request) is None, run
            answers[run["key"]] = (opened.run.request, json.loads(json.dumps(opened.result.to_json())))
    assert len(answers) == len(STORED["answers"])
    for recorded in STORED["answers"]:
        record = next(record for request, record in answers.values() if request == recorded["request"])
        assert differences(recorded["json"], record) == []


def test_runs_are_listed_and_filtered(service: Service) -> None:
    page = service.runs(LOCAL)
    assert page.total == len(RUNS)
    assert [run.id for run in page.runs] == list(RUNS)
    listed = {
        run.id: {name: getattr(run, name) for name in expected} for run in page.runs for expected in [RUNS[run.id]]
    }
    assert listed == RUNS
    assert [run.title for run in service.runs(ANN).runs] == ["", "A shared run"]
    for kind in ("attribution", "study"):
        expected = [run_id for run_id, run in RUNS.items() if run["kind"] == kind]
        assert [run.id for run in service.runs(LOCAL, Filters(kind=kind)).runs] == expected
    found = service.runs(LOCAL, Filters(question="activation", words="funny")).runs
    assert [run.subject for run in found] == ["A funny, warm film."]
    assert service.run_choices(LOCAL).questions == sorted({run["question"] for run in RUNS.values()})


def test_an_exported_result_is_imported_as_it_is(service: Service) -> None:
    for run_id in RUNS:
        result = service.open_run(run_id, LOCAL).result
        (run,) = service.import_runs(json.dumps(result.to_json()).encode(), ANN)
        assert service.open_run(run.id, ANN).result.to_json() == result.to_json()


def test_an_imported_result_stays_apart(service: Service) -> None:
    (run_id,) = [run_id for run_id, run in RUNS.items() if run["imported"]]
    assert service.open_run(run_id, LOCAL).run.imported
    service.delete_run(run_id, LOCAL)
    assert service.runs(LOCAL).total == len(RUNS) - 1
    same = next(run for run in service.runs(LOCAL).runs if run.question == "input_x_gradient")
    assert service.open_run(same.id, LOCAL).result is not None


def test_what_is_deleted_goes_with_what_only_it_needed(service: Service) -> None:
    owners = {run_id: service.store.runs.get(run_id).owner for run_id in RUNS}
    kept = {run.key for run in service.runs(ANN).runs if run.owner == ANN.id}
    abouts = {service.store.runs.get(run_id).about for run_id, owner in owners.items() if owner == LOCAL.id}
    assert "" not in abouts
    assert abouts <= {part.about for part in service.store.held.parts()}
    for run_id, owner in owners.items():
        if owner == LOCAL.id:
            service.delete_run(run_id, LOCAL)
    assert {run["key"] for run in RUNS.values() if service.store.has(run["key"])} <= kept
    left = {part.about for part in service.store.held.parts() if part.owner == LOCAL.id}
    assert not left & abouts


def test_what_a_server_left_is_told(service: Service) -> None:
    (left,) = service.cut_short(LOCAL)
    assert left.key == STORED["expected_unfinished"]
    assert left.request.data == "embedded:sentiment"
    assert left.request.parameters == {"rows": 5}


def test_notes_on_rows_are_there(service: Service) -> None:
    with sqlite3.connect(":memory:") as old:
        old.executescript(DUMP)
        ((owner, data, body),) = old.execute("SELECT owner, data, body FROM remarks")
    (remark,) = service.store.remarks(owner, data).all()
    assert json.loads(remark.model_dump_json()) == json.loads(body)


def test_links_open_what_they_opened(service: Service) -> None:
    for view in STORED["views"].values():
        assert service.view(view["id"], LOCAL) == view["body"]
        assert service.save_view(view["body"], LOCAL) == view["id"]


@pytest.fixture
def instance(home: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The app on the old database."""
    load(database_url)
    monkeypatch.setenv("EXPLAINLAB_DATABASE_URL", database_url)
    settings.cache_clear()
    return database_url


def shown(page: str, **query: str) -> AppTest:
    """A page by its link, which has nothing to complain about."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=scripted.SECONDS)
    app.switch_page(str(ROOT / "pages" / f"{page}.py"))
    for name, value in query.items():
        app.query_params[name] = value
    scripted.answered(app.run())
    assert not app.error
    return app


@pytest.mark.parametrize("name", STORED["views"])
def test_a_page_shows_a_link(name: str, instance: str) -> None:
    view = STORED["views"][name]
    app = shown(name, r=view["id"])
    if name == "errors":
        assert "12" in scripted.words([*app.markdown, *app.caption]), "its rows"
    else:
        assert view["body"]["text"] in [area.value for area in app.text_area], [told.value for told in app.warning]


def test_the_runs_page_opens_and_compares(instance: str) -> None:
    for run_id, run in RUNS.items():
        assert shown("runs", run=run_id).get("download_button"), run
    first, second = [run_id for run_id, run in RUNS.items() if run["kind"] == "attribution"][:2]
    assert [header.value for header in shown("runs", run=first, **{"with": second}).header][1] == "Agreement"
    first, second = [run_id for run_id, run in RUNS.items() if run["question"] == "integration_error"]
    assert shown("runs", run=first, **{"with": second}).header[0].value == "Two runs side by side"
