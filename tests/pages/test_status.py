"""The Status page: own jobs with what they are, others' without; limits and versions as they are."""

from __future__ import annotations

from importlib.metadata import version

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from explainlab.request import Request
from explainlab.service.service import service
from explainlab.service.users import LOCAL, User
from explainlab.settings import ROOT, settings
from tests.pages.scripted import opened, words

MODEL = "embedded:bert-mini-sst2"
HOSTILE = "<script>alert(1)</script> [link](https://evil.example) " + "long " * 40


def table(app: AppTest, column: str) -> pd.DataFrame:
    return next(frame.value for frame in app.dataframe if column in frame.value.columns)


def test_it_shows_the_queue_and_keeps_others_jobs_to_themselves() -> None:
    worker, steps = service().engine, {"rule": "right", "steps": 9_999}
    running = service().submit(
        Request(model=MODEL, text=HOSTILE, question="integrated_gradients", parameters=steps), "mine", LOCAL
    )
    study = Request(model=MODEL, question="path_gradients", data="embedded:sentiment")
    other = service().submit(study, "theirs", User("ann", "Ann"))
    while running.progress.status == "queued":
        worker.wait(running, 0.01)
    try:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
        app.switch_page(str(ROOT / "pages" / "status.py")).run()
        assert not app.exception
        queue = table(app, "Job")
        assert list(queue.iloc[0][["Job", "Kind", "About"]]) == ["Integrated gradients", "one text", HOSTILE[:80] + "…"]
        assert list(queue.iloc[-1]) == ["waiting", "another user's job", "a data set, or ahead", "", ""]
        assert [metric.value for metric in app.metric[:2]] == ["1", str(len(queue) - 1)]
        assert "sentiment" not in queue.to_csv() + words([*app.caption, *app.markdown])
    finally:
        worker.cancel(other.key, "theirs")
        worker.cancel(running.key, "mine")
        assert worker.wait(running, 60)


def test_limits_and_versions_are_those_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_rows", 12_345)
    monkeypatch.setattr(settings(), "allowed_models", "embedded:*,owner/*")
    app = opened("status")
    limits = table(app, "Limit").set_index("Setting")["Value"]
    assert limits["EXPLAINLAB_MAX_ROWS"] == "12,345"
    assert limits["EXPLAINLAB_ALLOWED_MODELS"] == "embedded:*, owner/*"
    assert table(app, "Library").set_index("Library")["Version"]["torch"] == version("torch")
