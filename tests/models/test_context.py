"""The context of a run: receivers one after another, caches one above another, and a memory that forgets."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from explainlab.models.context import Body, Counted, MemoryCache, NoCache, Receivers, RunContext, ignore, sharded
from explainlab.request import CompleteRequest
from explainlab.testing.observation import Recorder


def test_receivers_get_everything_in_order() -> None:
    told: list[Any] = []
    first = Receivers(report=lambda *values: told.append(("first", *values)), spend=told.append)
    second = Receivers(
        report=lambda *values: told.append(("second", *values)),
        expect=lambda work, exact=True: told.append((work, exact)),
    )
    both = first.then(second)
    both.report(1, 2, "passes")
    both.spend(3.0)
    both.expect(4.0, exact=False)
    assert told == [("first", 1, 2, "passes"), ("second", 1, 2, "passes"), 3.0, (4.0, False)]
    assert both.part is ignore, "nothing stands between a run and a receiver that ignores it"


def test_a_context_is_exchanged_in_parts_and_never_changed() -> None:
    context, cache = RunContext(), MemoryCache()
    other = replace(context, cache=cache)
    other.keep("a", {"b": 1})
    assert (context.recall("a"), other.recall("a")) == (None, {"b": 1})
    assert other.results is context.results
    with pytest.raises(FrozenInstanceError):
        context.cache = cache  # type: ignore[misc]


def test_an_earlier_body_stays_unless_it_is_renewed() -> None:
    asked: list[str] = []

    class Below(MemoryCache):
        def get_many(self, keys: Collection[str]) -> dict[str, Body]:
            asked.extend(keys)
            return super().get_many(keys)

    below = Below()
    above = MemoryCache(below)
    below.put_many({"a": {"of": "below"}, "b": {"of": "below"}})
    above.put_many({"a": {"of": "above"}})
    assert above.get_many(["a", "b", "c"]) == {"a": {"of": "above"}, "b": {"of": "below"}}
    assert above.get_many(["a"]) == {"a": {"of": "above"}}
    assert asked == ["b", "c"], "the cache below is asked for nothing that is known above"
    above.put_many({"a": {"of": "later"}})
    assert above.get_many(["a"]) == {"a": {"of": "above"}}
    above.put_many({"a": {"of": "later"}}, renew=True)
    assert above.get_many(["a"]) == {"a": {"of": "later"}}
    assert below.get_many(["a"]) == {"a": {"of": "below"}}, "the cache below is read alone"
    forgetful = NoCache()
    forgetful.put_many({"a": {}})
    assert forgetful.get_many(["a"]) == {}


def test_a_run_in_shards_forgets_what_the_part_before_has_kept() -> None:
    context = sharded()
    context.keep("a", {})
    context.results.put_many({"b": {}})
    assert context.results.get_many(["a", "b"]) == {"a": {}, "b": {}}
    context.progress.part(1.0)
    assert context.results.get_many(["a", "b"]) == {}


def test_finished_things_take_the_place_of_passes() -> None:
    recorder = Recorder()
    texts = Counted(recorder.context, 2, 5, "texts")
    texts.context.progress.report(7, 90, "gradients")
    texts.finish(3)
    assert recorder.seen == [(2, 5, "texts"), (5, 5, "texts")]


def test_answers_are_found_by_the_keys_of_their_requests() -> None:
    asked = [
        CompleteRequest(question="random", model="m", text=text, parameters={}, target="predicted") for text in "abc"
    ]
    context = replace(RunContext(), key_of=lambda request: {"a": "first", "b": "second"}.get(request.text or ""))
    context.results.put_many({"second": {"its": "record"}, "third": {}})
    assert context.answers(asked) == {1: {"its": "record"}}
    assert RunContext().answers(asked) == {}
