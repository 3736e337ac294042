"""Measurements as a file of JSON lines, which a second run continues, and as a page of tables in Markdown."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from benchmarks.runner import Row

INTERRUPTED = "interrupted"
"""Begins the problem of a measurement that the next run tries again."""
BEGUN = f"{INTERRUPTED}: the process ended during the measurement"
"""The problem of a measurement that has no other line in the file."""

Key = tuple[str, str, int, str, str]


@dataclass(frozen=True)
class Measurement:
    """A method or metric (``kind``) by its ``name`` with options, on ``texts`` texts of ``tokens`` tokens in all.

    ``seconds`` are those of the fastest run, ``bare_seconds`` of as many ``passes`` by transformers alone.
    ``peak_mb``: the most that torch had allocated, the weights included; on a CPU, the most that the process had.
    ``difference``: the largest from a CPU's scores, as a share of the largest of these. ``problem``: why there are no
    numbers.
    """

    model: str
    kind: str
    name: str
    texts: int
    device: str
    torch: str
    dtype: str
    tokens: int = 0
    passes: int = 0
    seconds: float | None = None
    bare_seconds: float | None = None
    peak_mb: float | None = None
    difference: float | None = None
    problem: str = ""

    @property
    def key(self) -> Key:
        """A measurement with the same key is not made again."""
        return self.model, self.name, self.texts, self.device, self.torch

    @property
    def interrupted(self) -> bool:
        """It is made again all the same."""
        return self.problem.startswith(INTERRUPTED)

    @property
    def ratio(self) -> float | None:
        """The seconds divided by the bare seconds."""
        return self.seconds / self.bare_seconds if self.seconds and self.bare_seconds else None

    @property
    def row(self) -> Row:
        """The measurement as the other parts of the benchmark show theirs."""
        return Row(
            name=self.name.partition(":")[0],
            work=f"{self.model}, {_texts(self.texts)}",
            device=self.device,
            seconds=self.seconds,
            floor_seconds=self.bare_seconds,
            ratio_to_floor=self.ratio,
            difference=self.difference,
            peak_memory_mb=self.peak_mb,
            facts={"passes": self.passes},
        )

    @property
    def line(self) -> str:
        """The measurement as a line of its table."""
        if self.problem:
            return f"| `{self.name}` | {self.problem.replace('|', '/')} | | | | | |"
        figures = [
            (self.seconds, ".3g"),
            (self.bare_seconds, ".3g"),
            (self.ratio, ".2f"),
            (self.peak_mb, ",.0f"),
            (self.difference, ".1e"),
        ]
        cells = ["" if value is None else format(value, form) for value, form in figures]
        return f"| `{self.name}` | {self.passes:,} | {' | '.join(cells)} |"


def add(path: Path, own: Measurement) -> Measurement:
    """Add a line to the file, at once; returns the measurement."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(own), allow_nan=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    return own


def read(path: Path) -> dict[Key, Measurement]:
    """Read the measurements of a file, the last of each key. A last line that was cut is removed from the file."""
    known: dict[Key, Measurement] = {}
    if path.is_file():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        os.truncate(path, whole)
        for line in content[:whole].splitlines():
            own = Measurement(**json.loads(line))
            known[own.key] = own
    return known


def page(measurements: Iterable[Measurement]) -> str:
    """Write the measurements as a page in Markdown, with a table for each device, model and number of texts."""
    parts = [
        "# Speed, memory and scores on a GPU",
        "By `bash benchmarks/gpu.sh FOLDER`, with random weights. *Bare* are as many passes by transformers "
        "alone, in full batches. *Peak* is the most memory that torch had allocated, the weights included. "
        "*Difference* is the largest from the scores of a CPU in float32 from the same weights, for the first text, as "
        "a share of the largest score.",
    ]
    of_device = sorted(measurements, key=lambda own: (own.device, own.torch))  # else in the order of measuring
    for (device, version), group in groupby(of_device, key=lambda own: (own.device, own.torch)):
        parts.append(f"## {device}, torch {version}")
        if device == "cpu":
            parts.append("No GPU: tiny models, whose times say nothing about a GPU. The peak is the whole process's.")
        tables: dict[tuple[str, str, int], list[Measurement]] = {}
        for own in group:
            tables.setdefault((own.model, own.dtype, own.texts), []).append(own)
        for (model, dtype, texts), members in tables.items():
            tokens = max(own.tokens for own in members)
            parts.append(f"### {model}, {dtype}, {_texts(texts)} ({tokens:,} tokens)")
            head = "| | passes | seconds | bare | ratio | peak MB | difference |\n|---|---:|---:|---:|---:|---:|---:|"
            parts.append("\n".join([head, *(own.line for own in members)]))
    return "\n\n".join(parts) + "\n"


def _texts(count: int) -> str:
    return "1 text" if count == 1 else f"{count} texts"
