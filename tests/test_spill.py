"""Data in files equals the same data in memory: sequences, tables and numbers, few or many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from explainlab import spill
from explainlab.data import Row
from explainlab.data.rows import Rows
from explainlab.errors import ResourceError
from explainlab.spill import Chosen, Floats, Table

ROWS = [
    Row(
        i,
        f"text {i} é\n\u2028",
        None if i % 2 else "b",
        None if i % 3 else "a\x00",
        ((0, 2), (3, 4)) if i % 2 else (),
        paraphrases=("ü",) * (i % 3),
    )
    for i in range(25)
]
DTYPE = np.dtype([("values", "f8", (3, 2)), ("none", "f8", (0,)), ("flag", "?"), ("label", "U3")])


@pytest.fixture(autouse=True, params=["memory", "files"])
def _place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "files":
        for name in ("FEW", "LITTLE", "_BLOCK"):
            monkeypatch.setattr(spill, name, 3)


def spilled() -> Rows:
    rows = Rows()
    for i, row in enumerate(ROWS):
        rows.append(row)
        assert rows[i // 2] == ROWS[i // 2], "read between two that are added"
    return rows


def test_a_sequence_comes_back() -> None:
    rows = spilled()
    assert [*rows] == ROWS
    assert (len(rows), rows[-1], rows[2:20:5], rows[9:4]) == (25, ROWS[-1], ROWS[2:20:5], [])
    assert rows == spilled()
    assert rows != Chosen(rows, np.arange(24))
    assert [*Chosen(rows, np.array([20, 3, 3]))] == [ROWS[20], ROWS[3], ROWS[3]]
    with pytest.raises(IndexError):
        rows[25]


def test_a_table_is_set_and_read_as_an_array_is() -> None:
    rng = np.random.default_rng(0)
    table, array = Table(DTYPE, 9), np.zeros(9, DTYPE)
    for place in (4, 0, 7):
        values = (rng.normal(size=(3, 2)), [], place == 4, "éa"[: place + 1])
        table[place], array[place] = values, values
    places = np.array([7, 7, 0, 1])
    for name in DTYPE.names or ():
        np.testing.assert_array_equal(table[name], array[name])
        np.testing.assert_array_equal(table[places][name], array[places][name])
    assert table[np.arange(9)] is table
    assert table["values"].T.flags.c_contiguous
    assert (len(table), len(table[places])) == (9, 4)


def test_numbers_come_back() -> None:
    numbers = Floats()
    assert numbers.read().tolist() == []
    for i in range(5):
        numbers.extend([i, 0.5])
    assert numbers.read().tolist() == [x for i in range(5) for x in (i, 0.5)]


def test_a_folder_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "LITTLE", 0)
    monkeypatch.setattr("tempfile.tempdir", str(Path("not") / "there"))
    with pytest.raises(ResourceError, match="Temporary files"):
        Table(DTYPE, 9)
