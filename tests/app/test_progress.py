"""Rows of jobs, and what they have finished: one that was answered while the page was drawn makes it look again."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app import progress
from explainlab.app.progress import finished_so_far, state, stop_word
from explainlab.request import Request
from explainlab.service.jobs import Job
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL
from explainlab.workers.local import here


def _script() -> None:
    import streamlit as st

    from explainlab.app.place import PageState, Requests
    from explainlab.app.progress import draw_jobs
    from explainlab.request import Request
    from explainlab.service.jobs import Job
    from explainlab.service.resolved import resolve
    from explainlab.service.service import service
    from explainlab.service.users import LOCAL

    runs = st.session_state["runs"] = st.session_state.get("runs", 0) + 1
    job = Job(
        "key",
        resolve(Request(model="embedded:bert-mini-sst2", text="a", question="occlusion")),
        [LOCAL],
    )
    job.update(status=st.session_state["status"], error="It broke.")
    place = PageState("explain")
    place.ask(service(), Requests())
    if st.session_state["queued"]:
        st.session_state["explain.place"].requested.add(job.key)
    if runs == 1:
        draw_jobs(service(), [job], place)
    st.write(f"run {runs}")


def shown(status: str, queued: bool = True) -> AppTest:
    app = AppTest.from_function(_script, default_timeout=60)
    app.session_state["status"] = status
    app.session_state["queued"] = queued
    return app.run()


def test_an_answered_job_makes_the_page_look_again() -> None:
    app = shown("done")
    assert app.markdown[0].value == "run 2"
    assert not app.error


def test_a_failed_job_stays_to_be_read() -> None:
    app = shown("failed")
    assert "It broke" in app.error[0].value
    assert app.session_state["runs"] == 1


def test_a_job_to_be_run_again_makes_the_page_look_again() -> None:
    assert shown("cancelled").session_state["runs"] == 1
    assert shown("cancelled", queued=False).session_state["runs"] == 2


def _several() -> None:
    import streamlit as st

    from explainlab.app.place import PageState, Requests
    from explainlab.app.progress import draw_jobs
    from explainlab.request import Request
    from explainlab.service.service import service

    steps = {"rule": "right", "steps": 9_999}
    texts = ("a long film " * 9, "another long film " * 9)
    shared = {"model": "embedded:bert-mini-sst2", "question": "integrated_gradients", "parameters": steps}
    requests = [Request(**shared, text=text) for text in texts]
    place = PageState("several")
    if place.view is None:
        place.ask(service(), Requests(tuple(requests)))
    jobs = [place.answer(service(), request).job for request in requests]
    draw_jobs(service(), jobs, place)
    st.session_state["jobs"] = jobs


def test_several_jobs_are_cancelled_by_one_button() -> None:
    app = AppTest.from_function(_several, default_timeout=60).run()
    app.button(key="cancel_all_several").click().run()
    assert not app.exception
    assert all(job.stop.is_set() for job in app.session_state["jobs"])
    assert not [button for button in app.button if button.key == "cancel_all_several"]


def test_what_goes_on_later_is_paused() -> None:
    text, grid = (
        Job(
            name, resolve(Request(model="bert_mini", question=name, data="embedded:sentiment", parameters=own)), [LOCAL]
        )
        for name, own in (("trust", {}), ("roar", {"test": "embedded:sentiment"}))
    )
    assert [stop_word([text]), stop_word([grid]), stop_word([grid, text])] == ["Cancel", "Pause", "Cancel"]


def test_a_large_job_tells_how_many_workers_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Job("key", resolve(Request(model="m", question="trust", data="embedded:sentiment")), [LOCAL])
    data.update(status="running", done=3, total=9, phase="texts", seconds_left=12.0)
    text = Job("text", resolve(Request(model="m", question="trust", text="a film")), [LOCAL])
    text.update(status="running", phase="gradients")
    several, one = (Service(Store("sqlite://"), workers=[here("cpu")] * count) for count in (2, 1))
    turns = [data, None]
    for service in (several, one):
        monkeypatch.setattr(service.engine, "at", turns.__getitem__)
    assert state(several, data) == "3 of 9 texts on 1 worker, about 12 s left"
    turns[1] = Job("key", data.asked, [LOCAL], helps=data)
    assert state(several, data) == "3 of 9 texts on 2 workers, about 12 s left"
    turns[:] = [text, data]
    assert state(several, text) == "gradients"
    turns[:] = [data]
    assert state(one, data) == "3 of 9 texts, about 12 s left", "no other could have it"


def test_what_is_finished_is_made_in_a_twentieth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    job, made = (
        Job("key", resolve(Request(model="m", question="trust", data="embedded:sentiment")), [LOCAL]),
        list[object](),
    )

    def make() -> object:
        now[0] += 2
        made.append(object())
        return made[-1]

    assert finished_so_far(job) is None, "it has not begun"
    job.partial_result = lambda: None
    assert finished_so_far(job) is None, "its worker does not answer"
    job.partial_result = make
    assert finished_so_far(job) is made[0]
    now[0] += 39.9
    assert finished_so_far(job) is made[0]
    now[0] += 0.1
    assert finished_so_far(job) is made[1] is not made[0]
    now[0] += 1000
    job.partial_result = None
    assert finished_so_far(job) is made[1], "it has ended, and its page has yet to notice"
