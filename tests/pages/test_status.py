"""The Status page: own jobs with what they are, others' without; limits and versions as they are."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app import session
from explainlab.app.pages import status as status_page
from explainlab.limits import Limits
from explainlab.models.loading import model_name
from explainlab.request import Request
from explainlab.service.jobs import Job
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from explainlab.service.store.runs import line
from explainlab.service.uploads import keep_upload
from explainlab.service.users import LOCAL, User
from explainlab.settings import ROOT, settings
from explainlab.workers.answering import Answering
from explainlab.workers.worker import Condition
from tests.pages.scripted import opened, words

MODEL = "embedded:bert-mini-sst2"
HOSTILE = "<script>alert(1)</script> [link](https://evil.example) " + "long " * 40


def table(app: AppTest, column: str) -> pd.DataFrame:
    return next(frame.value for frame in app.dataframe if column in frame.value.columns)


ANN = User("ann", "Ann")
STUDY = Request(model=MODEL, question="path_gradients", data="embedded:sentiment")
GRID = Request(model="bilstm_attention", question="roar", data="embedded:meals", parameters={"test": "0.2"})


def beside_jobs() -> AppTest:
    """Return the page while jobs are running."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.switch_page(str(ROOT / "pages" / "status.py")).run()
    assert not app.exception
    return app


