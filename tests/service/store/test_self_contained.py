"""A study about no model, text or data set, in a real store: asked, stopped, stored, listed, bounded, deleted."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select

from explainlab.analyses.registry import complete, new_request
from explainlab.errors import DataError, RequestError
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service import looks
from explainlab.service.jobs import Job
from explainlab.service.limits import require_answerable
from explainlab.service.resolved import resolve, subject_key
from explainlab.service.service import Service
from explainlab.service.store.runs import Filters
from explainlab.service.store.schema import HELD, NOTES, RESULTS
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings

ANN, BOB = User("ann", "Ann"), User("bob", "Bob")
SOON = 60


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.sqlite'}"


@pytest.fixture
def service(url: str) -> Service:
    return Service(Store(url), "cpu")


def asked(seed: int = 0, **parameters: int) -> Request:
    return new_request(
        question="synthetic_roar", model="", seed=seed, parameters={"draws": 3, "rows": 200, **parameters}
    )


def done(service: Service, request: Request, user: User = LOCAL) -> Result:
    answer = service.ask(resolve(request, user))
    if isinstance(answer, Job):
        assert service.engine.wait(answer, SOON)
        assert answer.progress.status == "done", answer.progress.error
        answer = answer.result
    assert answer is not None
    return answer


def rows(service: Service, table: object) -> int:
    return int(service.store._database.value(select(func.count()).select_from(table)))


def test_it_is_computed_once_stored_and_listed(service: Service, url: str) -> None:
    result = done(service, asked())
    assert not service.workers[0].pool.loaded
    (run,) = service.runs(LOCAL).runs
    assert (run.model, run.subject, run.question) == ("", "seed 0", "synthetic_roar")
    assert service.run_choices(LOCAL).models == []
    assert service.runs(LOCAL, Filters(words="seed synthetic")).total == 1
    again = Service(Store(url), "cpu")
    again.read_models()
    found = again.find(resolve(asked()))
    assert found is not None
    assert found.to_json() == result.to_json()
    opened = again.open_run(run.id, LOCAL)
    assert (opened.missing, opened.gone, opened.request) == ("", "", complete(asked()))
    file = json.dumps(result.to_json()).encode()
    (imported,) = again.import_runs(file, LOCAL)
    assert again.open_run(imported.id, LOCAL).result.to_json() == result.to_json()


def test_its_job_is_no_urgent_one_and_goes_on_without_a_page(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_unwatched_seconds", 0)
    job = service.submit(resolve(asked(draws=4), ANN))
    assert not job.urgent
    service.leave(job, "page", ANN)
    assert service.engine.wait(job, SOON)
    assert job.progress.status == "done", job.progress.error
    assert (job.progress.done, job.progress.total) == (4, 4)
    assert job.progress.share > 0.9
    assert service.paces.of(job.request) is not None


def test_a_stopped_job_goes_on(service: Service, url: str) -> None:
    job = service.submit(resolve(asked(draws=30, rows=1_000), ANN))
    until = time.monotonic() + SOON
    while not job.progress.done and time.monotonic() < until:
        time.sleep(0.01)
    service.cancel(job.key, ANN)
    assert service.engine.wait(job, SOON)
    assert job.progress.status == "cancelled"
    kept = rows(service, NOTES)
    assert kept
    assert not rows(service, RESULTS)
    fresh = Service(Store(url), "cpu")
    before = fresh.submit(resolve(asked(draws=1, rows=1_000), ANN))
    assert fresh.engine.wait(before, SOON)
    assert before.result.cost.seconds < 0.05, "its draw is remembered"
    assert rows(fresh, NOTES) == kept


def test_what_a_user_has_goes_with_the_last_run(service: Service) -> None:
    for seed in (0, 1):
        done(service, asked(seed), ANN)
    done(service, asked(), BOB)
    first, second = service.runs(ANN).runs
    assert first.about == second.about == subject_key(asked(7))
    service.delete_run(first.id, ANN)
    assert service.find(resolve(asked(), ANN)) is not None
    service.delete_run(second.id, ANN)
    owners = {owner for (owner,) in service.store._database.rows(select(HELD.c.owner).distinct())} - {""}
    assert owners == {BOB.id}
    assert rows(service, RESULTS) == 1


def test_nobody_sees_anothers(service: Service) -> None:
    done(service, asked(), ANN)
    assert service.runs(BOB).total == 0
    with pytest.raises(RequestError, match="no run under this id"):
        service.open_run(service.runs(ANN).runs[0].id, BOB)


def test_a_hosted_instance_serves_it_within_its_limits(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "auth", "proxy")
    assert settings().hosted
    done(service, asked(), ANN)
    with pytest.raises(RequestError, match="25,000,000 gradients"):
        service.submit(resolve(asked(draws=1_000, rows=1_000_000), ANN))
    monkeypatch.setattr(settings(), "max_evaluations", 10)
    with pytest.raises(RequestError, match="EXPLAINLAB_MAX_EVALUATIONS"):
        service.submit(resolve(asked(draws=4), ANN))


def test_a_study_that_trains_is_served_where_models_may_be_made(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def roar(**parameters: str) -> Request:
        return new_request(question="roar", model="bert", data="embedded:sentiment", parameters=parameters)

    monkeypatch.setattr(settings(), "auth", "proxy")
    with pytest.raises(RequestError, match="Models are not made here"):
        require_answerable(resolve(roar(test="embedded:sentiment"), ANN).request)
    monkeypatch.setattr(settings(), "allow_training", True)
    for named in ({"test": "/etc/passwd"}, {"test": "embedded:sentiment", "validation": "/etc/passwd"}):
        with pytest.raises(DataError, match="paths on the server are not allowed"):
            require_answerable(resolve(roar(**named), ANN).request)
    require_answerable(resolve(roar(test="embedded:sentiment", validation="0.2"), ANN).request)


@pytest.mark.parametrize(
    "hostile",
    [
        {"model": "bert"},
        {"text": "<script>"},
        {"data": "embedded:sentiment"},
        {"data": "/etc/passwd"},
        {"text": "a", "model": "embedded:bert-mini-sst2"},
        {"text_pair": "x" * 100_000},
        {"rationale": [[0, 1]]},
        {"paraphrases": ["x"] * 1_000},
        {"columns": {"text": "a"}},
        {"classes": {"a": "b"}},
        {"study": "predictions"},
        {"study": "integrated_gradients"},
        {"study": "training"},
    ],
)
def test_a_request_about_something_is_refused_and_one_about_nothing_elsewhere(
    service: Service, hostile: dict[str, object]
) -> None:
    fields = {"study": "synthetic_roar", "model": "", "text": None, "data": None, **hostile}
    with pytest.raises(RequestError) as refused:
        service.submit(resolve(Request.from_json(fields), ANN))
    assert len(str(refused.value)) < 500
    assert not service.engine.unfinished()


def test_what_it_is_about_is_its_seed() -> None:
    assert looks.about(asked(5), ANN) == "seed 5"
    assert subject_key(asked()) != subject_key(Request(question="random", model="m", text=""))
