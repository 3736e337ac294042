"""Opening a row: what is read and drawn to show one of 10,000 mistakes whose maps are stored, in a fresh database."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import create_engine, insert

from explainlab.analyses.errors.figures import difference
from explainlab.attribution.explain import answer
from explainlab.bench.predictions import varied
from explainlab.bench.runner import Row, classifiers, model_name
from explainlab.data import examples_for, read_dataset
from explainlab.figures.heatmap import heatmap, limit
from explainlab.figures.svg import draw_svg
from explainlab.models.classifier import Classifier
from explainlab.request import Request
from explainlab.service.questions import kind_of
from explainlab.service.service import Service
from explainlab.service.store.schema import RESULTS
from explainlab.service.store.store import Store

COUNT = 10_000
OPENED = 50
"""Rows that are opened, spread over all; the maps of the others are copies of theirs."""


def rows() -> Iterator[Row]:
    """One row: the median over the rows opened, each for the first time; the slowest is told beside it."""
    classifier = next(one for one in classifiers() if one.labels == ("negative", "positive"))
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'results.sqlite'}"
        service = Service(Store(url), "cpu")
        asked = fill(url, classifier)
        seconds = [_opened(service, both) for both in asked]
    facts = {"slowest of them, s": max(seconds)}
    work = f"{model_name(classifier)}, one of {COUNT:,} mistakes"
    yield Row(name="opening a row", work=work, device="cpu", seconds=statistics.median(seconds), facts=facts)


def fill(url: str, classifier: Classifier) -> list[tuple[Request, Request]]:
    """Store both maps of every row; the questions of the rows that are to be opened."""
    texts = varied(read_dataset(examples_for(classifier.labels).id, classifier.labels).rows, COUNT)
    asked, made, bodies = [], [], []
    for number, row in enumerate(texts):
        both = tuple(_question(classifier, row.text, label) for label in classifier.labels)
        if number % (COUNT // OPENED) == 0:
            asked.append(both)
            bodies = [answer(classifier, request).to_json() for request in both]
        for request, body in zip(both, bodies, strict=True):
            key = kind_of(request).key(request, classifier.digest)
            kept = json.dumps({**body, "text": request.text})
            row = {"key": key, "model": request.model, "method": request.question, "body": kept}
            made.append({**row, "created": datetime.now(UTC)})
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(insert(RESULTS), made)
    engine.dispose()
    return asked


def _question(classifier: Classifier, text: str, label: str) -> Request:
    request = Request(model=classifier.id, text=text, question="gradient", target=label)
    return kind_of(request).complete(request)


def _opened(service: Service, both: tuple[Request, Request]) -> float:
    start = time.perf_counter()
    first, second = (service.find(request) for request in both)
    top = limit([first, second])
    maps = [heatmap(first, scale=top), heatmap(second, scale=top), heatmap(difference(first, second))]
    for drawn in maps:
        draw_svg(drawn)
        drawn.model_dump_json()
    return time.perf_counter() - start
