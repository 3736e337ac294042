"""The unfinished jobs of a server: its own are under way, those of another server have been cut short."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from explainlab.service.store.store import Store

AWKWARD = {"text": 'A "film" — <b>не</b>\u202e\n🎬 &amp; \\', "number": 0.1}


def test_only_another_server_leaves_something_unanswered(database_url: str) -> None:
    before = Store(database_url).unfinished
    before.begin("1" * 64, "ann", "attribution", AWKWARD)
    before.begin("2" * 64, "ann", "study", {"data": "d"})
    before.begin("2" * 64, "bob", "study", {"data": "d"})
    assert before.cut_short("ann") == []
    after = Store(database_url).unfinished
    first, second = after.cut_short("ann")
    assert (first.key, first.kind, first.request) == ("1" * 64, "attribution", AWKWARD)
    assert (second.key, second.kind, second.request) == ("2" * 64, "study", {"data": "d"})
    assert abs(first.asked - datetime.now(UTC)) < timedelta(minutes=1)
    assert [left.key for left in after.cut_short("bob")] == ["2" * 64]
    assert after.cut_short("cy") == []


def test_what_is_asked_again_is_under_way_again_and_only_for_who_asked(database_url: str) -> None:
    for user in ("ann", "bob"):
        Store(database_url).unfinished.begin("1" * 64, user, "study", {"data": "d"})
    after = Store(database_url).unfinished
    after.begin("1" * 64, "ann", "study", {"data": "d"})
    assert after.cut_short("ann") == []
    assert len(after.cut_short("bob")) == 1
    assert len(Store(database_url).unfinished.cut_short("ann")) == 1, "cut short once more"


def test_what_has_ended_has_ended_for_all(database_url: str) -> None:
    store = Store(database_url).unfinished
    for user in ("ann", "bob"):
        store.begin("1" * 64, user, "study", {})
    store.end("1" * 64)
    store.end("1" * 64)
    after = Store(database_url).unfinished
    assert after.cut_short("ann") == after.cut_short("bob") == []


def test_one_forgets_only_for_oneself(database_url: str) -> None:
    before = Store(database_url).unfinished
    for user in ("ann", "bob"):
        for key in "123":
            before.begin(key * 64, user, "study", {})
    after = Store(database_url).unfinished
    after.forget("ann", ["1" * 64, "3" * 64])
    assert [left.key for left in after.cut_short("ann")] == ["2" * 64]
    assert len(after.cut_short("bob")) == 3
