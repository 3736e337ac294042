"""A store whose SQLite file is moved, removed, replaced or overwritten says so and saves what the open file holds."""

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


def overwrite(path: Path, content: bytes) -> None:
    """Write over a file in place, as ``cp`` does."""
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(content)


def another(path: Path) -> bytes:
    """Return the file of another store."""
    other = Store(f"sqlite:///{path.with_name('other')}")
    other.save_view(OTHER)
    other.close()
    return path.with_name("other").read_bytes()


def older(path: Path) -> bytes:
    """Return an older copy of the same store, and let it go on."""
    store = Store(f"sqlite:///{path}")
    store.shrink()  # all that has been written is in the file itself
    copy = path.read_bytes()
    store.lease.renew()
    store.shrink()
    assert store.loss == ""
    store.close()
    return copy


@pytest.mark.parametrize("content", [another, older, lambda path: b"a note", lambda path: b""])
def test_a_file_that_is_copied_over_the_open_one_is_noticed_and_left_alone(
    content: Callable[[Path], bytes], store: Store, path: Path
) -> None:
    view = store.save_view(VIEW)
    copied = content(path)
    assert store.loss == ""
    later = store.save_view({"text": "not in the copy"})
    overwrite(path, copied)
    for use in (store.lease.renew, lambda: store.view(view), lambda: store.save_view(OTHER)):
        with pytest.raises(ResourceError, match="has been overwritten while it was open") as caught:
            use()
        assert store.loss == str(caught.value)
    saved = saved_beside(path)
    if saved:  # the pages in memory and in the log were enough
        assert str(saved[0]) in store.loss
        assert Store(f"sqlite:///{saved[0]}").view(later) is not None
    else:
        assert "Its contents cannot be saved" in store.loss
    store.close()
    assert path.read_bytes() == copied
    if content in (another, older):
        assert Store(f"sqlite:///{path}").view(later) is None, "the log of the first one was not read into it"


def test_a_right_file_that_is_copied_over_the_wrong_one_waits_for_a_restart(store: Store, path: Path) -> None:
    view = store.save_view(VIEW)
    store.shrink()
    right = path.read_bytes()
    overwrite(path, b"a note")
    told = store.loss
    overwrite(path, right)
    assert store.loss == told
    assert "Restart the server once the right file is there." in told
    store.close()
    assert Store(f"sqlite:///{path}").view(view) is not None
