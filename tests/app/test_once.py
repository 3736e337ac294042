"""What pages draw is made once, for as long as what it is made of is in memory."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, field

from explainlab.app import once as kept
from explainlab.app.once import once
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
    first = once(result, make, request("a"), result.body, "green_red", 3)
    assert once(result, make, request("a"), result.body, "green_red", 3) is first
    assert first == make(request("a"), result.body, "green_red", 3)


def test_any_other_argument_function_or_owner_gives_another() -> None:
    result, other = Result(), Result()
    first = once(result, make, request("a"), result.body, 1)
    rest = [
        once(result, make, request("b"), result.body, 1),
        once(result, make, request("a"), result.body, 2),
        once(result, make, request("a"), result.body, True),
        once(result, Figure, (1,)),
        once(other, make, request("a"), other.body, 1),
    ]
    assert len({id(figure) for figure in (first, *rest)}) == 6


def test_figures_go_with_their_owner() -> None:
    result = Result()
    figure = weakref.ref(once(result, make, result, result.body))
    place = id(result)
    assert figure() is not None
    assert place in kept._made
    del result
    gc.collect()
    assert figure() is None
    assert place not in kept._made


def test_the_oldest_figures_of_one_owner_make_room() -> None:
    result = Result()
    first, last = once(result, make, 0), None
    for i in range(1, kept._MOST + 1):
        last = once(result, make, i)
    assert len(kept._made[id(result)]) == kept._MOST
    assert once(result, make, kept._MOST) is last
    assert once(result, make, 0) is not first


def test_the_owners_that_nobody_looks_at_make_room() -> None:
    results = [Result() for _ in range(kept._OWNERS + 1)]
    looked_at, forgotten = once(results[0], make, 1), once(results[1], make, 1)
    for result in results[2:]:
        once(result, make, 1)
        assert once(results[0], make, 1) is looked_at
    assert len(kept._made) == kept._OWNERS
    assert once(results[1], make, 1) is not forgotten


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer(StoredResult):
    def own_json(self) -> dict:
        return {}


def answer(text: str, seconds: float = 1.0) -> Answer:
    return Answer(request=request(text), cost=Cost(1, 1, seconds))


def test_a_figure_of_several_results_is_kept_with_the_first() -> None:
    first, second = answer("a"), answer("b")
    made = once(first, make, (first, second), 1)
    assert once(first, make, (first, answer("b")), 1) is made, "the same answer, read again"
    others = [
        once(first, make, (first, answer("c")), 1),
        once(first, make, (first, answer("b", seconds=2.0)), 1),  # computed again
        once(first, make, (second, first), 1),
        once(first, make, (first, second), 2),
    ]
    assert len({id(figure) for figure in (made, *others)}) == 5
