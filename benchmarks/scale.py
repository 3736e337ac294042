"""Data sets of very many rows, and many workers.

Memory beyond the model; how long a stored answer takes to open, filter and search; an evaluation by several workers.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import workers
from benchmarks.predictions import varied
from benchmarks.runner import Row, examples, memory_beyond_mb, model_name, timed
from explainlab.analyses.registry import answer, complete, new_request, request_key
from explainlab.data import read_dataset
from explainlab.models.classifier import Classifier
from explainlab.models.context import sharded
from explainlab.models.loading import load_model
from explainlab.service.store.store import Store
from explainlab.workers.worker import Worker

ROWS = (5_000, 25_000)
"""Peak memory is to be the same for both."""


def rows(fleet: Sequence[Worker] = ()) -> Iterator[Row]:
    """Yield a row for each number of rows, by the embedded model, and rows of several workers: of ``fleet``, if any."""
    classifier = load_model("embedded:bert-mini-sst2")
    for count in ROWS:
        with TemporaryDirectory() as folder:
            yield _measured(classifier, count, Path(folder))
    yield from workers.rows(fleet)


def _measured(classifier: Classifier, count: int, folder: Path) -> Row:
    data = _written(classifier, count, folder)
    request = complete(new_request(question="predictions", model=classifier.id, data=data))
    store, key = Store(f"sqlite:///{folder / 'results.sqlite'}"), request_key(request, classifier.digest)

    def computed() -> None:
        store.put(key, answer(classifier, request, sharded()))

    begun = time.perf_counter()
    _, peak = memory_beyond_mb(classifier.device, computed)
    seconds = time.perf_counter() - begun
    result: Any
    result, opening = timed(lambda: store.get(key))
    found = result.body.rows
    kept = [*folder.glob("results.sqlite*"), *store.parts.folder.rglob("*.parquet")]
    return Row(
        name="scale",
        work=f"{model_name(classifier)}, {count:,} rows predicted and stored",
        device=classifier.device.type,
        seconds=seconds,
        peak_memory_mb=peak,
        facts={
            "opening, s": opening,
            "filter and sort, s": timed(lambda: found.column("loss")[found.wrong].argsort())[1],
            "search, s": timed(lambda: found.finds("camera"))[1],
            "stored, MB": sum(path.stat().st_size for path in kept) / 2**20,
        },
    )


def _written(classifier: Classifier, count: int, folder: Path) -> str:
    """Write a file of ``count`` different rows, and return its path."""
    path = folder / "rows.csv"
    drawn = varied(read_dataset(examples(classifier), classifier.labels).rows, count)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *((row.text, row.label) for row in drawn)])
    return str(path)
