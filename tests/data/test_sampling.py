"""Random samples: every row of a stratum is equally likely, and strata keep their shares."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from explainlab.data import Row, read_dataset
from explainlab.data.rows import Sample, allocation
from explainlab.errors import DataError
from explainlab.limits import Limits
from explainlab.reader import Reader

COUNTS = {"a": 40, "b": 15, None: 5}
ROWS = [Row(number, "", label=label) for number, label in enumerate([*["a"] * 40, *["b"] * 15, *[None] * 5], start=1)]


def drawn(size: int, seed: int) -> list[Row]:
    sample = Sample(size, seed)
    for row in ROWS:
        sample.see(row)
    return sample.rows()


@pytest.fixture
def ordered(tmp_path: Path) -> Path:
    """A file sorted by class: 60 negative rows, then 40 positive ones; the rows 10 and 90 are bad."""
    labels = ["negative"] * 60 + ["positive"] * 40
    labels[9] = labels[89] = "?"
    path = tmp_path / "sorted.csv"
    path.write_text("text,label\n" + "".join(f"text {i},{label}\n" for i, label in enumerate(labels, start=1)))
    return path


def test_every_row_of_a_stratum_is_equally_likely() -> None:
    """The counts of rows over many seeds differ by no more than chance: chi-square in each stratum, fixed seeds."""
    size, seeds = 12, 4_000
    counts = Counter(row.number for seed in range(seeds) for row in drawn(size, seed))
    shares = allocation(COUNTS, size, random.Random(0))
    for label, total in COUNTS.items():
        share = shares[label] / total
        seen = np.array([counts[row.number] for row in ROWS if row.label == label])
        assert seen.sum() == shares[label] * seeds
        statistic = ((seen - share * seeds) ** 2).sum() / (seeds * share * (1 - share)) * (total - 1) / total
        assert 0.001 < chi2.sf(statistic, total - 1) < 0.999, (label, statistic)


def test_rows_are_drawn_independently_of_their_neighbours() -> None:
    """Pairs of rows of one stratum are drawn together as often as in simple random sampling."""
    seeds, (first, second) = 4_000, (1, 2)
    together = sum({first, second} <= {row.number for row in drawn(12, seed)} for seed in range(seeds))
    expected = seeds * 8 / 40 * 7 / 39
    assert abs(together - expected) < 4 * expected**0.5


@given(st.dictionaries(st.text(max_size=2), st.integers(1, 1_000), min_size=1, max_size=8), st.integers(1, 2_000))
def test_a_share_is_the_proportion_rounded_up_or_down(counts: dict[str | None, int], size: int) -> None:
    shares = allocation(counts, size, random.Random(0))
    total = sum(counts.values())
    assert sum(shares.values()) == min(size, total)
    for label, count in counts.items():
        quota = min(size, total) * count / total
        assert quota - 1 < shares[label] < quota + 1
        assert shares[label] <= count


def test_the_largest_remainders_get_what_is_left() -> None:
    assert allocation({"a": 50, "b": 30, "c": 20}, 7, random.Random(0)) == {"a": 4, "b": 2, "c": 1}
    even = [allocation({"a": 10, "b": 10}, 5, random.Random(seed))["a"] for seed in range(200)]
    assert set(even) == {2, 3}
    assert 70 < even.count(2) < 130, "no class is preferred"


def test_equal_seeds_draw_equal_rows_in_the_order_of_the_file() -> None:
    first, second = drawn(12, 0), drawn(12, 1)
    assert drawn(12, 0) == first != second
    for rows in (first, second):
        assert [row.number for row in rows] == sorted({row.number for row in rows})
        assert Counter(row.label for row in rows) == {"a": 8, "b": 3, None: 1}
    assert drawn(60, 0) == drawn(1_000, 1) == ROWS


def test_a_sorted_file_gives_every_class_its_share(ordered: Path) -> None:
    data = read_dataset(ordered, ("negative", "positive"), limit=10, skip_bad=True, seed=0)
    assert Counter(row.label for row in data.rows) == {"negative": 6, "positive": 4}
    assert (data.total, len(data.skipped)) == (98, 2)
    for row in data.rows:
        assert row.text == f"text {row.number}"
    first = read_dataset(ordered, ("negative", "positive"), limit=10, skip_bad=True)
    assert {row.label for row in first.rows} == {"negative"}
    assert first.total is None
    every = read_dataset(ordered, ("negative", "positive"), limit=1_000, skip_bad=True, seed=0)
    assert every == read_dataset(ordered, ("negative", "positive"), skip_bad=True)
    assert every.total == 98


def test_a_bad_row_is_told_wherever_it_is(ordered: Path) -> None:
    with pytest.raises(DataError, match="Row 10 of sorted"):
        read_dataset(ordered, ("negative", "positive"), limit=2, seed=0)
    assert len(read_dataset(ordered, ("negative", "positive"), limit=2).rows) == 2


def test_a_file_beyond_the_limit_is_refused_not_cut(ordered: Path) -> None:
    reader = Reader(limits=Limits(max_rows=99))
    with pytest.raises(DataError, match="more than 99 rows"):
        read_dataset(ordered, limit=2, reader=reader, seed=0)
    assert len(read_dataset(ordered, limit=2, reader=reader).rows) == 2
