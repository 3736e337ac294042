"""A set of requests is one job: each gets the same answer as alone, and a failure stops no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainlab.errors import Cancelled, ResourceError
from explainlab.request import Request
from explainlab.service.jobs import Job, JobContext
from explainlab.service.resolved import resolve, set_key
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL, User
from tests.service.conftest import SOON, Bench, raising
from tests.service.queue.test_turns import until

ANN = User("ann", "Ann")
MODELS = ("embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news")


def submitted(bench: Bench, *texts: str) -> Job:
    first, *more = [resolve(Request(model="m", text=text, question="random")) for text in texts]
    return bench.engine.submit("a set", first, urgent=False, more=more)


def test_what_fails_stops_no_other_of_the_set(bench: Bench) -> None:
    bench.does["b"] = raising(ResourceError("The disk is full."))
    bench.does["c"] = raising(ZeroDivisionError())
    job = submitted(bench, "a", "b", "c", "d")
    assert bench.go(job) == ["done"]
    assert bench.ran == ["a", "b", "c", "d"]
    assert job.outcomes[0] is job.outcomes[3] is bench.result
    assert job.outcomes[1] == "The disk is full."
    assert "Something unexpected" in str(job.outcomes[2])


def test_a_cancel_ends_the_set_and_what_is_answered_stays(bench: Bench) -> None:
    bench.does["b"] = raising(Cancelled())
    job = submitted(bench, "a", "b", "c")
    assert bench.go(job) == ["cancelled"]
    assert bench.ran == ["a", "b"]
    assert job.outcomes == [bench.result]


def test_the_share_is_that_of_the_whole_set(bench: Bench) -> None:
    shares = []

    def half(context: JobContext) -> None:
        context.expect(10)
        context.spend(5)
        shares.append(job.progress.share)

    bench.does |= {"a": half, "b": half}
    job = submitted(bench, "a", "b")
    bench.go(job)
    assert shares == pytest.approx([0.25, 0.75])


def predictions(model: str, data: str) -> Request:
    return Request(question="predictions", model=model, data=data, parameters={"rows": 4})


def test_a_set_goes_on_after_a_restart_and_each_answer_is_a_run_of_its_own(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'results.sqlite'}"
    service = Service(Store(url), "cpu")
    asked = [predictions(model, data) for model in MODELS for data in ("embedded:sentiment", "embedded:news")]
    first, second = predictions(MODELS[0], "embedded:sentiment"), predictions(MODELS[1], "embedded:news")
    service.engine.wait(service.submit(resolve(first, ANN)), SOON)
    job = service.submit_set([resolve(one, ANN) for one in asked])
    assert job.key == set_key([resolve(one, ANN) for one in asked]) != resolve(job.request).key
    assert service.engine.wait(job, SOON)
    assert [isinstance(outcome, str) for outcome in job.outcomes] == [False, True, True, False]
    assert "is not a class of the model" in str(job.outcomes[1])
    assert service.store.unfinished.cut_short(ANN.id) == []
    after = Service(Store(url), "cpu")
    until(lambda: after.cut_short(ANN) == [])  # the end of a job is written down after it has ended
    alone = after.run(resolve(second))
    assert alone == after.find(resolve(second, ANN))
    assert {(run.model, run.subject) for run in after.runs(ANN).runs} == {
        (MODELS[0], "sentiment"),
        (MODELS[1], "news"),
    }
    again = after.submit_set([resolve(one, ANN) for one in asked])
    after.engine.wait(again, SOON)
    assert again.outcomes[0] == job.outcomes[0], "stored, so not computed again"


def test_what_a_set_has_answered_for_a_visitor_stays_while_the_server_runs(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'results.sqlite'}"
    service = Service(Store(url), "cpu")
    cells = [predictions(MODELS[0], "embedded:sentiment"), predictions(MODELS[1], "embedded:news")]
    job = service.submit_set([resolve(one, LOCAL) for one in cells], record=False, store=False)
    assert service.engine.wait(job, SOON)
    assert [service.find(resolve(cell, ANN)) for cell in cells] == job.outcomes
    more = [*cells, predictions(MODELS[1], "embedded:sentiment")]
    again = service.submit_set([resolve(one, ANN) for one in more], record=False, store=False)
    assert service.engine.wait(again, SOON)
    assert again.outcomes[:2] == job.outcomes, "the same results, not computed again"
    assert Service(Store(url), "cpu").find(resolve(cells[0])) is None, "a session that has asked nothing stores nothing"
    asked = service.submit_set([resolve(one, ANN) for one in cells])
    assert service.engine.wait(asked, SOON)
    assert asked.outcomes == job.outcomes
    assert Service(Store(url), "cpu").find(resolve(cells[0])) is not None


def test_a_server_that_is_killed_leaves_the_requests_of_a_set(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'results.sqlite'}"
    service = Service(Store(url), "cpu")
    asked = [predictions(model, "embedded:sentiment") for model in MODELS]
    with service.engine.together():
        service.submit_set([resolve(one, ANN) for one in asked])
        left = [unanswered.request.model for unanswered in Service(Store(url), "cpu").cut_short(ANN)]
    assert sorted(left) == sorted(MODELS)
