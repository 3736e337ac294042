"""Power loss between two writes: a copy of the files at any moment opens, and has all that was finished by then."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import time
from pathlib import Path
from random import Random

import pytest

from explainlab import evaluate
from explainlab.models.loading import load_model
from explainlab.result import Result
from explainlab.service.store.store import Store
from tests.service.store.processes import other, write_for_ever
from tests.service.store.test_parts import lengthened

COPIES = 20


@pytest.fixture
def result() -> Result:
    """Return a result whose rows are files beside the database."""
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    return lengthened(evaluate(classifier, "embedded:sentiment", ["gradient"], ["comprehensiveness"], limit=3))


@pytest.mark.full("45 s: it copies the files at 20 moments")
def test_a_copy_of_the_files_at_any_moment_opens(result: Result, tmp_path: Path) -> None:
    home, random, finished = tmp_path / "home", Random(0), []
    with other(write_for_ever, f"sqlite:///{home / 'explainlab.sqlite'}", result.to_json()) as writer:
        finished.append(writer.told())
        for number in range(COPIES):
            time.sleep(random.uniform(0, 0.1))
            os.kill(writer.process.pid, signal.SIGSTOP)
            while writer.pipe.poll():
                finished.append(writer.told())
            copy = shutil.copytree(home, tmp_path / str(number))
            os.kill(writer.process.pid, signal.SIGCONT)
            has_all(copy / "explainlab.sqlite", finished, result)
            shutil.rmtree(copy)
    assert len(finished) > COPIES / 4


def has_all(path: Path, finished: list[tuple[str, str]], result: Result) -> None:
    """Check that a copied database is sound, has all that is ``finished``, and takes more."""
    store = Store(f"sqlite:///{path}")
    for key, view in finished:
        assert store.note(key) is not None
        assert store.view(view) is not None
    assert {key for key, _ in finished} <= set(keys_of(path))
    assert store.get(keys_of(path)[-1]).body == result.body
    store.put("f" * 64, result)
    assert store.has("f" * 64)
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


def keys_of(path: Path) -> list[str]:
    """Return the keys of all results, in order."""
    with sqlite3.connect(path) as database:
        return [key for (key,) in database.execute("SELECT key FROM results ORDER BY key")]
