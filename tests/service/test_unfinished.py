"""A restart with work left: told to those who asked, unless it is answered by now; asked again or forgotten."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from explainlab.errors import Cancelled, ResourceError
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.dispatcher import Dispatcher
from explainlab.service.jobs import JobContext
from explainlab.service.resolved import request_json, resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import User
from explainlab.settings import settings

ANN, BOB = User("ann", "Ann"), User("bob", "Bob")
SOON = 60
MODEL = "embedded:bert-mini-sst2"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'results.sqlite'}"


def started(url: str) -> Service:
    return Service(Store(url), "cpu")


@pytest.fixture
def stuck(url: str) -> Iterator[Service]:
    """Yield a server whose worker stays busy until the server stops, as if it was killed."""
    service, over = started(url), threading.Event()

    def wait(_: Request, context: JobContext) -> Result:
        while not over.wait(0.01):
            context.check_cancelled()
        raise Cancelled

    service.engine = Dispatcher(wait, service._ended)
    yield service
    over.set()


def request(text: str = "a film", **fields) -> Request:
    return Request(**{"model": MODEL, "text": text, "question": "input_x_gradient", **fields})


def left(url: str) -> list[str]:
    """Return the keys of Ann's jobs that the next server will find; an ended job leaves the list a moment later."""
    deadline = time.monotonic() + SOON
    while (found := Store(url).unfinished.cut_short(ANN.id)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [one.key for one in found]


def texts(service: Service, user: User) -> list[str]:
    return [left.request.text or left.request.data for left in service.cut_short(user)]


def test_what_a_closed_service_leaves_is_cut_short(url: str, stuck: Service) -> None:
    jobs = [stuck.submit(resolve(request(text), ANN)) for text in ("running", "waiting")]
    stuck.close()
    assert all(stuck.engine.wait(job, SOON) for job in jobs)
    assert [job.progress.status for job in jobs] == ["cancelled", "cancelled"]
    assert sorted(texts(started(url), ANN)) == ["running", "waiting"]


def test_a_restart_tells_what_it_cut_short(url: str, stuck: Service) -> None:
    for text in ("running", "waiting"):
        stuck.submit(resolve(request(text), ANN))
    stuck.submit(resolve(Request(question="predictions", model=MODEL, data="embedded:sentiment"), ANN))
    stuck.submit(resolve(request("waiting"), BOB))
    stuck.submit(resolve(request("ahead"), ANN), ahead=True)
    assert stuck.cut_short(ANN) == []
    after = started(url)
    assert texts(after, ANN) == ["running", "waiting", "embedded:sentiment"]
    assert texts(after, BOB) == ["waiting"]
    found = after.cut_short(ANN)[0]
    job = after.submit(resolve(found.request, ANN))
    assert job.key == found.key
    assert after.engine.wait(job, SOON)
    assert texts(after, ANN) == ["waiting", "embedded:sentiment"]
    after.forget([left.key for left in after.cut_short(ANN)], ANN)
    assert texts(after, ANN) == []
    assert texts(after, BOB) == ["waiting"]


def test_what_was_kept_before_the_end_is_not_unfinished(url: str, stuck: Service) -> None:
    stuck.submit(resolve(request(), ANN))
    again = started(url)
    again.run(resolve(request()))
    assert texts(again, ANN) == []


@pytest.mark.parametrize("waits", [False, True], ids=["while it runs", "while it waits"])
def test_what_is_cancelled_leaves_nothing(url: str, stuck: Service, waits: bool) -> None:
    if waits:
        stuck.submit(resolve(request("before it"), BOB))
    job = stuck.submit(resolve(request(), ANN))
    stuck.engine.cancel(job.key, ANN)
    assert stuck.engine.wait(job, SOON)
    assert left(url) == []


def test_who_gives_up_a_shared_job_is_not_told_of_it(url: str, stuck: Service) -> None:
    for user in (ANN, BOB):
        job = stuck.submit(resolve(request(), user))
    job.watch(ANN, "a page")
    stuck.leave(job, "another page of hers", ANN)
    assert texts(started(url), ANN) == ["a film"], "a page of hers waits for it"
    stuck.leave(job, "a page", ANN)
    again = started(url)
    assert texts(again, ANN) == []
    assert texts(again, BOB) == ["a film"]


@pytest.mark.parametrize("target", ["predicted", "nonsense"], ids=["done", "failed"])
def test_what_has_ended_leaves_nothing(url: str, target: str) -> None:
    service = started(url)
    assert service.engine.wait(service.submit(resolve(request(target=target), ANN)), SOON)
    assert left(url) == []


def test_what_is_refused_leaves_nothing(url: str, stuck: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck.submit(resolve(request("before it"), ANN))
    monkeypatch.setattr(settings(), "max_queue_per_user", 0)
    with pytest.raises(ResourceError):
        stuck.submit(resolve(request(), ANN))
    assert texts(started(url), ANN) == ["before it"]


def test_what_is_refused_when_it_is_run_again_is_still_told(
    url: str, stuck: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck.submit(resolve(request(), ANN))
    after = started(url)
    (before,) = after.cut_short(ANN)
    monkeypatch.setattr(settings(), "max_queue_per_user", 0)
    with pytest.raises(ResourceError):
        after.submit(resolve(before.request, ANN))
    assert after.cut_short(ANN) == [before]


def test_a_question_whose_model_is_gone_is_told_too(url: str, stuck: Service, tmp_path: Path) -> None:
    stuck.submit(resolve(request(), ANN))
    store = Store(url)
    store.unfinished.begin("0" * 64, "ann", "attribution", request_json(request(model=str(tmp_path / "gone"))))
    store.unfinished.begin("1" * 64, "ann", "attribution", {"of": "another version"})
    assert texts(started(url), ANN) == ["a film", "a film"]


def test_a_store_that_fails_stops_no_job(url: str) -> None:
    service = started(url)
    Path(url.removeprefix("sqlite:///")).write_bytes(b"no database" * 1000)
    job = service.submit(resolve(request(), ANN))
    assert service.engine.wait(job, SOON)
    assert job.progress.status == "done"
