"""``python -m tests.load [PART ...]``: measure how long users wait for pages and answers, on a quiet machine.

Parts are ``sessions`` (two minutes) and the dear requests of :mod:`benchmarks.neighbours` (one to three minutes each).
Each writes a line to ``build/load.jsonl`` when it ends; a later call leaves out the parts that are there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from benchmarks.neighbours import ALONE, DEAR, rows
from explainlab.settings import ROOT
from tests.load.under_load import under_load

SESSIONS, SECONDS, QUESTION_EVERY = 20, 60.0, 3
PAGE_SECONDS, ANSWER_SECONDS, BESIDE_SECONDS = 1.5, 3.0, 5.0
"""Limits for 95 of 100 pages, for 95 of 100 answers, and for each answer beside a dear request."""
PARTS = ("sessions", ALONE, *DEAR)
RECORD = ROOT / "build" / "load.jsonl"


def of_sessions() -> list[str]:
    """Return lines about sessions that click and ask beside a job over a data set."""
    with TemporaryDirectory() as home:
        met = under_load(Path(home), SESSIONS, SECONDS, QUESTION_EVERY)
    rest = f"{len(met.errors)} errors, {met.lost} lost answers, the worker was {'' if met.busy else 'NOT '}busy"
    return [
        f"click to page:      {_words(met.seconds, PAGE_SECONDS)}",
        f"question to answer: {_words(met.answers, ANSWER_SECONDS)}",
        f"{SESSIONS} sessions for {SECONDS:.0f} s: {rest}",
    ]


def of_neighbours(name: str) -> list[str]:
    """Return a line about a sentence's occlusion beside the dear request of this ``name``."""
    (row,) = rows([name])
    assert row.seconds is not None
    return [f"beside {name}: slowest answer {row.seconds:.1f} s {_held(row.seconds, BESIDE_SECONDS)}"]


def _words(seconds: Sequence[float], limit: float) -> str:
    most = quantiles(seconds, n=20)[-1]
    return f"{len(seconds)}, median {median(seconds):.2f} s, 95 of 100 within {most:.2f} s {_held(most, limit)}"


def _held(seconds: float, limit: float) -> str:
    return f"(limit {limit:g} s: {'held' if seconds < limit else 'NOT HELD'})"


def main(wanted: Sequence[str]) -> None:
    """Measure the parts that are ``wanted``, by default all, and print what is known of them."""
    RECORD.parent.mkdir(exist_ok=True)
    known = dict(map(json.loads, RECORD.read_text().splitlines())) if RECORD.exists() else {}
    for part in wanted or PARTS:
        if part not in known:
            known[part] = of_sessions() if part == "sessions" else of_neighbours(part)
            with RECORD.open("a") as file:
                file.write(json.dumps([part, known[part]]) + "\n")
        print(*known[part], sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
