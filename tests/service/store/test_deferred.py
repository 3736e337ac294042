"""DeferredWrites writes: made when the store is back, also those behind one that it never takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainlab.errors import ResourceError
from explainlab.service.access import DeferredWrites
from explainlab.service.store.store import Store


def test_what_is_never_taken_keeps_nothing_else_waiting(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store, late = Store(f"sqlite:///{path}"), DeferredWrites()
    frozen = Store(f"sqlite:///file:{path}?mode=ro&uri=true")
    away = [frozen]
    assert isinstance(late.write(lambda: frozen.keep_notes({"never": {}})), ResourceError)
    for key in "ab":
        assert late.write(lambda key=key: away[0].keep_notes({key: {"a": 1}})) is not None
    late.flush()
    assert store.note("a") is None
    away[0] = store
    for _ in range(2):
        late.flush()
    assert [store.note(key) for key in ("a", "b", "never")] == [{"a": 1}, {"a": 1}, None]


def test_an_error_that_is_not_the_stores_is_raised() -> None:
    with pytest.raises(ValueError, match="no JSON"):
        DeferredWrites().write(lambda: (_ for _ in ()).throw(ValueError("no JSON")))
