"""Predictions as arrays let through, sort and export exactly what a slow loop over the records does."""

from __future__ import annotations

import csv
import io
import json
import random
import time
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from explainlab import disk_backed
from explainlab.analyses.errors import rows as columns
from explainlab.analyses.errors.rows import COLUMNS, PredictedRows
from explainlab.app.pages.errors.form import ErrorsView, first_view
from explainlab.app.pages.errors.state import PredictionTable, to_csv, to_json
from explainlab.service.store.remarks import Remark
from tests import forked

LABELS = ("negative", "positive")
WORDS = ("Straße", "film", "DULL", "lovely", "a.c", "(it)", "é")


def made(n: int, pairs: bool = False) -> list[dict]:
    """Return rows in the form of the study, drawn at random."""
    draw = random.Random(0)
    return [
        {
            "row": i + 1,
            "text": " ".join(draw.choices(WORDS, k=4)),
            "text_pair": draw.choice(WORDS) if pairs else None,
            "label": draw.choice(LABELS),
            "predicted": draw.choice(LABELS),
            "confidence": round(draw.uniform(0.5, 1), 2),
            "probability": draw.random(),
            "loss": round(draw.uniform(0, 4), 1),
            "tokens": draw.randint(3, 9),
            "cut": False,
        }
        for i in range(n)
    ]


def slow(rows: list[dict], view: ErrorsView) -> list[int]:
    """Return row numbers by a plain loop."""
    kept = []
    for row in rows:
        texts = [row["text"], row["text_pair"] or ""]
        if view.show == "mistakes" and row["label"] == row["predicted"]:
            continue
        if (view.true and row["label"] != view.true) or (view.predicted and row["predicted"] != view.predicted):
            continue
        if view.numbers and row["row"] not in view.numbers:
            continue
        if any(view.search.casefold() in text.casefold() for text in texts):
            kept.append(row)
    keys = {
        "loss": lambda row: -row["loss"],
        "confident": lambda row: -row["confidence"],
        "unsure": lambda row: row["confidence"],
        "long": lambda row: -row["tokens"],
        "short": lambda row: row["tokens"],
        "row": lambda row: row["row"],
    }
    return [row["row"] for row in sorted(kept, key=keys[view.sort])]


@pytest.mark.parametrize("pairs", [False, True], ids=["texts", "pairs"])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"show": "all", "sort": "unsure"},
        {"true": "negative", "sort": "confident"},
        {"predicted": "negative", "sort": "long"},
        {"true": "positive", "predicted": "negative", "sort": "short"},
        {"search": "STRASSE", "show": "all", "sort": "row"},
        {"search": "a.c"},
        {"search": "(IT)"},
        {"search": "nowhere"},
        {"numbers": (3, 5, 8, 13, 21), "show": "all"},
    ],
    ids=str,
)
def test_rows_are_let_through_and_sorted_as_by_a_loop(fields: dict, pairs: bool) -> None:
    rows = made(200, pairs)
    table, view = PredictionTable(PredictedRows.of(rows)), first_view().model_copy(update=fields)
    found = [table.row(position) for position in table.order(view)]
    assert [row["row"] for row in found] == slow(rows, view)
    assert all(row == rows[row["row"] - 1] for row in found)


def test_ten_thousand_rows_are_searched_and_sorted_in_a_blink() -> None:
    rows = made(10_000)
    table, view = PredictionTable(PredictedRows.of(rows)), first_view().model_copy(update={"search": "lovely"})
    begun = time.thread_time()
    order = table.order(view)
    assert time.thread_time() - begun < 0.1
    assert len(order) == len(slow(rows, view)) > 1000


@pytest.mark.parametrize("little", [0, disk_backed.LITTLE], ids=["file", "memory"])
def test_rows_in_a_file_are_rows(little: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_backed, "LITTLE", little)
    monkeypatch.setattr(columns, "TOGETHER", 7)
    plain = made(30, pairs=True)
    rows = PredictedRows.of(iter(plain))
    assert [*rows] == plain
    assert (len(rows), rows[-1], rows[3:9], rows[20:2:-3]) == (30, plain[-1], plain[3:9], plain[20:2:-3])
    assert rows.at(np.array([4, 4, 0])) == [plain[4], plain[4], plain[0]]
    assert rows.column("loss").tolist() == [row["loss"] for row in plain]
    assert len(PredictedRows.of([])) == 0


@pytest.mark.parametrize("wrong", [{"row": 2**70}, {"row": "x"}, {"text": None}, {"cut": "maybe"}, {"text": "\ud800"}])
def test_what_is_no_row_is_refused(wrong: dict) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        PredictedRows.of([*made(2), made(1)[0] | wrong])


def _peak(parts: int) -> int:
    """Return the peak of bytes in memory while ``parts`` parts of 1,000 rows are joined."""
    part = {name: [row[name] for row in made(1_000)] for name in COLUMNS}
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    rows = PredictedRows.joined(part for _ in range(parts))
    held = tracemalloc.get_traced_memory()[1] + pa.total_allocated_bytes() - before
    assert len(rows) == 1_000 * parts
    return held


@pytest.mark.full("it joins 100,000 rows: 11 s")
def test_memory_does_not_grow_with_the_rows() -> None:
    few, many = (forked.answer_of(_peak, parts) for parts in (20, 100))
    assert many < 1.1 * few + 50_000


def test_files_hold_the_rows_with_what_readers_left_and_edits_after_their_parents() -> None:
    rows = made(3)
    rows[1]["text"] = "=1+1"
    remarks = [Remark(row=2, note="-odd", tags=("a", "b")), Remark.of_edit(2, "a fine film")]
    records = PredictionTable(PredictedRows.of(rows)).records(np.array([2, 1]), remarks)
    assert json.loads(to_json(records)) == {"rows": records}
    assert [(one["row"], one["parent"], one["text"]) for one in records] == [
        (3, None, rows[2]["text"]),
        (2, None, "=1+1"),
        (None, 2, "a fine film"),
    ]
    assert (records[1]["note"], records[1]["tags"], records[2]["label"]) == ("-odd", ["a", "b"], rows[1]["label"])
    table = list(csv.DictReader(io.StringIO(to_csv(records))))
    assert (table[1]["text"], table[1]["note"], table[1]["tags"]) == ("'=1+1", "'-odd", "a, b")
    assert float(table[0]["loss"]) == rows[2]["loss"]
