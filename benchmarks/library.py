"""The library as a notebook uses it: its import, a loop of texts, and what the loop leaves in memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.runner import Row, examples, model_name, sentiment_classifiers
from explainlab.data import read_dataset
from explainlab.models.classifier import Classifier
from explainlab.notebook.asking import explain
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store

METHOD = "integrated_gradients"
TEXTS, EXPLAINED = 100, 1_000
"""Texts that are timed, and explanations after which memory is measured."""
_TIMES = 3


def rows() -> Iterator[Row]:
    """Yield rows: the import beside Captum's, 100 texts beside the service's, and megabytes after 1,000."""
    yield _import()
    classifier = next(sentiment_classifiers())
    texts = [row.text for row in read_dataset(examples(classifier), classifier.labels).rows]
    yield _loop(classifier, texts[:TEXTS])
    yield _memory(classifier, texts)


def _import() -> Row:
    ours, theirs = (_seconds_of(f"import {name}") for name in ("explainlab", "captum"))
    return Row(name="import", work="before the first model", device="cpu", seconds=ours, rival="import captum",
               rival_seconds=theirs, ratio_to_rival=ours / theirs)  # fmt: skip


def _seconds_of(line: str) -> float:
    """Return the seconds of the fastest of some fresh processes that measure ``line`` themselves."""
    code = f"import time; start = time.perf_counter(); {line}; print(time.perf_counter() - start)"
    ran = (subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(_TIMES))
    return min(float(each.stdout) for each in ran)


def _loop(classifier: Classifier, texts: list[str]) -> Row:
    """Measure alternating runs, each of the service on a store of its own."""
    ours, theirs = [], []
    for _ in range(_TIMES):
        start = time.perf_counter()
        for text in texts:
            explain(classifier, text, METHOD)
        ours.append(time.perf_counter() - start)
        with tempfile.TemporaryDirectory() as folder:
            service = Service(Store(f"sqlite:///{Path(folder) / 'results.sqlite'}"), "cpu")
            requests = [Request(model=classifier.id, text=text, question=METHOD) for text in texts]
            service.run(
                resolve(Request(model=classifier.id, text="a warm film", question=METHOD))
            )  # the model is loaded
            start = time.perf_counter()
            for request in requests:
                service.run(resolve(request))
            theirs.append(time.perf_counter() - start)
    return Row(name="a loop of texts", work=f"{METHOD}, {len(texts)} texts, {model_name(classifier)}", device="cpu",
               seconds=min(ours), rival="the service", rival_seconds=min(theirs),
               ratio_to_rival=min(ours) / min(theirs))  # fmt: skip


def _memory(classifier: Classifier, texts: list[str]) -> Row:
    for text in texts[:TEXTS]:
        explain(classifier, text, "gradient")
    before = _megabytes()
    start = time.perf_counter()
    for number in range(EXPLAINED):
        explain(classifier, texts[number % len(texts)], "gradient")
    seconds = time.perf_counter() - start
    return Row(name="memory", work=f"after {EXPLAINED:,} explanations", device="cpu", seconds=seconds,
               facts={"grown, MB": _megabytes() - before})  # fmt: skip


def _megabytes() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss / 2**20)
