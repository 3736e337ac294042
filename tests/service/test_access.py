"""Privacy: every door to another user's private run or view is shut, as if that run or view did not exist."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete

from explainlab import Attribution
from explainlab.analyses import base
from explainlab.analyses.run import evaluation_parameters
from explainlab.errors import RequestError
from explainlab.figures.export import to_json
from explainlab.request import Request
from explainlab.result import with_verdict
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.runs import Filters, Run
from explainlab.service.store.schema import RESULTS
from explainlab.service.store.store import Store
from explainlab.service.users import User

ANN, BOB = User("ann@example.org", "Ann"), User("bob@example.org", "Bob")
TEXT = "a stirring, funny film"
SOON = 60
NOTHING = "There is no run under this id here"


@pytest.fixture(scope="module")
def model(zoo_path: Callable[[str], Path]) -> str:
    return str(zoo_path("bert"))


@pytest.fixture
def service() -> Iterator[Service]:
    return Service(Store("sqlite://"), "cpu")


def request(model: str, **chosen: Any) -> Request:
    return Request(**{"model": model, "text": TEXT, "question": "input_x_gradient", **chosen})


def computed(service: Service, asked: Request, user: User) -> Run:
    """Ask a question as ``user``, wait for the answer, and return its run."""
    job = service.submit(resolve(asked, user))
    assert service.engine.wait(job, SOON)
    assert job.progress.status == "done"
    return service.runs(user).runs[0]


# A run -----------------------------------------------------------------------------------------------------------


def test_a_job_that_ends_well_is_a_run_of_who_asked(service: Service, model: str) -> None:
    run = computed(service, request(model, unit="word"), ANN)
    opened = service.open_run(run.id, ANN)
    result = opened.result
    assert (run.owner, run.owner_name, run.kind, run.question) == (ANN.id, "Ann", "attribution", "input_x_gradient")
    assert (run.model, run.subject, run.visibility, run.imported) == (model, TEXT, "private", False)
    assert (run.forward, run.backward, run.seconds) == (result.cost.forward, result.cost.backward, result.cost.seconds)
    assert result.to_json() == service.find(resolve(request(model, unit="word"))).to_json()
    assert opened.request.parameters == {"reduction": "sum"}, "the complete request"
    assert opened.own
    assert len(run.id) == 32
    assert service.runs(BOB).total == 0


def test_the_same_question_is_the_same_run_moved_up(service: Service, model: str) -> None:
    first = computed(service, request(model), ANN)
    computed(service, request(model, seed=1), ANN)
    assert service.runs(ANN).runs[1].id == first.id
    again = computed(service, request(model, parameters={"reduction": "sum"}), ANN)
    assert (again.id, again.created) == (first.id, first.created)
    assert again.asked > first.asked
    assert service.runs(ANN).total == 2


def test_what_is_stored_already_becomes_a_run_of_the_next_who_asks(service: Service, model: str) -> None:
    first = computed(service, request(model), ANN)
    assert service.ask(resolve(request(model), BOB), ahead=True) is service.find(resolve(request(model)))
    assert service.runs(BOB).total == 0, "nobody looks at it yet"
    service.ask(resolve(request(model), BOB))
    (own,) = service.runs(BOB).runs
    assert own.id != first.id
    assert own.key == first.key, "computed once"
    service.delete_run(first.id, ANN)
    assert service.open_run(own.id, BOB).result is not None, "still needed"


def test_two_who_wait_for_one_job_have_a_run_each_and_one_who_gave_up_has_none(service: Service, model: str) -> None:
    eve = User("eve", "Eve")
    with service.engine.together():
        for user in (ANN, BOB, eve):
            job = service.submit(resolve(request(model), user))
        assert job.users == [ANN, BOB, eve]
        service.cancel(job.key, eve)
    assert service.engine.wait(job, SOON)
    assert [service.runs(user).total for user in (ANN, BOB, eve)] == [1, 1, 0]


def test_jobs_that_fail_or_are_cancelled_are_no_runs(service: Service, model: str) -> None:
    job = service.submit(resolve(request(model, target="wonderful"), ANN))
    assert service.engine.wait(job, SOON)
    assert job.progress.status == "failed"
    endless = request(model, question="integrated_gradients", parameters={"rule": "midpoint", "steps": 10_000})
    job = service.submit(resolve(endless, ANN))
    service.cancel(job.key, ANN)
    assert service.engine.wait(job, SOON)
    assert service.runs(ANN).total == 0


def test_what_is_computed_ahead_is_no_run_before_somebody_asks(service: Service, model: str) -> None:
    job = service.submit(resolve(request(model), ANN), ahead=True)
    assert service.engine.wait(job, SOON)
    assert service.runs(ANN).runs == []
    assert computed(service, request(model), ANN).question == "input_x_gradient"


def test_a_study_is_a_run_too(service: Service, model: str) -> None:
    asked = Request(question="integration_error", model=model, text=TEXT, parameters={"steps": [2, 4]})
    run = computed(service, asked, ANN)
    opened = service.open_run(run.id, ANN)
    assert (run.kind, run.question) == ("study", "integration_error")
    assert opened.result.body == service.find(resolve(asked)).body


def test_a_deleted_result_and_a_model_that_is_gone_say_so(service: Service, model: str) -> None:
    run = computed(service, request(model), ANN)
    service.store._database.change(delete(RESULTS).where(RESULTS.c.key == run.key))
    assert "has been deleted" in service.open_run(run.id, ANN).missing
    assert service.open_run(run.id, ANN).result is None


def test_a_damaged_result_says_so_until_it_is_computed_again(
    service: Service, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "PART", 2)
    asked = {"question": "integration_error", "model": model, "data": "embedded:sentiment"}
    study = Request(**asked, parameters={"steps": [2, 4], "rows": 3})
    run = computed(service, study, ANN)
    next(service.store.parts.folder.glob("*/*")).write_bytes(b"")
    for _ in range(2):
        assert service.open_run(run.id, ANN).missing == "Its result is damaged."
    computed(service, study, ANN)
    assert service.open_run(run.id, ANN).missing == ""


def test_a_deleted_result_that_is_asked_again_is_stored_again(service: Service, model: str) -> None:
    service.delete_run(computed(service, request(model), ANN).id, ANN)
    result = service.ask(resolve(request(model), ANN))  # the worker still remembers it
    assert isinstance(result, Attribution)
    (run,) = service.runs(ANN).runs
    assert service.open_run(run.id, ANN).result.to_json() == result.to_json()


def test_computing_again_leaves_what_is_stored(service: Service, model: str) -> None:
    run = computed(service, request(model), ANN)
    stored = service.find(resolve(request(model)))
    job = service.compute_again(resolve(request(model), BOB))
    assert service.engine.wait(job, SOON)
    assert job is service.computed_again(resolve(request(model)))
    np.testing.assert_array_equal(job.result.scores, stored.scores)
    assert job.result.cost.seconds != stored.cost.seconds, "computed, not looked up"
    assert service.open_run(run.id, ANN).result.to_json() == stored.to_json()
    assert service.runs(BOB).total == 0


# Doors -----------------------------------------------------------------------------------------------------------

DOORS: dict[str, Callable[[Service, str, User], object]] = {
    "open": lambda service, run, user: service.open_run(run, user),
    "delete": lambda service, run, user: service.delete_run(run, user),
    "share": lambda service, run, user: service.share_run(run, "instance", user),
    "title": lambda service, run, user: service.entitle_run(run, "mine", user),
}
"""Export, comparison and computing again are made of what ``open`` gives."""


@pytest.mark.parametrize("door", DOORS)
def test_a_private_run_of_another_is_told_like_one_that_never_was(service: Service, model: str, door: str) -> None:
    run = computed(service, request(model), ANN)
    for run_id in (run.id, "0" * 32, run.key, run.id[:8], run.id.upper(), "%", "' OR 1=1 --", ""):
        with pytest.raises(RequestError) as told:
            DOORS[door](service, run_id, BOB)
        assert str(told.value).startswith(NOTHING)
    assert service.open_run(run.id, ANN).run == run


def test_no_filter_finds_a_private_run_of_another(service: Service, model: str) -> None:
    run = computed(service, request(model), ANN)
    for filters in (
        Filters(),
        Filters(owner=ANN.id),
        Filters(words="stirring"),
        Filters(words="%"),
        Filters(model=model),
    ):
        assert service.runs(BOB, filters).total == 0
        assert service.runs(BOB, filters).runs == []
    found = service.run_choices(BOB)
    assert (found.questions, found.models, found.owners) == ([], [], {})
    service.share_run(run.id, "link", ANN)
    assert service.runs(BOB).total == 0, "who has the link, not who looks around"


@pytest.mark.parametrize(("visibility", "listed"), [("instance", 1), ("link", 0)])
def test_a_shared_run_is_read_by_others_and_changed_by_its_owner_alone(
    service: Service, model: str, visibility: str, listed: int
) -> None:
    run = computed(service, request(model), ANN)
    service.share_run(run.id, visibility, ANN)
    opened = service.open_run(run.id, BOB)
    assert opened.result is not None
    assert not opened.own
    assert service.runs(BOB).total == listed
    for name, door in DOORS.items():
        if name != "open":
            with pytest.raises(RequestError, match="belongs to another user"):
                door(service, run.id, BOB)
    service.share_run(run.id, "private", ANN)
    with pytest.raises(RequestError, match=NOTHING):
        service.open_run(run.id, BOB)


def test_there_are_three_visibilities(service: Service, model: str) -> None:
    run = computed(service, request(model), ANN)
    with pytest.raises(RequestError, match="is not a visibility"):
        service.share_run(run.id, "everyone", ANN)


def test_nobody_cancels_anothers_job(service: Service, model: str) -> None:
    endless = request(model, question="integrated_gradients", parameters={"rule": "midpoint", "steps": 10_000})
    job = service.submit(resolve(endless, ANN))
    service.cancel(job.key, BOB)
    assert not job.stop.is_set()
    service.cancel(job.key, ANN)
    assert job.stop.is_set()


# Views ---------------------------------------------------------------------------------------------------------------


def test_a_view_is_its_owners_until_shared(service: Service) -> None:
    view = {"text": TEXT}
    own, other = service.save_view(view, ANN), service.save_view(view, BOB)
    assert own != other
    assert service.save_view(dict(view), ANN) == own
    assert service.view(own, ANN) == view
    assert service.view(own, BOB) is None
    assert service.view("0" * 32, BOB) is None
    for door in (lambda: service.share_view(own, "link", BOB), lambda: service.view_shared(own, BOB)):
        with pytest.raises(RequestError, match="There is no view under this id"):
            door()
    for shared in ("link", "instance"):
        service.share_view(own, shared, ANN)
        assert service.view(own, BOB) == view
    service.share_view(own, "private", ANN)
    assert service.view(own, BOB) is None


# Imports -------------------------------------------------------------------------------------------------------------


def exported(service: Service, model: str) -> dict[str, Any]:
    return json.loads(to_json([service.run(resolve(request(model)))], "In words."))


def test_an_exported_result_comes_back_and_answers_no_question(service: Service, model: str) -> None:
    body = exported(service, model)
    body["attributions"][0]["features"][1]["score"] = 123.0
    elsewhere = Service(Store("sqlite://"), "cpu")
    (run,) = elsewhere.import_runs(json.dumps(body).encode(), ANN)
    opened = elsewhere.open_run(run.id, ANN)
    assert opened.run.imported
    assert isinstance(opened.result, Attribution)
    assert opened.result.scores[1] == 123.0
    assert elsewhere.find(resolve(request(model))) is None
    assert elsewhere.run(resolve(request(model))).scores[1] != 123.0
    assert elsewhere.open_run(run.id, ANN).result.scores[1] == 123.0
    with pytest.raises(RequestError, match=NOTHING):
        elsewhere.open_run(run.id, BOB)
    (same,) = elsewhere.import_runs(json.dumps(body).encode(), ANN)
    assert same.id == run.id
    elsewhere.delete_run(run.id, ANN)
    assert elsewhere.runs(ANN).total == 0


def test_an_exported_study_comes_back(service: Service, model: str) -> None:
    asked = Request(question="integration_error", model=model, text=TEXT, parameters={"steps": [2, 4]})
    result = service.run(resolve(asked))
    (run,) = service.import_runs(json.dumps(with_verdict(result.to_json(), "In words.")).encode(), ANN)
    assert service.open_run(run.id, ANN).result.to_json() == result.to_json()


def test_an_evaluation_of_the_command_line_comes_back(service: Service, model: str) -> None:
    parameters = evaluation_parameters(["gradient"], ["sufficiency"], 4, "random", {}, [])
    result = service.run(
        resolve(Request(question="evaluation", model=model, data="embedded:sentiment", parameters=parameters))
    )
    body = result.to_json()
    body |= {"skipped": len(body["skipped"]), "skipped_rows": body["skipped"]}
    (run,) = service.import_runs(json.dumps(with_verdict(body, "In words.")).encode(), ANN)
    assert service.open_run(run.id, ANN).result.to_json() == result.to_json()


def _changed(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: {**body, **fields}


def _feature(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: {**body, "features": [body["features"][0], {**body["features"][1], **fields}]}


BAD: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a list": (lambda body: [1], "holds no results"),
    "nothing": (lambda body: {"attributions": []}, "holds no results"),
    "too many": (lambda body: {"attributions": [body] * 101}, "101 results; the limit is 100"),
    "something else": (lambda body: {"a": 1}, "neither a method's nor a study's"),
    "a missing field": (lambda body: {n: v for n, v in body.items() if n != "cost"}, "cost is missing"),
    "one field more": (_changed(extra=1), "Extra inputs are not permitted"),
    "our own argument": (_changed(record=1), "Extra inputs are not permitted"),
    "an unknown method": (_changed(method="magic"), "no method 'magic'"),
    "a bad parameter": (_changed(parameters={"reduction": "max"}), "reduction = 'max' is not accepted"),
    "a text beyond the limit": (_changed(text="a" * 20_001), "longer than the limit of 20000"),
    "no features": (_changed(features=[]), "at least 1 item"),
    "a score that is a word": (_feature(score="high"), "features.1.score = 'high' is not accepted"),
    "a feature outside of the text": (_feature(start=5, end=10_000), "outside of the text"),
    "a feature of no part": (_feature(part=2), "features.1.part = 2 is not accepted"),
    "a class that is none": (_changed(target={"index": 0, "label": "great"}), "none of the classes"),
    "half a character": (_changed(warnings=["\udcff"]), "not JSON that can be read"),
    "a cost beyond all": (_changed(cost={"forward": 2**70, "backward": 0, "seconds": 1}), "cost.forward"),
    "an infinite number": (_feature(score=float("inf")), "not JSON that can be read"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_is_no_export_is_refused_in_one_line(service: Service, model: str, case: str) -> None:
    change, message = BAD[case]
    file = json.dumps(change(exported(service, model)["attributions"][0])).encode()
    with pytest.raises(RequestError, match=message) as told:
        service.import_runs(file, ANN)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 400
    assert service.runs(ANN).total == 0


@pytest.mark.parametrize(
    "file", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": NaN}', b'{"a": 1e999}', b" " * (20 * 2**20 + 1)]
)
def test_a_file_that_is_no_json_or_too_large_is_refused(service: Service, file: bytes) -> None:
    with pytest.raises(RequestError, match=r"not JSON that can be read|nested too deeply|limit of 20 MB"):
        service.import_runs(file, ANN)
