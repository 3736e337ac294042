"""A store whose SQLite file is moved, removed or replaced says so and saves the contents of the open file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explainlab.errors import ResourceError
from explainlab.service.store.database import Database
from explainlab.service.store.store import Store

VIEW, OTHER = {"text": "a film"}, {"text": "another film"}


def remove(path: Path) -> None:
    path.unlink()


def remove_all(path: Path) -> None:
    """Remove it with the files that SQLite has beside it."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("moved"))


def replace(path: Path) -> None:
    """Put another database in its place, but leave the write-ahead log of the first one there."""
    other = Store(f"sqlite:///{path.with_name('other')}")
    other.save_view(OTHER)
    other.close()
    path.with_name("other").replace(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


@pytest.fixture
def store(path: Path) -> Store:
    return Store(f"sqlite:///{path}")


def saved_beside(path: Path) -> list[Path]:
    return [file for file in path.parent.glob("results-saved-*.sqlite")]


@pytest.mark.parametrize("happens", [remove, remove_all, move, replace])
def test_contents_of_the_open_file_are_saved_once(happens: Callable[[Path], None], store: Store, path: Path) -> None:
    view = store.save_view(VIEW)
    assert store.loss == ""
    happens(path)
    word = "replaced" if happens is replace else "moved or removed"
    for use in (store.lease.renew, lambda: store.view(view), lambda: store.save_view(OTHER)):
        with pytest.raises(ResourceError, match=f"has been {word} while it was open") as caught:
            use()
        assert store.loss == str(caught.value)
    (saved,) = saved_beside(path)
    assert str(saved) in store.loss
    assert saved.stat().st_mode & 0o777 == 0o600
    assert Store(f"sqlite:///{saved}").view(view).body == VIEW
    store.close()
    assert path.exists() == (happens is replace), "no other file is made in its place"


def test_the_file_that_takes_its_place_is_left_alone(store: Store, path: Path) -> None:
    view = store.save_view(VIEW)
    replace(path)
    before = path.read_bytes()
    assert store.loss
    assert path.read_bytes() == before
    now = Store(f"sqlite:///{path}")
    assert now.view(view) is None, "the log of the first one was not read into it"
    assert now.view(now.save_view(OTHER)).body == OTHER


def test_a_moved_file_is_whole_and_is_used_again_where_it_is_moved_back(store: Store, path: Path) -> None:
    view = store.save_view(VIEW)
    away = path.parent / "away"
    away.mkdir()
    path.rename(away / path.name)
    assert store.loss
    elsewhere = Store(f"sqlite:///{away / path.name}")
    assert elsewhere.view(view).body == VIEW
    other = elsewhere.save_view(OTHER)
    elsewhere.close()
    (away / path.name).rename(path)
    assert store.loss == ""
    assert store.view(other).body == OTHER
    assert Store(f"sqlite:///{path}").view(store.save_view({})) is not None


def test_where_it_cannot_be_saved_the_store_tries_until_it_can(store: Store, path: Path) -> None:
    view = store.save_view(VIEW)
    folder = path.parent
    aside = folder.rename(folder.with_name("aside"))
    assert "cannot be saved (No such file or directory). Put the file back." in store.loss
    folder.mkdir()
    told = store.loss
    (saved,) = saved_beside(path)
    assert str(saved) in told
    assert Store(f"sqlite:///{saved}").view(view).body == VIEW
    assert Store(f"sqlite:///{aside / path.name}").view(view).body == VIEW


def test_a_write_while_the_file_is_moved_fails(path: Path) -> None:
    database = Database(f"sqlite:///{path}")
    with pytest.raises(ResourceError, match="moved or removed"), database.connection():
        move(path)
