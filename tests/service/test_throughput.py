"""The paces of earlier jobs: kept across restarts, apart by model, device, question, parameters and kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainlab.request import Request
from explainlab.service.estimate import Pace
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.throughput import Paces

MODEL = "embedded:bert-mini-sst2"
DATA = Request(model=MODEL, question="path_gradients", data="embedded:sentiment", parameters={"rows": 6, "steps": [5]})


def test_a_pace_survives_a_restart_and_belongs_to_jobs_of_its_kind(tmp_path: Path) -> None:
    url, request = f"sqlite:///{tmp_path / 'results.sqlite'}", resolve(DATA).request
    Paces(Store(url), "cpu").learn(request, Pace(2.0, 1.0))
    paces = Paces(Store(url), "cpu")
    assert paces.of(request) == Pace(2.0, 1.0)
    more_rows = resolve(DATA.model_copy(update={"parameters": {"rows": 100, "steps": [5]}})).request
    assert paces.of(more_rows) == Pace(2.0, 1.0)
    others = (
        DATA.model_copy(update={"data": None, "text": "a film"}),
        DATA.model_copy(update={"parameters": {"steps": [7]}}),
        DATA.model_copy(update={"dtype": "bfloat16"}),
    )
    assert [paces.of(resolve(other).request) for other in others] == [None, None, None]
    assert Paces(Store(url), "cuda").of(request) is None


def test_paces_are_means_in_which_a_new_one_counts_as_an_eighth_in_the_end() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), resolve(DATA).request
    for seconds in (2.0, 4.0, 9.0):
        paces.learn(request, Pace(seconds, 1.0, work=10 * seconds))
    assert paces.of(request) == Pace(5.0, 1.0, runs=3, work=50.0)
    for _ in range(5):
        paces.learn(request, Pace(5.0, 1.0))
    paces.learn(request, Pace(13.0, 1.0))
    found = paces.of(request)
    assert found is not None
    assert (found.seconds, found.runs) == (pytest.approx(6.0), 9)


def test_a_speed_is_that_of_all_questions_to_a_model() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), resolve(DATA).request
    paces.learn(request, Pace(2.0, 1.0))
    assert paces.speed(request) is None, "the job was too short to tell"
    paces.learn(request, Pace(2.0, 1.0), Pace(0.5, 1.0))
    other = DATA.model_copy(update={"data": None, "text": "a film", "question": "occlusion", "parameters": {}})
    assert paces.speed(resolve(other).request) == Pace(0.5, 1.0)
    assert paces.speed(resolve(other.model_copy(update={"dtype": "bfloat16"})).request) is None


def test_a_question_about_a_data_set_has_the_pace_of_a_text_until_it_has_its_own() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), resolve(DATA).request
    text = resolve(DATA.model_copy(update={"data": None, "text": "a film"})).request
    paces.learn(text, Pace(2.0, 1.0))
    assert paces.of(request) is None
    assert paces.nearest(request) == Pace(2.0, 1.0)
    paces.learn(request, Pace(1.0, 1.0))
    assert paces.nearest(request) == Pace(1.0, 1.0)


def test_a_job_leaves_its_pace_and_the_next_one_starts_with_it() -> None:
    service = Service(Store("sqlite://"), "cpu")
    job = service.submit(resolve(DATA))
    assert service.engine.wait(job, 60)
    pace = service.paces.of(job.request)
    assert pace.seconds > 0
    assert pace.spent == pytest.approx(1, rel=0.5), "what path gradients take is known before"
    more = service.submit(resolve(DATA.model_copy(update={"parameters": {"rows": 40, "steps": [5]}})))
    while more.progress.seconds_left is None and not more.progress.finished:
        service.engine.wait(more, 0.005)
    assert more.progress.seconds_left is not None
    assert service.engine.wait(more, 60)
