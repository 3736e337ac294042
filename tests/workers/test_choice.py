"""The choice of workers for a task."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from explainlab.workers.pool import Loaded
from explainlab.workers.worker import eligible_workers, has_larger

GB = 2**30


@dataclass
class Known:
    """The known facts about a worker."""

    models: tuple[str, ...] = ()
    away: str = ""
    spare: bool = False
    device_bytes: int | None = 16 * GB
    loaded: list[Loaded] = field(init=False)

    def __post_init__(self) -> None:
        self.loaded = [Loaded(name, "float32", "cpu", 1) for name in self.models]


SPARE, AWAY = Known(spare=True), Known(("bert",), away="No Ray cluster answers.")


@pytest.mark.parametrize(
    ("workers", "urgent", "too_few", "expected"),
    [
        ([Known(), Known(("bert",)), SPARE], True, 0, [[1], [0]]),
        ([Known(), AWAY, SPARE], True, 0, [[], [0]]),
        ([AWAY, AWAY, SPARE], True, 0, [[2], []]),
        ([AWAY, AWAY, SPARE], False, 0, [[], []]),
        ([Known(), Known(device_bytes=80 * GB), SPARE], False, 16 * GB, [[], [1]]),
        ([Known(), Known(device_bytes=None)], False, 16 * GB, [[], [1]]),
        ([Known(), SPARE], True, 16 * GB, [[], []]),
    ],
)
def test_who_can_do_something(workers: list[Known], urgent: bool, too_few: int, expected: list[list[int]]) -> None:
    assert eligible_workers(workers, "bert", urgent, too_few) == expected


def test_a_spare_one_comes_first_where_each_other_is_held_by_a_long_turn() -> None:
    workers = [Known(), Known(("bert",)), SPARE]
    assert eligible_workers(workers, "bert", True, held={0, 1}) == [[2], [1, 0]]
    assert eligible_workers(workers, "bert", True, held={0}) == [[1], [0]]
    assert eligible_workers(workers, "bert", False, held={0, 1}) == [[1], [0]]
    assert eligible_workers([Known(), AWAY, SPARE], "bert", True, held={0}) == [[2], [0]]
    assert eligible_workers(workers[:2], "bert", True, held={0, 1}) == [[1], [0]], "there is no spare one"


def test_a_larger_one_is_known_to_be_larger() -> None:
    workers = [Known(), Known(device_bytes=80 * GB), Known(device_bytes=None)]
    assert [has_larger(workers, place) for place in (0, 1)] == [True, False]
    assert not has_larger([Known(), Known(device_bytes=80 * GB, spare=True)], 0)
