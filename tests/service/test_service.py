"""The service: every answer is computed once, found again after a restart, and never stale."""

from __future__ import annotations

import gc
import shutil
import socket
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sqlalchemy import Engine, event

from explainlab.analyses.registry import get_analysis
from explainlab.attribution.methods.control import Random
from explainlab.errors import ModelError, RequestError, ResourceError
from explainlab.request import Request
from explainlab.service.jobs import Job, JobContext
from explainlab.service.resolved import resolve
from explainlab.service.service import Service, open_service
from explainlab.service.store.store import Store
from explainlab.settings import settings
from tests.zoo import CORPUS

SOON = 60
TEXT = "a stirring, funny film"
Ask = Callable[..., Request]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'results.sqlite'}"


@pytest.fixture
def folder(zoo_path: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of the tiny BERT that a test may change."""
    return Path(shutil.copytree(zoo_path("bert"), tmp_path / "model"))


@pytest.fixture
def ask(folder: Path) -> Ask:
    """A request to the tiny BERT; any field can be chosen."""
    return lambda **chosen: Request(**{"model": str(folder), "text": TEXT, "question": "input_x_gradient", **chosen})


def serve(url: str = "sqlite://") -> Service:
    """A service as a fresh process would open it on the same store."""
    return Service(Store(url), "cpu")


def finished(service: Service, request: Request) -> Job:
    job = service.submit(resolve(request))
    assert service.engine.wait(job, SOON)
    return job


def change_weight(folder: Path, value: float) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"][0, 0] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


# Once ----------------------------------------------------------------------------------------------------------------


def test_an_answer_is_found_after_its_job_and_after_a_restart(url: str, ask: Ask) -> None:
    service = serve(url)
    assert service.find(resolve(ask())) is None
    assert not service.has(resolve(ask()))
    assert service.job(resolve(ask())) is None
    job = finished(service, ask())
    assert job.progress.status == "done"
    assert service.job(resolve(ask())) is job
    assert service.find(resolve(ask())) is job.result

    restarted = serve(url)
    assert service.has(resolve(ask()))
    assert restarted.has(resolve(ask()))
    found = restarted.find(resolve(ask()))
    assert found.to_json() == job.result.to_json()
    assert restarted.find(resolve(ask())) is found, "what is drawn of it need not be drawn again"
    assert finished(restarted, ask()).result.to_json() == job.result.to_json(), "not computed again: same seconds"
    assert restarted.run(resolve(ask())).to_json() == job.result.to_json()


def test_defaults_given_or_left_out_are_one_question(ask: Ask) -> None:
    service = serve()
    job = finished(service, ask())
    assert service.job(resolve(ask(parameters={"reduction": "sum"}))) is job
    assert service.find(resolve(ask(parameters={"reduction": "sum"}))) is job.result
    assert service.find(resolve(ask(parameters={"reduction": "l2"}))) is None


def test_one_model_under_several_names_computes_once(url: str, ask: Ask, folder: Path, tmp_path: Path) -> None:
    service = serve(url)
    first = finished(service, ask()).result
    names = [str(shutil.copytree(folder, tmp_path / "copy")), f"{folder}/", f"{folder}/../{folder.name}"]
    for name in names:
        for found in (finished(service, ask(model=name)).result, service.find(resolve(ask(model=name)))):
            assert found.cost == first.cost, "the very same computation"
            np.testing.assert_array_equal(found.scores, first.scores)
            assert found.request.model == name, "but under the name that was asked"


def test_every_field_of_the_request_is_another_question(ask: Ask) -> None:
    service = serve()
    first = finished(service, ask()).result
    for other in (
        {"text": "a dull film"}, {"text_pair": "and a dull one"}, {"target": "neutral"}, {"output": "logit"},
        {"unit": "word"}, {"seed": 1}, {"dtype": "bfloat16"}, {"question": "gradient"},
    ):  # fmt: skip
        assert service.find(resolve(ask(**other))) is None
        assert finished(service, ask(**other)).result.to_json() != first.to_json()
    assert service.find(resolve(ask())).to_json() == first.to_json()


# Never stale ---------------------------------------------------------------------------------------------------------


def test_a_retrained_directory_gets_a_new_answer(url: str, ask: Ask, folder: Path) -> None:
    service = serve(url)
    before = finished(service, ask()).result
    change_weight(folder, 5.0)
    assert service.find(resolve(ask())) is None
    after = finished(service, ask()).result
    assert after.versions["model"] != before.versions["model"]
    assert after.prediction.probabilities != before.prediction.probabilities
    assert service.find(resolve(ask())) is after


def test_a_changed_method_computes_anew(url: str, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    request = ask(question="random")
    assert finished(serve(url), request).result.versions["method"] == "1"
    for declared in (Random, get_analysis("random")):
        monkeypatch.setattr(declared, "version", 2)
    service = serve(url)
    assert service.find(resolve(request)) is None
    assert finished(service, request).result.versions["method"] == "2"


# The memory of runs --------------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data file of a few texts."""
    file = tmp_path / "texts.csv"
    file.write_text("text\n" + "\n".join(f'"{text}"' for text in CORPUS), encoding="utf-8")
    return file


@pytest.fixture
def from_entropy(ask: Ask, data: Path) -> Ask:
    """A request that starts from the most uniformly predicted text of the data file."""
    chosen = {"baseline": "max_entropy", "baseline_data": str(data)}
    return lambda **fields: ask(question="occlusion", parameters=chosen, **fields)


def test_a_baseline_is_chosen_once_even_over_a_restart(url: str, from_entropy: Ask) -> None:
    first = finished(serve(url), from_entropy()).result
    others = [
        finished(serve(url), from_entropy(text="a dull film")).result,
        serve(url).run(resolve(from_entropy(text="a dull film", unit="word"))),
    ]
    passes = first.cost.forward - len(CORPUS)
    assert passes == len([f for f in first.features if not f.special]) + 1
    for other in others:
        assert other.notes == first.notes != ()
        assert other.cost.forward == len([f for f in other.features if not f.special]) + 1


def test_the_command_line_remembers_for_the_page(url: str, from_entropy: Ask) -> None:
    first = serve(url).run(resolve(from_entropy()))
    assert finished(serve(url), from_entropy(seed=1)).result.cost.forward == first.cost.forward - len(CORPUS)
    assert serve("sqlite://").run(resolve(from_entropy())).cost.forward == first.cost.forward


def test_changed_data_get_a_new_answer(url: str, from_entropy: Ask, data: Path) -> None:
    service = serve(url)
    job = finished(service, from_entropy())
    assert service.find(resolve(from_entropy())) is job.result
    data.write_text("text\nanother film altogether\n", encoding="utf-8")
    assert service.find(resolve(from_entropy())) is None
    assert service.job(resolve(from_entropy())) is None
    assert "another film altogether" in finished(service, from_entropy()).result.notes[0]
    assert serve(url).find(resolve(from_entropy())).notes == service.find(resolve(from_entropy())).notes
    data.unlink()
    assert service.find(resolve(from_entropy())) is None
    assert "no data file" in finished(service, from_entropy()).progress.error


def test_choosing_shows_progress_and_stops(from_entropy: Ask, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data.write_text("text\n" + "a good film\n" * 5000, encoding="utf-8")
    monkeypatch.setattr(settings(), "batch_tokens", 64)
    service = serve()
    job = service.submit(resolve(from_entropy()))
    while job.progress.phase != "choosing the baseline" and not job.progress.finished:  # the file is read before
        service.engine.wait(job, 0.01)
    assert job.progress.total == 5000
    service.cancel(job.key)
    assert service.engine.wait(job, SOON)
    assert (job.progress.status, job.result) == ("cancelled", None)


def test_a_store_without_its_notes_remembers_nothing_and_answers(url: str, from_entropy: Ask) -> None:
    service = serve(url)
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        database.execute("DROP TABLE notes")
    first, again = (finished(service, from_entropy(seed=seed)).result for seed in (0, 1))
    np.testing.assert_array_equal(first.scores, again.scores)
    assert (first.warnings, again.warnings, first.cost.forward) == ((), (), again.cost.forward)


# A store that fails --------------------------------------------------------------------------------------------------


@contextmanager
def full_disk() -> Iterator[None]:
    """Database files opened meanwhile cannot grow: SQLite itself refuses, as on a full disk."""

    def limit(connection, _) -> None:
        _, _, path = connection.execute("PRAGMA database_list").fetchone()
        if path:
            connection.execute("PRAGMA max_page_count=1")

    event.listen(Engine, "connect", limit)
    try:
        yield
    finally:
        event.remove(Engine, "connect", limit)


def test_with_a_full_disk_the_answer_comes_with_a_warning(url: str, ask: Ask) -> None:
    Store(url)
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        database.execute("VACUUM")  # no page is free
    with full_disk():
        service = serve(url)
        job = finished(service, ask(text="film " * 40))
    assert job.progress.status == "done"
    assert "could not be stored" in job.result.warnings[-1]
    assert "full" in job.result.warnings[-1]
    assert service.find(resolve(job.request)) is job.result, "as long as the process lives"
    assert serve(url).find(resolve(job.request)) is None


def test_a_store_that_breaks_later_does_not_stop_answers(url: str, ask: Ask) -> None:
    service = serve(url)
    assert finished(service, ask()).result.warnings == ()
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        database.execute("DROP TABLE results")
    assert service.find(resolve(ask(seed=1))) is None
    job = finished(service, ask(seed=1))
    assert "could not be stored" in job.result.warnings[-1]
    assert service.find(resolve(ask(seed=1))) is job.result


def test_a_home_that_cannot_be_used_is_told_and_answers_come(
    tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr(settings(), "home", tmp_path / "file")
    service = open_service("cpu")
    assert "Results are not kept" in service.notice
    assert "EXPLAINLAB_HOME" in service.notice
    job = finished(service, ask())
    assert not job.result.warnings
    assert service.find(resolve(ask())) is job.result


def test_a_disk_that_is_full_from_the_start_is_told(tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    with full_disk():
        service = open_service("cpu")
    assert "Results are not kept" in service.notice
    assert "full" in service.notice
    assert finished(service, ask()).progress.status == "done"


def test_a_good_home_needs_no_notice(tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path / "new" / "home")
    service = open_service("cpu")
    assert service.notice == ""
    result = finished(service, ask()).result
    second = open_service("cpu")
    assert second.find(resolve(ask())).to_json() == result.to_json()
    service.store.unfinished.begin("0" * 64, "ann", "attribution", {})
    assert second.store.unfinished.cut_short("ann") == [], "the first has a lease"
    for server in (service, second):
        server.store.lease.end()


def test_a_closed_service_ends_its_threads_and_lets_go_of_everything(
    tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path / "home")
    before = set(threading.enumerate())
    with open_service("cpu") as service:
        answered = finished(service, ask()).result
        threads = set(threading.enumerate()) - before
        seen = [weakref.ref(thing) for thing in (service, service.engine, *service.workers)]
    with pytest.raises(ResourceError, match="closed"):
        service.submit(resolve(ask(question="occlusion")))
    for thread in threads:
        thread.join(SOON)
    assert not any(thread.is_alive() for thread in threads)
    with open_service("cpu") as after:
        assert after.find(resolve(ask())).to_json() == answered.to_json()
    del service
    gc.collect()
    assert [ref() for ref in seen] == [None] * len(seen)


# What goes wrong -----------------------------------------------------------------------------------------------------


def test_weights_that_are_no_numbers_fail_with_a_clear_line(ask: Ask, folder: Path) -> None:
    change_weight(folder, torch.nan)
    service = serve()
    job = finished(service, ask())
    assert job.progress.status == "failed"
    assert "'classifier.weight' is not finite" in job.progress.error
    assert service.find(resolve(ask())) is None
    assert service.job(resolve(ask())) is job


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"question": "input_x_gradiant"}, "Did you mean input_x_gradient"),
        ({"parameters": {"no_such": 1}}, "no parameter 'no_such'"),
        ({"parameters": {"reduction": "max"}}, "reduction = 'max' is not accepted"),
    ],
)
def test_a_bad_request_is_refused_before_it_is_queued(ask: Ask, chosen: dict, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        resolve(ask(**chosen))


def test_a_target_that_is_no_class_fails_its_job(ask: Ask) -> None:
    job = finished(serve(), ask(target="wonderful"))
    assert "'wonderful' is not a class" in job.progress.error


def test_half_a_surrogate_pair_fails_with_a_clear_line(ask: Ask) -> None:
    job = finished(serve(), ask(text="a film \udcff"))
    assert "not valid Unicode" in job.progress.error


def test_a_hub_model_that_is_not_here_is_not_looked_for(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    reached = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **_: reached.append(args))
    service = serve()
    assert service.find(resolve(ask(model="explainlab-tests/not-here"))) is None
    assert not reached
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    job = finished(service, ask(model="explainlab-tests/not-here"))
    assert "hub cannot be reached" in job.progress.error
    with pytest.raises(ModelError, match="no model"):
        service.find(resolve(ask(model="/no/such/folder")))


def test_a_long_job_stops_within_a_batch(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "batch_tokens", 64)
    service = serve()
    job = service.submit(
        resolve(ask(question="integrated_gradients", parameters={"steps": 10_000, "rule": "midpoint"}))
    )
    while job.progress.done < 20 and not job.progress.finished:
        service.engine.wait(job, 0.01)
    assert job.progress.phase == "gradients"
    assert 0 < job.progress.share < 1
    service.cancel(job.key)
    assert service.engine.wait(job, SOON)
    assert (job.progress.status, job.result) == ("cancelled", None)
    assert job.progress.done < job.progress.total == 10_000


def test_a_job_tells_its_prediction_before_its_result(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    service = serve()
    told = []
    report = JobContext.report

    def reported(context: JobContext, *progress: Any) -> None:
        told.append(context._job.prediction)
        report(context, *progress)

    monkeypatch.setattr(JobContext, "report", reported)
    job = finished(service, ask(question="integrated_gradients", parameters={"rule": "right", "steps": 5000}))
    assert job.result is not None
    assert job.prediction == job.result.prediction
    assert job.prediction in told[:-1]


def test_a_data_set_has_no_prediction_of_its_own(ask: Ask, tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("text,label\ngood,positive\n")
    parameters = {"methods": ["occlusion"]}
    job = finished(serve(), ask(question="activation", text=None, data=str(data), parameters=parameters))
    assert job.result is not None
    assert job.prediction is None
