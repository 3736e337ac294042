"""The models of an allow-list, whatever they are called, and one answer for all others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import huggingface_hub.constants
import pytest

from explainlab.errors import ModelError
from explainlab.figures.export import to_json
from explainlab.models.loading import describe, known_digest
from explainlab.request import Request
from explainlab.service.limits import require_allowed
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import User
from explainlab.settings import settings

ANN = User("ann", "Ann")
SOON = 60


@pytest.fixture
def places(zoo_path: Callable[[str], Path], tmp_path: Path) -> Path:
    """``models/`` with ``inside``, links to it and out of it, and adapters; beside it, not to be used, ``outside``."""
    inside, outside = tmp_path / "models" / "inside", tmp_path / "outside"
    for place in (inside, outside):
        shutil.copytree(zoo_path("bert"), place)
    (tmp_path / "models" / "same").symlink_to(inside)
    (tmp_path / "models" / "way out").symlink_to(outside)
    (tmp_path / "link").symlink_to(tmp_path / "models")
    _adapter(tmp_path / "models" / "adapter", str(inside))
    _adapter(tmp_path / "models" / "adapter out", str(outside))
    _adapter(tmp_path / "models" / "adapter round", f"{tmp_path}/models/../outside")
    return tmp_path


def _adapter(place: Path, changed: str) -> None:
    place.mkdir(parents=True)
    (place / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": changed}))


def ask(model: str) -> Request:
    return Request(model=model, text="a film", question="random")


ALLOWED = [
    "models/inside",
    "models/same",
    "models//inside/",
    "link/inside",
    "outside/../models/inside",
    "models/adapter",
]
REFUSED = [
    "outside",
    "models/../outside",
    "models/inside/../../outside",
    "models/way out",
    "link/way out",
    "link/../outside",
    "models/adapter out",
    "models/adapter round",
    "models/../nowhere",
    "nowhere",
    "",
]


@pytest.mark.parametrize("pattern", ["{}/models/*", "{}/link/*", "{}/outside/../models/*", "{}/mod*/[!x]*"])
def test_a_directory_is_matched_by_where_it_leads(places: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.setattr(settings(), "allowed_models", pattern.format(places))
    for name in ALLOWED:
        require_allowed(ask(f"{places}/{name}"))
    for name in REFUSED:
        with pytest.raises(ModelError, match="is not served here"):
            require_allowed(ask(f"{places}/{name}"))


def test_a_directory_may_be_named_as_it_stands_in_the_settings(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places)
    for pattern in ("models/same", "./models/*", f"{places}/link/../models/same"):
        monkeypatch.setattr(settings(), "allowed_models", pattern)
        for name in ("models/same", "./models/inside", f"{places}/models/same"):
            require_allowed(ask(name))
        with pytest.raises(ModelError, match="is not served here"):
            require_allowed(ask("models/way out"))


@pytest.mark.parametrize(
    "model", ["/a\0b/../c", "/\udcff/x", "/" + "long/" * 5000, "owner/..", "..", "~", "embedded:../x"]
)
def test_no_name_is_too_strange_to_be_refused(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    monkeypatch.setattr(settings(), "allowed_models", "/models/*, owner/n*")
    with pytest.raises(ModelError, match="is not served here"):
        require_allowed(ask(model))


def test_what_an_adapter_of_the_hub_changes_is_checked_once_it_is_fetched(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings(), "allowed_models", "embedded:*, owner/*")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(places / "hub"))
    service = Service(Store("sqlite://"), "cpu")
    with service.engine.together():  # nothing runs before it is fetched
        job = service.submit(resolve(ask("owner/adapter")))
        stored = places / "hub" / "models--owner--adapter"
        _adapter(stored / "snapshots" / ("0" * 40), str(places / "outside"))
        (stored / "refs").mkdir()
        (stored / "refs" / "main").write_text("0" * 40)
    assert service.engine.wait(job, SOON)
    assert "'owner/adapter' is not served here" in job.progress.error
    assert service.workers[0].pool.loaded == ()


def test_a_hosted_instance_says_of_no_path_whether_it_is_there(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(Store("sqlite://"), "cpu")
    (places / "empty").mkdir()
    (places / "file").write_text("no model")
    names = [f"{places}/{name}" for name in ("outside", "empty", "file", "nowhere", "models/adapter out")]
    result = service.run(resolve(ask(names[0])))
    monkeypatch.setattr(settings(), "auth", "proxy")
    answers = set()
    for name in names:
        exported = to_json([result.answering(result.request.model_copy(update={"model": name}))], "In words.")
        (run,) = service.import_runs(exported.encode(), ANN)
        answers.add(service.open_run(run.id, ANN).gone.replace(name, "NAME"))
        with pytest.raises(ModelError) as caught:
            resolve(ask(name), ANN)
        answers.add(str(caught.value).replace(name, "NAME"))
    assert len(answers) == 1
    assert "is not served here" in answers.pop()


def test_a_page_reads_no_files_of_a_directory(places: Path) -> None:
    model, store = str(places / "models" / "inside"), Store("sqlite://")
    service = Service(store, "cpu")
    (places / "models" / "inside" / "more.json").write_text("{}")  # unlike any that another test has read
    assert service.find(resolve(ask(model))) is None
    assert not service.has(resolve(ask(model)))
    assert describe(model) is not None
    assert known_digest(model) is None
    job = service.submit(resolve(ask(model)))
    assert service.engine.wait(job, SOON)
    assert service.find(resolve(ask(model))) is job.result


def test_a_server_that_starts_reads_the_models_of_runs(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(Store("sqlite://"), "cpu")
    models = [str(places / "models" / "inside"), str(places / "outside")]
    for model in models:
        service.record(resolve(ask(model)), service.run(resolve(ask(model))))
        (Path(model) / "more.json").write_text(json.dumps(str(places)))
    monkeypatch.setattr(settings(), "allowed_models", f"{places}/models/*")
    assert [known_digest(model) for model in models] == [None, None]
    service.read_models()
    assert [known_digest(model) is None for model in models] == [False, True]
