"""The cache of drawings: a page makes a picture once, as long as its source is in memory."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, field

from explainlab.app import cached
from explainlab.app.cached import cached_for
from explainlab.request import Request
from explainlab.result import Cost
from explainlab.result import Result as StoredResult


@dataclass(frozen=True)
class Result:
    body: dict = field(default_factory=lambda: {"n": 1})


@dataclass
class Figure:
    of: tuple


def make(*arguments: object) -> Figure:
    return Figure(tuple(str(argument) for argument in arguments))


def request(text: str) -> Request:
    return Request(model="embedded:bert-mini-sst2", text=text, question="occlusion")


def test_equal_arguments_give_the_same_figure() -> None:
    result = Result()
    first = cached_for(result, make, request("a"), result.body, "green_red", 3)
    assert cached_for(result, make, request("a"), result.body, "green_red", 3) is first
    assert first == make(request("a"), result.body, "green_red", 3)


def test_any_other_argument_function_or_owner_gives_another() -> None:
    result, other = Result(), Result()
    first = cached_for(result, make, request("a"), result.body, 1)
    rest = [
        cached_for(result, make, request("b"), result.body, 1),
        cached_for(result, make, request("a"), result.body, 2),
        cached_for(result, make, request("a"), result.body, True),
        cached_for(result, Figure, (1,)),
        cached_for(other, make, request("a"), other.body, 1),
    ]
    assert len({id(figure) for figure in (first, *rest)}) == 6


def test_figures_go_with_their_owner() -> None:
    result = Result()
    figure = weakref.ref(cached_for(result, make, result, result.body))
    place = id(result)
    assert figure() is not None
    assert place in cached._made
    del result
    gc.collect()
    assert figure() is None
    assert place not in cached._made


def test_the_oldest_figures_of_one_owner_make_room() -> None:
    result = Result()
    first, last = cached_for(result, make, 0), None
    for i in range(1, cached._MOST + 1):
        last = cached_for(result, make, i)
    assert len(cached._made[id(result)]) == cached._MOST
    assert cached_for(result, make, cached._MOST) is last
    assert cached_for(result, make, 0) is not first


def test_the_owners_that_nobody_looks_at_make_room() -> None:
    results = [Result() for _ in range(cached._OWNERS + 1)]
    looked_at, forgotten = cached_for(results[0], make, 1), cached_for(results[1], make, 1)
    for result in results[2:]:
        cached_for(result, make, 1)
        assert cached_for(results[0], make, 1) is looked_at
    assert len(cached._made) == cached._OWNERS
    assert cached_for(results[1], make, 1) is not forgotten


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer(StoredResult):
    def own_json(self) -> dict:
        return {}


def answer(text: str, seconds: float = 1.0) -> Answer:
    return Answer(request=request(text), cost=Cost(1, 1, seconds))


def test_a_figure_of_several_results_is_kept_with_the_first() -> None:
    first, second = answer("a"), answer("b")
    made = cached_for(first, make, (first, second), 1)
    assert cached_for(first, make, (first, answer("b")), 1) is made, "the same answer, read again"
    others = [
        cached_for(first, make, (first, answer("c")), 1),
        cached_for(first, make, (first, answer("b", seconds=2.0)), 1),  # computed again
        cached_for(first, make, (second, first), 1),
        cached_for(first, make, (first, second), 2),
    ]
    assert len({id(figure) for figure in (made, *others)}) == 5