@pytest.fixture(autouse=True)
def always_urgent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give an endless text precedence over data sets for as long as it runs."""
    monkeypatch.setattr(settings(), "max_urgent_seconds", 10**6)


def test_it_shows_the_queue_and_keeps_others_jobs_to_themselves() -> None:
    worker, steps = service().engine, {"rule": "right", "steps": 9_999}
    running = service().submit(
        resolve(Request(model=MODEL, text=HOSTILE, question="integrated_gradients", parameters=steps), LOCAL)
    )
    other = service().submit(resolve(STUDY, ANN))
    while running.progress.status == "queued":
        worker.wait(running, 0.01)
    try:
        app = beside_jobs()
        titles, details = words(app.markdown), words(app.caption).replace("\u2060", "")
        assert "**Integrated gradients**: " in titles
        assert f"{model_name(MODEL)}: {line(HOSTILE, 80)}" in details
        assert "Waiting: another user's job, a data set, or in advance" in titles
        waiting = len(worker.unfinished()) - 1
        assert [metric.value for metric in app.metric[:2]] == ["1", str(waiting)]
        assert "sentiment" not in titles + details
    finally:
        worker.cancel(other.key, ANN)
        worker.cancel(running.key, LOCAL)
        assert worker.wait(running, 60)


def test_own_jobs_are_moved_and_cancelled_and_an_administrator_does_so_with_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker, steps = service().engine, {"rule": "right", "steps": 9_999}
    endless = Request(model=MODEL, text=HOSTILE, question="integrated_gradients", parameters=steps)
    running = service().submit(resolve(endless, LOCAL))
    while running.progress.status == "queued":
        worker.wait(running, 0.01)
    waiting = [
        service().submit(resolve(Request(model=MODEL, text=text, question="occlusion"), LOCAL))
        for text in ("one", "two")
    ]
    grid, hers = service().submit(resolve(GRID, LOCAL)), service().submit(resolve(STUDY, ANN))
    try:
        app = beside_jobs()
        assert app.button(key=f"status_cancel_{running.key}").label == "Cancel"
        assert app.button(key=f"status_cancel_{grid.key}").label == "Pause", "what is trained of it stays"
        peers = worker.peers(waiting[0].key)
        assert app.button(key=f"status_Earlier_{peers[0].key}").disabled
        assert app.button(key=f"status_Later_{peers[-1].key}").disabled
        app.button(key=f"status_Earlier_{waiting[1].key}").click().run()
        assert [job for job in worker.peers(waiting[0].key) if job in waiting] == [waiting[1], waiting[0]]
        app.button(key=f"status_cancel_{waiting[1].key}").click().run()
        assert waiting[1].progress.status == "cancelled"
        assert not [button for button in app.button if hers.key in button.key]
        service().withdraw([hers], LOCAL)
        service().move(hers, 1, LOCAL)
        assert (hers.progress.status, running.progress.status) == ("queued", "running")
        monkeypatch.setattr(settings(), "administrators", "ann, local")
        app.run()
        assert "Another user's job" in words(app.caption)
        assert "sentiment" not in words(app.caption)
        app.button(key=f"status_cancel_{hers.key}").click().run()
        assert hers.progress.status == "cancelled"
        app.button(key="status_cancel_all").click().run()
        assert waiting[0].progress.status == grid.progress.status == "cancelled"
        assert worker.wait(running, 60)
        assert running.progress.status == "cancelled"
    finally:
        for job in (running, *waiting, grid, hers):
            for user in list(job.users):
                worker.cancel(job.key, user)


def test_limits_and_versions_are_those_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_rows", 12_345)
    monkeypatch.setattr(settings(), "allowed_models", "embedded:*,owner/*")
    app = opened("status")
    limits = table(app, "Limit").set_index("Setting")["Value"]
    assert limits["EXPLAINLAB_MAX_ROWS"] == "12,345"
    assert limits["EXPLAINLAB_ALLOWED_MODELS"] == "embedded:*, owner/*"
    assert table(app, "Library").set_index("Library")["Version"]["torch"] == version("torch")


def test_what_is_stored_is_told_beside_its_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ann = User("oidc#ann", "Ann")
    monkeypatch.setattr(settings(), "home", tmp_path)
    monkeypatch.setattr(settings(), "max_kept_mb_per_user", 1_500)
    keep_upload(b"text\n" + b"x" * 3 * 2**20, "mine.csv", ann)
    (before,) = table(opened("status"), "Whose").to_dict("records")
    assert (before["Whose"], before["At most"]) == ("Everybody's", "no limit")
    monkeypatch.setattr(session, "user", lambda: ann)
    monkeypatch.setattr(status_page, "user", lambda: ann)
    mine, everybodys = table(opened("status"), "Whose").to_dict("records")
    assert (mine["Whose"], mine["MB"], mine["At most"]) == ("Yours", 3.0, "1,500 MB")
    assert everybodys["MB"] == before["MB"] >= 3.0


class Told(Answering):
    """A worker that is as a test says."""

    def __init__(self, **changes: object) -> None:
        super().__init__("cpu", 2**20, Limits())
        self.changes = changes

    @property
    def condition(self) -> Condition:
        return replace(super().condition, **self.changes)


def test_workers_are_shown_and_what_is_wrong_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("status")
    assert "This machine's worker is idle." in words(app.markdown)
    assert len(app.code[0].value.splitlines()) == 2, "the lines that add more"
    why = "The worker on <b>x</b> has another version of ExplainLab than the server."
    fleet = [
        Told(name="1", texts_per_second=12.5),
        Told(name="2", state="lost", place="node, process 7", seen=time.time() - 40),
        Told(name="3", state="starting", restarts=2, place="", seen=None, memory_bytes=None),
        Told(name="4", state="refused", problem=why),
    ]
    monkeypatch.setattr(service(), "workers", fleet)
    monkeypatch.setattr(service().engine, "at", lambda _: None)
    app = opened("status")
    assert "4 workers: 1 idle, 1 lost, 1 refused, 1 starting; together 12 texts a second." in words(app.markdown)
    assert not app.code
    assert "Worker 2 (node, process 7) has ended" in words(app.warning)
    assert "Worker 3 has ended" in words(app.info)
    assert why in words(app.error).replace("\\", "")
    rows = table(app, "Sign of life").set_index("Worker")
    assert rows["Does"].tolist() == ["idle", "lost", "starting", "refused"]
    assert rows["Sign of life"].tolist() == ["now", "40 s ago", "none yet", "now"]
    assert rows["Restarts"].tolist() == [0, 0, 2, 0]


def test_what_a_worker_does_is_told_to_its_user_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hers = Job("key", resolve(STUDY), [ANN])
    help_of_mine = Job("key", resolve(STUDY), [LOCAL], helps=Job("key", resolve(STUDY), [LOCAL]))
    monkeypatch.setattr(service(), "workers", [Told(name="1"), Told(name="2")])
    monkeypatch.setattr(service().engine, "at", [hers, help_of_mine].__getitem__)
    doing = table(opened("status"), "Sign of life")["Does"].tolist()
    assert doing == ["another user's job", "helps: Path gradients, whole data set"]
