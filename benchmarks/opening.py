"""Opening a row: reading and drawing one of 10,000 mistakes whose attributions are stored, in a fresh database."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, insert

from benchmarks.predictions import varied
from benchmarks.runner import Row, examples, model_name, sentiment_classifiers
from explainlab.analyses.errors.figures import difference
from explainlab.analyses.registry import complete, request_key
from explainlab.attribution.explain import answer
from explainlab.attribution.records import Attribution
from explainlab.data import read_dataset
from explainlab.figures.heatmap import heatmap, limit
from explainlab.figures.svg import draw_svg
from explainlab.models.classifier import Classifier
from explainlab.request import CompleteRequest, Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.schema import RESULTS
from explainlab.service.store.store import Store

COUNT = 10_000
OPENED = 50
"""Rows that are opened, evenly spread; the attributions of the others are copies of theirs."""


def rows() -> Iterator[Row]:
    """Yield a row with the median time of opening a row for the first time, and the longest."""
    classifier = next(sentiment_classifiers())
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'results.sqlite'}"
        service = Service(Store(url), "cpu")
        requests = fill(url, classifier)
        seconds = [_opened(service, *pair) for pair in requests]
    facts = {"slowest of them, s": max(seconds)}
    work = f"{model_name(classifier)}, one of {COUNT:,} mistakes"
    yield Row(name="opening a row", work=work, device="cpu", seconds=statistics.median(seconds), facts=facts)


def fill(url: str, classifier: Classifier) -> list[tuple[Request, Request]]:
    """Store two attributions for every row, one for each class; returns the requests of the rows to open."""
    texts = varied(read_dataset(examples(classifier), classifier.labels).rows, COUNT)
    opened: list[tuple[Request, Request]] = []
    stored: list[dict[str, Any]] = []
    bodies: list[dict[str, Any]] = []
    for number, row in enumerate(texts):
        first, second = (_request(classifier, row.text, label) for label in classifier.labels)
        if number % (COUNT // OPENED) == 0:
            opened.append((first, second))
            bodies = [answer(classifier, request).to_json() for request in (first, second)]
        for request, body in zip((first, second), bodies, strict=True):
            key = request_key(request, classifier.digest)
            columns = {"key": key, "model": request.model, "question": request.question}
            stored.append({**columns, "body": json.dumps({**body, "text": request.text}), "created": datetime.now(UTC)})
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(insert(RESULTS), stored)
    engine.dispose()
    return opened


def _request(classifier: Classifier, text: str, label: str) -> CompleteRequest:
    return complete(Request(model=classifier.id, text=text, question="gradient", target=label))


def _opened(service: Service, *requests: Request) -> float:
    """Return the seconds to find and draw both attributions and their difference."""
    start = time.perf_counter()
    first, second = (service.find(resolve(request)) for request in requests)
    assert isinstance(first, Attribution), "the first attribution is not stored"
    assert isinstance(second, Attribution), "the second attribution is not stored"
    top = limit([first, second])
    heatmaps = [heatmap(first, scale=top), heatmap(second, scale=top), heatmap(difference(first, second))]
    for drawn in heatmaps:
        draw_svg(drawn)
        drawn.model_dump_json()
    return time.perf_counter() - start
