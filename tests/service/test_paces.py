"""What earlier jobs took: kept across restarts, apart by model, device, question, parameters and kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainlab.request import Request
from explainlab.service.estimate import Pace
from explainlab.service.paces import Paces
from explainlab.service.questions import asked_by
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL

MODEL = "embedded:bert-mini-sst2"
DATA = Request(model=MODEL, question="path_gradients", data="embedded:sentiment", parameters={"rows": 6, "steps": [5]})


def seconds(pace: Pace | None) -> float:
    """Those of a job of the mean size."""
    assert pace is not None
    return pace.whole(pace.work)


def test_a_pace_survives_a_restart_and_belongs_to_jobs_of_its_kind(tmp_path: Path) -> None:
    url, request = f"sqlite:///{tmp_path / 'results.sqlite'}", asked_by(DATA, LOCAL)
    Paces(Store(url), "cpu").learn(request, Pace(2.0, 1.0))
    paces = Paces(Store(url), "cpu")
    assert seconds(paces.of(request)) == 2.0
    more_rows = asked_by(DATA.model_copy(update={"parameters": {"rows": 100, "steps": [5]}}), LOCAL)
    assert seconds(paces.of(more_rows)) == 2.0
    others = (
        DATA.model_copy(update={"data": None, "text": "a film"}),
        DATA.model_copy(update={"parameters": {"steps": [7]}}),
        DATA.model_copy(update={"dtype": "bfloat16"}),
    )
    assert [paces.of(asked_by(other, LOCAL)) for other in others] == [None, None, None]
    assert Paces(Store(url), "cuda").of(request) is None


def test_paces_are_means_in_which_a_new_one_counts_as_an_eighth_in_the_end() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), asked_by(DATA, LOCAL)
    for took in (2.0, 4.0, 9.0):
        paces.learn(request, Pace(took, 1.0))
    assert seconds(paces.of(request)) == pytest.approx(5.0)
    for _ in range(5):
        paces.learn(request, Pace(5.0, 1.0))
    paces.learn(request, Pace(13.0, 1.0))
    found = paces.of(request)
    assert found is not None
    assert (seconds(found), found.runs) == (pytest.approx(6.0), 9)


def test_jobs_of_different_sizes_tell_how_many_seconds_do_not_grow_with_the_work() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), asked_by(DATA, LOCAL)
    truth = Pace(0.01, 0.5, fixed=3.0)
    for work in (100.0, 1000.0, 200.0, 3000.0):
        paces.learn(request, Pace(truth.whole(work) / work, 0.5, work=work))
    found = paces.of(request)
    assert found is not None
    assert found.spent == pytest.approx(0.5)
    for work in (50.0, 10_000.0):
        assert found.whole(work) == pytest.approx(truth.whole(work), rel=0.2)


def test_jobs_of_one_size_tell_the_seconds_of_that_size_and_a_fifth_of_them_does_not_grow() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), asked_by(DATA, LOCAL)
    for _ in range(2):
        paces.learn(request, Pace(0.01, 1.0, work=500.0))
    found = paces.of(request)
    assert found is not None
    assert (found.whole(500.0), found.whole(5000.0)) == (pytest.approx(5.0), pytest.approx(41.0))


def test_a_speed_is_that_of_all_questions_to_a_model() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), asked_by(DATA, LOCAL)
    paces.learn(request, Pace(2.0, 1.0))
    assert paces.speed(request) is None, "the job was too short to tell"
    paces.learn(request, Pace(2.0, 1.0), Pace(0.5, 1.0))
    other = DATA.model_copy(update={"data": None, "text": "a film", "question": "occlusion", "parameters": {}})
    assert seconds(paces.speed(asked_by(other, LOCAL))) == 0.5
    assert paces.speed(asked_by(other.model_copy(update={"dtype": "bfloat16"}), LOCAL)) is None


def test_a_question_about_a_data_set_has_the_pace_of_a_text_until_it_has_its_own() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), asked_by(DATA, LOCAL)
    text = asked_by(DATA.model_copy(update={"data": None, "text": "a film"}), LOCAL)
    paces.learn(text, Pace(2.0, 1.0))
    assert paces.of(request) is None
    assert seconds(paces.nearest(request)) == 2.0
    paces.learn(request, Pace(1.0, 1.0))
    assert seconds(paces.nearest(request)) == 1.0


def test_a_job_leaves_its_pace_and_the_next_one_starts_with_it() -> None:
    service = Service(Store("sqlite://"), "cpu")
    job = service.submit(DATA)
    assert service.engine.wait(job, 60)
    pace = service.paces.of(job.request)
    assert pace.seconds > 0
    assert pace.spent == pytest.approx(1, rel=0.5), "what path gradients take is known before"
    more = service.submit(DATA.model_copy(update={"parameters": {"rows": 40, "steps": [5]}}))
    while more.progress.seconds_left is None and not more.progress.finished:
        service.engine.wait(more, 0.005)
    assert more.progress.seconds_left is not None
    assert service.engine.wait(more, 60)
