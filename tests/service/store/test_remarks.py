"""Remarks on rows: a stored remark comes back, changes in place, and belongs to one reader and one data set."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainlab.errors import RequestError, ResourceError
from explainlab.request import validated
from explainlab.service.store.remarks import Remark
from explainlab.service.store.store import Store

DATA, OTHER_DATA = "a" * 64, "b" * 64
AWKWARD = 'A "note" — <b>не</b>\u202e плохой\n\t🎬 &amp; \\ $x$'


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"sqlite:///{tmp_path / 'remarks.sqlite'}")


def test_remarks_come_back_by_row_also_from_a_store_opened_again(store: Store, tmp_path: Path) -> None:
    kept = [
        Remark(row=7, note=AWKWARD, tags=("irony", "<script>")),
        Remark(row=2, tags=("negation",)),
        Remark.of_edit(7, "another text", "and its pair"),
    ]
    for remark in kept:
        store.remarks("ann", DATA).keep(remark)
    again = Store(f"sqlite:///{tmp_path / 'remarks.sqlite'}")
    assert again.remarks("ann", DATA).all() == [kept[1], kept[0], kept[2]]


def test_a_remark_is_changed_in_place_and_an_empty_one_is_gone(store: Store) -> None:
    remarks = store.remarks("ann", DATA)
    remarks.keep(Remark(row=3, note="first"))
    remarks.keep(Remark(row=3, note="second", tags=("x",)))
    assert remarks.all() == [Remark(row=3, note="second", tags=("x",))]
    remarks.keep(Remark(row=3))
    assert remarks.all() == []


def test_nobody_sees_or_changes_what_another_has_left(store: Store) -> None:
    ann, bob = store.remarks("ann", DATA), store.remarks("bob", DATA)
    ann.keep(Remark(row=1, note="mine"))
    store.remarks("ann", OTHER_DATA).keep(Remark(row=1, note="of another file"))
    assert bob.all() == []
    bob.forget(Remark(row=1))
    bob.keep(Remark(row=1, note="bob's"))
    assert ann.all() == [Remark(row=1, note="mine")]


def test_equal_edited_texts_are_kept_once_beside_the_remark_of_their_row(store: Store) -> None:
    remarks = store.remarks("ann", DATA)
    remarks.keep(Remark(row=4, note="the parent"))
    first, second = Remark.of_edit(4, "a dull film"), Remark.of_edit(4, "a fine film")
    for remark in (first, second, first):
        remarks.keep(remark)
    assert remarks.all() == [Remark(row=4, note="the parent"), first, second]
    remarks.forget(first)
    assert remarks.all() == [Remark(row=4, note="the parent"), second]


@pytest.mark.parametrize(
    "fields", [{"row": 0}, {"note": "x" * 4001}, {"tags": ("",)}, {"tags": ("x" * 61,)}, {"tags": ("x",) * 21}], ids=str
)
def test_remarks_are_limited(fields: dict) -> None:
    with pytest.raises(RequestError, match="is not accepted"):
        validated(Remark, **{"row": 1, **fields})


def test_a_database_that_fails_is_told(store: Store) -> None:
    with store._database.connection() as connection:
        connection.exec_driver_sql("DROP TABLE remarks")
    with pytest.raises(ResourceError, match="cannot be used"):
        store.remarks("ann", DATA).all()
