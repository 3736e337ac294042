"""Calls from a notebook: progress, a line before a long run, and the cache of a stopped study."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

import explainlab
from explainlab.analyses.run import study as plain_study
from explainlab.errors import DataError, RequestError
from explainlab.models.context import MemoryCache, Receivers, RunContext
from explainlab.notebook import asking
from explainlab.notebook.asking import DiskCache
from explainlab.notebook.telling import LONG, ProgressBar
from explainlab.reporting import Reporter
from tests.conftest import Zoo


class Stopping(ProgressBar):
    """A bar that presses Ctrl-C after some work."""

    after = 0

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        progress = self.context.progress.then(Receivers(spend=self._spend))
        self.context = replace(self.context, progress=progress)

    def _spend(self, work: float) -> None:
        Stopping.after -= 1
        if Stopping.after == 0:
            raise KeyboardInterrupt


def test_what_was_finished_is_kept_and_the_same_call_goes_on(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo("bert")
    asked: dict[str, Any] = {"data": "embedded:sentiment", "rows": 4, "methods": ["occlusion"], "sample": "first"}
    whole = plain_study(model, "activation", **asked)
    monkeypatch.setattr(asking, "ProgressBar", Stopping)
    Stopping.after = 10
    with pytest.raises(KeyboardInterrupt):
        explainlab.study(model, "activation", **asked)
    assert len(asking._stopped) == 1
    finished = asking._stopped[0]._file.execute("SELECT count(*) FROM notes").fetchone()[0]
    assert finished
    Stopping.after = 10_000
    again = explainlab.study(model, "activation", **asked)
    spent = 10_000 - Stopping.after
    assert not asking._stopped
    for own, other in zip(again.body.texts, whole.body.texts, strict=True):
        assert own.text == other.text
        assert own.auc["occlusion"] == pytest.approx(other.auc["occlusion"], abs=1e-6)
    Stopping.after = 10_000
    explainlab.study(model, "activation", **asked)
    assert spent < 10_000 - Stopping.after, "what was finished was not run again"


def test_a_memory_of_the_callers_own_is_used(zoo: Zoo) -> None:
    context = RunContext()
    explainlab.study(
        zoo("bert"), "activation", data="embedded:sentiment", rows=2, methods=["gradient"], context=context
    )
    assert isinstance(context.results, MemoryCache)
    assert context.results.bodies


def test_a_long_run_says_so_before_and_a_short_one_is_silent(capsys: pytest.CaptureFixture[str],
                                                             monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    seconds = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[-1])
    for pace in (0.9 * LONG / 100, 3 * LONG / 100):
        progress = ProgressBar(RunContext(), Reporter(False)).context.progress
        progress.expect(100.0)
        for _ in range(4):
            seconds.append(seconds[-1] + pace)
            progress.spend(1.0)
    assert capsys.readouterr().err == "Takes about 3 min. Ctrl-C ends it.\n"


def test_the_memory_on_disk_does_what_the_other_does() -> None:
    kept = DiskCache()
    keys = [f"{i}" for i in range(1_200)]
    kept.put_many({key: {"a": [1.0, "ü", None]} for key in keys})
    kept.put_many({"0": {"a": 2}})
    assert kept.get_many(["0"]) == {"0": {"a": [1.0, "ü", None]}}
    kept.put_many({"0": {"a": 2}}, renew=True)
    assert kept.get_many(["0"]) == {"0": {"a": 2}}
    assert kept.get_many([*keys, "x"]).keys() == set(keys)


def test_an_error_in_a_notebook_is_one_line() -> None:
    error = RequestError("There is no\nmethod 'x'.", "Use another.")
    assert error._render_traceback_() == ["RequestError: There is no method 'x'. Use another."]
    assert DataError("Gone.")._render_traceback_() == ["DataError: Gone."]


def test_errors_come_through_as_they_are(zoo: Zoo) -> None:
    with pytest.raises(explainlab.ExplainLabError, match="nonsense"):
        explainlab.explain(zoo("bert"), "good", "nonsense")
