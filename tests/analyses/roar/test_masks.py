"""Masks: as many tokens as the ratio says, nested, the largest scores first; sparsity; the order of models."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab.analyses.roar.grid import Grid, GridCell
from explainlab.analyses.roar.measures import concentration
from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.analyses.roar.texts import Masks, count, most_important, packed, unpacked


def slow_choice(scores: list[float], masked: list[bool], number: int) -> list[bool]:
    """Add the largest scores to the mask, of equal ones the first, until ``number`` tokens are masked."""
    chosen = list(masked)
    while sum(chosen) < number:
        left = [i for i, is_chosen in enumerate(chosen) if not is_chosen]
        chosen[max(left, key=lambda i: (scores[i], -i))] = True
    return chosen


def test_counts_are_rounded_down_and_masks_are_nested_as_in_a_slow_loop() -> None:
    draw = np.random.default_rng(3)
    for tokens in range(12):
        masked = np.zeros(tokens, dtype=bool)
        for ratio in range(0, 101, 10):
            scores = draw.integers(0, 4, tokens) / 2 - 1.0  # many are equal, some are below 0
            number = count(tokens, ratio, counted=False)
            assert number == ratio * tokens // 100
            chosen = most_important(scores, masked, number)
            assert chosen.tolist() == slow_choice(scores.tolist(), masked.tolist(), number)
            assert (chosen | masked).tolist() == chosen.tolist()
            masked = chosen
        assert masked.all()


def test_a_number_of_tokens_is_never_more_than_there_are() -> None:
    assert [count(4, step, counted=True) for step in (0, 1, 4, 9, 100)] == [0, 1, 4, 4, 4]


def test_masks_are_kept_bit_by_bit() -> None:
    lengths = [3, 0, 5]
    masks = Masks.joined(
        lengths, iter([np.array([True, False, True]), np.zeros(0, dtype=bool), np.ones(5, dtype=bool)])
    )
    assert [masks[i].tolist() for i in range(3)] == [[True, False, True], [], [True] * 5]
    assert unpacked(packed(masks.bits), 8).tolist() == masks.bits.tolist()
    assert not Masks.none(lengths).bits.any()
    assert Masks.all(lengths).bits.all()


def test_a_measure_concentrates_on_few_tokens_or_on_none() -> None:
    none = [np.zeros(3), np.zeros(0)]
    assert concentration(none).shape == concentration([]).shape == (0, 20)
    shares, longer = concentration([*none, np.array([-3.0, 0.5, 1.0, 0.5]), np.ones(11)])
    assert shares[:10] == pytest.approx([0.6, 0.8, 0.9, 1, 1, 1, 1, 1, 1, 1])
    assert shares[10:] == pytest.approx([0.6, 0.6, 0.8, 0.8, 0.8, 0.9, 0.9, 1, 1, 1])
    assert longer[:10] == pytest.approx(np.arange(1, 11) / 11)
    assert longer[10:] == pytest.approx(np.array([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) / 11)


def test_the_bits_of_parts_find_their_texts() -> None:
    draw = np.random.default_rng(4)
    lengths = [3, 0, 5, 2]
    own = [draw.integers(0, 2, length).astype(bool) for length in lengths]
    parts = [[2, 0], [3, 1]]
    masks = Masks.placed(lengths, ((rows, np.concatenate([own[row] for row in rows])) for rows in parts))
    assert [masks[i].tolist() for i in range(4)] == [bits.tolist() for bits in own]


def test_places_share_what_is_the_same_and_know_what_they_wait_for() -> None:
    grid = Grid(parameters(recursive="both", ratios=[0, 20, 50, 100], seeds=2), first=7)
    assert grid.seeds == [7, 8]
    places = grid.of_seed(7)
    assert len(places) == 2 + 2 + 2 * 2
    start = GridCell(7, "random", False, 0)
    assert grid.before(GridCell(7, "gradient", True, 20)) == grid.before(GridCell(7, "gradient", False, 50)) == start
    assert grid.before(GridCell(7, "gradient", True, 50)) == GridCell(7, "gradient", True, 20)
    assert grid.before(GridCell(7, "random", False, 50)) is None
    waits = [(grid.before(place), i) for i, place in enumerate(places)]
    assert all(places.index(before) < i for before, i in waits if before)
    lanes = grid.lanes(7)
    assert [lane[0] for lane in lanes[:4]] == places[:4]
    assert lanes[4:] == [places[4:]]
    assert all(grid.before(place) in (None, start, *lane) for lane in lanes for place in lane)
    assert [place.ratio for place in grid.after(start, "gradient")] == [20, 20, 50]
    assert [place.measure for place in grid.curve(8, "gradient", True)] == ["random", "gradient", "gradient", "random"]
    assert grid.path(GridCell(7, "gradient", True, 20)) == grid.path(GridCell(7, "gradient", False, 20)) == [20]
    assert grid.path(GridCell(7, "gradient", True, 50)) == [20, 50]


def parameters(**given: object) -> RoarParameters:
    return RoarParameters.model_validate({"test": "test.csv", "measures": ["gradient"], **given})
