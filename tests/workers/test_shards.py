"""Shards that several hands do: each once, and again where a hand is lost."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from explainlab.workers.shards import ShardQueue


@given(st.lists(st.sampled_from(["next a", "next b", "lose a", "lose b"]), max_size=40), st.integers(0, 8))
def test_every_part_is_done_once_whoever_is_lost(moves: list[str], count: int) -> None:
    parts, done, has = ShardQueue(), [], {}
    parts.offer("texts", range(count))
    assert parts.counts == (count, 0, 0)
    for move in [*moves, *["next a"] * (2 * count + 1)]:
        name, hand = move.split()
        if name == "lose":
            parts.lose(hand)
            has.pop(hand, None)
            continue
        if hand in has:
            done.append(has.pop(hand))
        part = parts.next(hand)
        if part is not None:
            has[hand] = part
    parts.lose("b")
    while (part := parts.next("a")) is not None:
        done.append(part)
    assert sorted(done) == [*range(count)] or set(has) == {"b"}
    assert len(set(done)) == len(done)
    assert parts.counts == (0, 0, count)


def test_who_waits_for_others_takes_what_a_paused_or_lost_one_has() -> None:
    parts = ShardQueue()
    parts.offer("texts", [1, 2, 3])
    assert [parts.next(hand) for hand in ("main", "paused", "busy")] == [1, 2, 3]
    assert parts.next("main") is None
    assert parts.await_others("main", 0.01), "both have a part"
    assert parts.next("main") is None
    parts.waits("paused", True)
    assert parts.await_others("main", 0.01)
    assert parts.next("main") == 2
    assert (parts.had("paused"), parts.has("paused")) == (True, False)
    threading.Timer(0.1, parts.next, ["busy"]).start()
    assert parts.next("main") is None
    assert parts.await_others("main", 10), "it has ended meanwhile"
    assert not parts.await_others("main", 10)


def test_a_new_offer_ends_the_one_before() -> None:
    parts, told = ShardQueue(), []
    parts.changed = lambda: told.append(parts.waiting)
    parts.offer("one", [1])
    assert (told, parts.next("a"), parts.has("a")) == ([], 1, True), "one part is nobody else's"
    parts.offer("two", [1, 2])
    assert (told, parts.has("a"), parts.of) == ([2], False, "two")
