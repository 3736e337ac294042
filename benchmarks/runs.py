"""Runs: the time to filter a list of 100,000 runs, in a fresh SQLite database."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import create_engine, insert

from benchmarks.runner import Row, fastest
from explainlab.service.store.runs import Filters, Run, Visibility, row_of
from explainlab.service.store.schema import RUNS
from explainlab.service.store.store import Store

COUNT = 100_000
START = datetime(2026, 1, 1, tzinfo=UTC)
READER = "user 3"
_METHODS = ("integrated_gradients", "kernel_shap", "occlusion", "lime", "rpi")
_MODELS = ("embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news", "some-owner/some-model")
_USERS = 20
_SHARED: tuple[Visibility, ...] = ("private", "instance", "link", "instance")
_TEXT = "the film was slow but its ending made me forgive everything that came before it on that long evening"
_WORDS = tuple(_TEXT.split(" "))
_REPEATS = 5
FILTERS = {
    "no filter": Filters(),
    "method and model": Filters(question="lime", model=_MODELS[1]),
    "the last hour": Filters(since=START + timedelta(seconds=COUNT) - timedelta(hours=1)),
    "words of many": Filters(words="forgive film"),
    "a word of one": Filters(words="number7003"),
    "words of none": Filters(words="nowhere to be found"),
}


def rows() -> Iterator[Row]:
    """Yield a row for each filter: the newest 25 runs that match, and the number of all."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'runs.sqlite'}"
        store = Store(url)
        fill(url, COUNT)
        queries: dict[str, Callable[[], object]] = {
            **{name: partial(store.runs.page, READER, filters, 0, 25) for name, filters in FILTERS.items()},
            "last page": partial(store.runs.page, READER, Filters(), COUNT // 2, 25),
            "choices": partial(store.runs.choices, READER),
        }
        for name, seconds in fastest(queries, _REPEATS).items():
            yield Row(name="runs", work=f"{COUNT:,} runs, {name}", device="cpu", seconds=seconds)


def fill(url: str, count: int) -> None:
    """Insert ``count`` runs of many users, a second apart, into the database at ``url``."""
    runs = (row_of(_run(i), f"{i:064}") for i in range(count))
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(insert(RUNS), list(runs))
    engine.dispose()


def _run(i: int) -> Run:
    words = [_WORDS[(i * step) % len(_WORDS)] for step in range(1, 24)]
    text = " ".join([*words, f"number{i}"])
    method, model, user = _METHODS[i % len(_METHODS)], _MODELS[i % len(_MODELS)], f"user {i % _USERS}"
    request = {"model": model, "text": text * 4, "method": method, "parameters": {"steps": i}}
    at = START + timedelta(seconds=i)
    run = Run(user, user.title(), "attribution", method, model, text, 0.1, 64, 32, f"{i:064}", request)
    return replace(run, visibility=_SHARED[i % len(_SHARED)], created=at, asked=at)
