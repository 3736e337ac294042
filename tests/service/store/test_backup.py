"""A backup has the contents of one moment, and fills an empty store of either kind with all of it or nothing."""

from __future__ import annotations

import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from explainlab import evaluate, explain, load_model
from explainlab.analyses import base
from explainlab.cli import main
from explainlab.errors import DataError, RequestError
from explainlab.service.service import Service
from explainlab.service.store.backup import TABLES
from explainlab.service.store.schema import NOTES
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings

LONG, NOTE = "a" * 64, "b" * 64
ANN = User.known_as("ann@example.org", "Ann")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Return a store with a run, a note, a link, a remark of nobody, and a result whose rows are in three files."""
    monkeypatch.setattr(base, "PART", 2)
    full = Store(f"sqlite:///{tmp_path / 'full' / 'store.sqlite'}")
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    exported = json.dumps(explain(classifier, "не <b>", "gradient").to_json()).encode()
    Service(full, "cpu").import_runs(exported, ANN)
    full.put(LONG, evaluate(classifier, "embedded:sentiment", ["gradient"], ["comprehensiveness"], limit=5))
    full.held.hold("ann", "c" * 64, [LONG])
    full.keep_notes({NOTE: {"a": 0.1}})
    full.save_view({"text": "не"}, "ann")
    return full


def contents(store: Store) -> dict[str, list[Any]]:
    """Return every row of every table; times without the zone that SQLite forgets."""
    rows = {}
    for table in TABLES:
        plain = [
            [value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value for value in row]
            for row in store._database.rows(sa.select(table))
        ]
        rows[table.name] = sorted(plain, key=repr)
    return rows


def files(store: Store) -> dict[str, bytes]:
    folder = store.parts.folder
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.parquet")}


def test_everything_comes_back_in_a_store_of_either_kind(store: Store, database_url: str, tmp_path: Path) -> None:
    counts = store.back_up(tmp_path / "backup.zip", "1.0")
    assert {name: count for name, count in counts.items() if count} == {
        **{name: len(rows) for name, rows in contents(store).items() if rows},
        "files": 3,
    }
    assert stat.S_IMODE((tmp_path / "backup.zip").stat().st_mode) == 0o600
    other = Store(database_url, tmp_path / "other")
    assert other.restore(tmp_path / "backup.zip") == {name: n for name, n in counts.items() if name != "damaged"}
    assert (contents(other), files(other)) == (contents(store), files(store))
    assert other.get(LONG).body == store.get(LONG).body
    (run,) = Service(other, "cpu").runs(ANN).runs
    assert Service(other, "cpu").open_run(run.id, ANN).result is not None
    assert Service(other, "cpu").runs(LOCAL).total == 0


def test_a_backup_is_of_one_moment(store: Store) -> None:
    with store._database.snapshot() as connection:
        count = sa.select(sa.func.count()).select_from(NOTES)
        before = connection.scalar(count)
        store.keep_notes({"d" * 64: {}})
        assert connection.scalar(count) == before
    assert store._database.value(count) == before + 1


def test_a_damaged_part_is_left_out_and_counted(store: Store, tmp_path: Path) -> None:
    next(store.parts.folder.rglob("*.parquet")).write_bytes(b"changed")
    counts = store.back_up(tmp_path / "backup.zip", "1.0")
    assert (counts["files"], counts["damaged"]) == (2, 1)


def test_a_backup_replaces_no_file_and_a_store_with_contents_is_not_filled(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    store.back_up(file, "1.0")
    before = file.read_bytes()
    with pytest.raises(RequestError, match="exists"):
        store.back_up(file, "1.0")
    with pytest.raises(RequestError, match="not empty"):
        store.restore(file)
    with pytest.raises(RequestError, match="cannot be written"):
        store.back_up(file / "inside.zip", "1.0")
    assert file.read_bytes() == before


def rewritten(change: Callable[[str, bytes], tuple[str, bytes] | None]) -> Callable[[Path], None]:
    """Return what writes a backup anew, each member as ``change`` says; None leaves one out."""

    def write(file: Path) -> None:
        with zipfile.ZipFile(file) as archive:
            members = [change(name, archive.read(name)) for name in archive.namelist()]
        with zipfile.ZipFile(file, "w") as archive:
            for member in members:
                if member is not None:
                    archive.writestr(*member)

    return write


def replaced(name: str, old: bytes, new: bytes) -> Callable[[Path], None]:
    return rewritten(lambda own, content: (own, content.replace(old, new) if own == name else content))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda file: file.write_bytes(b"no zip"), "no backup"),
        (lambda file: file.write_bytes(file.read_bytes()[:-30]), "no backup"),
        (lambda file: file.write_bytes(b"P" + bytes(200) + file.read_bytes()[201:]), "no backup"),
        (lambda file: file.unlink(), "cannot be read"),
        (rewritten(lambda name, content: None if name == "tables/views.jsonl" else (name, content)), "no backup"),
        (rewritten(lambda name, content: (name.replace("parts/", "parts/../"), content)), "no backup"),
        (replaced("tables/views.jsonl", b'"owner"', b'"user"'), "no backup"),
        (replaced("tables/views.jsonl", b'"created": "', b'"created": "x'), "no backup"),
        (replaced("manifest.json", b'"format": 1', b'"format": 2'), "of version"),
        (replaced("manifest.json", b'"store": "m', b'"store": "n'), r"of version n\d.*ExplainLab 1.0"),
    ],
)
def test_another_file_is_refused_and_nothing_is_left(
    change: Callable[[Path], None], problem: str, store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    store.back_up(file, "1.0")
    change(file)
    other = Store(f"sqlite:///{tmp_path / 'other' / 'store.sqlite'}")
    with pytest.raises(DataError, match=problem):
        other.restore(file)
    assert not any(contents(other).values())
    assert files(other) == {}


def test_the_commands(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(home: str, *words: str) -> str:
        monkeypatch.setenv("EXPLAINLAB_HOME", str(tmp_path / home))
        monkeypatch.setenv("EXPLAINLAB_DATABASE_URL", f"sqlite:///{tmp_path / home / 'store.sqlite'}")
        settings.cache_clear()
        monkeypatch.setattr("sys.argv", ["explainlab", "store", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return printed.out if ended.value.code == 0 else printed.err

    file = str(tmp_path / "backup.zip")
    assert "runs: 1\n" in run("full", "backup", file)
    assert json.loads(run("new", "restore", file, "--json"))["files"] == 3
    assert run("new", "restore", file).startswith("explainlab: The result store is not empty.")
    settings.cache_clear()
