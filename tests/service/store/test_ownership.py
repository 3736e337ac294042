"""Ownership: a result stays while any user owns it, and the file gives its space back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from explainlab import Attribution, explain
from explainlab.models.classifier import Classifier
from explainlab.service.store.store import Store

KEY, NOTE, ABOUT, OTHER = "a" * 64, "b" * 64, "c" * 64, "d" * 64
NEVER = timedelta(days=1)


@pytest.fixture(scope="module")
def result(encoder: Classifier) -> Attribution:
    return explain(encoder, "a stirring, funny film", "random")


@pytest.fixture
def store(database_url: str, result: Attribution) -> Store:
    store = Store(database_url)
    store.put(KEY, result)
    store.keep_notes({NOTE: {"a": 1}})
    return store


def test_what_one_has_is_deleted_when_nobody_else_has_it(store: Store) -> None:
    for owner in ("ann", "bob"):
        store.held.hold(owner, ABOUT, [KEY, NOTE, "nothing"])
    view = store.save_view({"text": "a"}, "ann", [ABOUT, OTHER])
    store.held.release("ann", ABOUT)
    assert store.get(KEY) is not None
    assert store.note(NOTE) is not None
    assert store.view(view) is not None, "it is about something else as well"
    store.held.release("bob", ABOUT, [NOTE])
    assert (store.note(NOTE), store.get(KEY) is None) == (None, False)
    store.held.release("bob", ABOUT)
    store.held.release("ann", OTHER)
    assert store.get(KEY) is None
    assert store.view(view) is None
    assert store.held.parts() == []


def test_what_nobody_has_is_deleted_once_it_is_old(store: Store) -> None:
    store.held.hold("ann", ABOUT, [KEY])
    store.held.delete_unheld(datetime.now(UTC) - NEVER)
    assert store.note(NOTE) is not None
    store.held.delete_unheld(datetime.now(UTC) + NEVER)
    assert (store.note(NOTE), store.get(KEY) is None) == (None, False)
    store.delete_before(datetime.now(UTC) + NEVER)
    assert store.get(KEY) is None


def test_sizes_are_those_of_what_is_stored(store: Store, result: Attribution) -> None:
    before = datetime.now(UTC)
    for _ in range(2):
        store.held.hold("ann", ABOUT, [KEY, NOTE])
    (part,) = store.held.parts()
    assert (part.owner, part.about) == ("ann", ABOUT)
    assert part.bytes == len('{"a": 1}') + len(json.dumps(result.to_json()))
    assert before <= part.used <= datetime.now(UTC)


def test_a_file_shrinks_and_keeps_no_deleted_text(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = Store(f"sqlite:///{path}")
    for number in range(200):
        store.keep_notes({f"{number:064}": {"text": "zzsecretzz " * 500}})
    store.shrink()
    full = path.stat().st_size
    store.held.delete_unheld(datetime.now(UTC) + NEVER)
    store.shrink()
    assert path.stat().st_size < full / 4
    assert not [file for file in tmp_path.iterdir() if b"zzsecretzz" in file.read_bytes()]
    store.keep_notes({KEY: {"a": 1}})
    assert Store(f"sqlite:///{path}").note(KEY) == {"a": 1}
