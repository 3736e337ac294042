"""Made models: queued behind interactive work, used by their id, named, theirs alone, limited and deleted."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explainlab.analyses.cells import cells
from explainlab.analyses.registry import new_request
from explainlab.errors import ModelError, RequestError, ResourceError
from explainlab.models.loading import load_model
from explainlab.models.stored.places import made_folder
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.status import OF_OTHERS, status
from explainlab.service.store.made import delete_made, made_archive, name_made, own_models, shown_model
from explainlab.service.store.retention import sweep
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings
from tests.analyses.training.test_analysis import SMALL, written

SOON = 240
ANN, BOB = User("ann", "Ann"), User("bob", "Bob")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(settings(), "home", tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def having(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda **values: [monkeypatch.setattr(settings(), name, value) for name, value in values.items()]


@pytest.fixture
def service(home: Path) -> Service:
    return Service(Store("sqlite://"), "cpu")


@pytest.fixture
def training(tmp_path: Path) -> Request:
    data = written(tmp_path / "films.csv", 60, 0)
    return new_request(question="training", model="bert", data=data, parameters={"settings": SMALL})


def done(service: Service, request: Request, user: User) -> object:
    answer = service.ask(resolve(request, user))
    if hasattr(answer, "progress"):
        assert service.engine.wait(answer, SOON)
        assert answer.progress.status == "done", answer.progress.error
        answer = answer.result
    return answer


def explained(model: str, text: str = "a lovely film") -> Request:
    return Request(question="input_x_gradient", model=model, text=text)


def test_a_made_model_is_used_named_and_deleted(service: Service, training: Request) -> None:
    result = done(service, training, ANN)
    (own,) = own_models(ANN.id)
    assert own.id == result.body.models[0].model.id
    assert own.card == result.body.models[0].model
    assert own.bytes > 1000
    assert service.find(resolve(training, ANN)).to_json() == result.to_json()
    map_ = done(service, explained(own.id), ANN)
    assert set(map_.prediction.probabilities) == {"negative", "positive"}
    name_made(own.id, "films-1", ANN)
    assert own_models(ANN.id)[0].name == "films-1"
    np.testing.assert_array_equal(service.find(resolve(explained("made:films-1"), ANN)).scores, map_.scores)
    assert (shown_model(own.id, ANN.id), shown_model(own.id, BOB.id)) == ("films-1", own.id)
    for taken in ("<b>", own.id.removeprefix("made:")):
        with pytest.raises(RequestError, match=f"cannot be called '{taken}'"):
            name_made(own.id, taken, ANN)
    assert service.has(resolve(training, ANN))
    delete_made(own.id, ANN, ())
    assert not list(made_folder().iterdir())
    assert not service.has(resolve(training, ANN))
    assert service.find(resolve(training, ANN)) is None
    with pytest.raises(ModelError, match=f"There is no model '{own.id}'"):
        service.find(resolve(explained(own.id), ANN))
    assert done(service, training, ANN).body.models[0].model.files == own.card.files


def test_it_belongs_to_its_owners(service: Service, training: Request) -> None:
    own = done(service, training, ANN).body.models[0].model.id
    assert not own_models(BOB.id)
    for refused in (lambda: service.submit(resolve(explained(own), BOB)), lambda: name_made(own, "mine", BOB),
                    lambda: service.submit(resolve(explained(f"completion:sst2:{own}"), BOB)),
                    lambda: delete_made(own, BOB, ())):  # fmt: skip
        with pytest.raises(ModelError, match="There is no model"):
            refused()
    done(service, training, BOB)
    assert [model.id for model in own_models(BOB.id)] == [own]
    delete_made(own, ANN, ())
    assert done(service, explained(own), BOB).prediction


def test_its_id_on_status_is_for_owners_and_administrators(
    service: Service, training: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = done(service, training, ANN).body.models[0].model.id
    done(service, explained(own), ANN)

    def seen(user: User) -> set[str]:
        now = status(service, user)
        return {*(model.id for model in now.loaded), *now.workers[0].condition.models}

    assert seen(ANN) == {own}
    assert seen(BOB) == {OF_OTHERS}
    monkeypatch.setattr(settings(), "administrators", BOB.id)
    assert seen(BOB) == {own}


def test_the_command_line_makes_models_of_the_local_user(service: Service, training: Request) -> None:
    own = service.run(resolve(training)).body.models[0].model.id
    assert [model.id for model in own_models(LOCAL.id)] == [own]


def test_one_that_a_job_needs_is_not_deleted(home: Path, training: Request, tmp_path: Path) -> None:
    service, other = (Service(Store(f"sqlite:///{tmp_path / 'store.sqlite'}"), "cpu") for _ in range(2))
    own = done(service, training, LOCAL).body.models[0].model.id
    with pytest.raises(RequestError, match=f"A job needs {own}"):
        delete_made(own, LOCAL, [explained(own)])
    other.store.lease.renew()
    other.remember(resolve(explained(own)))
    with pytest.raises(RequestError, match=f"A job needs {own}"):
        service.delete_made(own)
    other.store.lease.end()
    service.delete_made(own)
    assert not own_models(LOCAL.id)


def test_one_that_is_deleted_while_a_benchmark_needs_it(service: Service, training: Request) -> None:
    own = done(service, training, LOCAL).body.models[0].model.id
    parameters = {"methods": ["gradient"], "metrics": ["log_odds"], "rows": 3}

    def answer(model: str, data: str) -> Any:
        result = service.run(resolve(new_request(question="evaluation", model=model, data=data, parameters=parameters)))
        if model == own:
            service.delete_made(own)
        return result

    films = "embedded:sentiment"
    first, gone, last = cells([own, own, "embedded:bert-mini-sst2"], [films], answer)
    assert (first.status, first.result.body.n) == ("done", 3)
    assert gone.status == "failed"
    assert f"no model '{own}'" in gone.reason
    assert last.status == "done"


def test_two_servers_make_a_model_once(home: Path, training: Request, tmp_path: Path) -> None:
    services = [Service(Store(f"sqlite:///{tmp_path / 'store.sqlite'}"), "cpu") for _ in range(2)]
    other = training.model_copy(update={"parameters": {**training.parameters, "seeds": 2}})
    jobs = [service.submit(resolve(request)) for service, request in zip(services, (training, other), strict=True)]
    for service, job in zip(services, jobs, strict=True):
        assert service.engine.wait(job, SOON)
    (alone,), (first, _) = (job.result.body.models for job in jobs)
    assert alone.model == first.model
    assert sum(job.result.cost.forward for job in jobs) == 2 * alone.model.rows * len(alone.model.epochs)
    assert {path.name for path in made_folder().glob("*/*")} == {"card.json", "model", "owners"}


def test_what_a_stopped_training_has_left_is_deleted_after_a_week(service: Service, training: Request) -> None:
    done(service, training, ANN)
    left = made_folder() / ("0" * 64)
    (left / "checkpoints").mkdir(parents=True)
    sweep(service.store)
    assert left.is_dir()
    for path in (left / "checkpoints", left, *made_folder().rglob("*")):
        os.utime(path, (0, 0))
    sweep(service.store)
    assert not left.exists()
    assert len(own_models(ANN.id)) == 1


def test_a_made_model_is_taken_away_as_a_directory(service: Service, training: Request, tmp_path: Path) -> None:
    (made,) = done(service, training, ANN).body.models
    name_made(made.model.id, "films", ANN)
    with zipfile.ZipFile(io.BytesIO(made_archive(made.model.id, ANN))) as archive:
        archive.extractall(tmp_path)
    assert {path.suffix for path in (tmp_path / "films").iterdir()} <= {".json", ".safetensors", ".txt"}
    assert load_model(str(tmp_path / "films"), "cpu").labels == ("negative", "positive")
    with pytest.raises(ModelError, match="There is no model"):
        made_archive(made.model.id, BOB)


def test_an_adapter_of_a_made_model(service: Service, training: Request, tmp_path: Path) -> None:
    """It is read back, by its own name and from its archive, as long as the model is there that it changes."""
    base = done(service, training, ANN).body.models[0].model.id
    name_made(base, "films", ANN)
    asked = {"recipe": "progressive", "settings": {"lora": True, "epochs": 1, "learning_rate": 0.01}}
    request = training.model_copy(update={"model": "made:films", "parameters": asked})
    card = done(service, request, ANN).body.models[0].model
    assert (card.base, card.settings["lora"], card.settings["lora_rank"]) == (base, True, 16)
    adapter, whole = (next(own for own in own_models(ANN.id) if own.id == name) for name in (card.id, base))
    assert adapter.bytes < whole.bytes
    first, second = (load_model(name, "cpu") for name in (base, card.id))
    assert second.labels == first.labels
    own, other = (model.logits(model.inputs([model.encode("a lovely film")])) for model in (first, second))
    assert not np.allclose(own, other, atol=1e-3)
    assert done(service, explained(card.id), ANN).versions["model"] == card.files
    with zipfile.ZipFile(io.BytesIO(made_archive(card.id, ANN))) as archive:
        archive.extractall(tmp_path)
    again = load_model(str(tmp_path / card.id.replace(":", "-")), "cpu")
    np.testing.assert_array_equal(again.logits(again.inputs([again.encode("a lovely film")])), other)
    with pytest.raises(RequestError, match=f"{card.id} is an adapter of {base}"):
        delete_made(base, ANN, ())
    delete_made(card.id, ANN, ())
    delete_made(base, ANN, ())
    with pytest.raises(ModelError, match=f"no model '{base}'. Put {base} back"):
        load_model(str(tmp_path / card.id.replace(":", "-")), "cpu")


@pytest.mark.parametrize("name", ["made:", "made:nothing", "made:../../etc", "made:0123456789ab", "made:*"])
def test_names_of_nothing(service: Service, name: str) -> None:
    with pytest.raises(ModelError, match="There is no model"):
        service.find(resolve(explained(name), LOCAL))


def test_limits(service: Service, training: Request, having: Callable[..., None]) -> None:
    done(service, training, LOCAL)
    another = training.model_copy(update={"seed": 1})
    having(max_made_models=1)
    with pytest.raises(ResourceError, match=r"1 made models.*EXPLAINLAB_MAX_MADE_MODELS"):
        service.submit(resolve(another))
    having(max_made_models=5, max_made_mb=0)
    with pytest.raises(ResourceError, match="too much room"):
        service.submit(resolve(another))
    having(max_made_mb=100, auth="oidc")
    with pytest.raises(RequestError, match="EXPLAINLAB_ALLOW_TRAINING"):
        service.submit(resolve(another))


def test_a_question_between_two_batches_changes_nothing(service: Service, training: Request, home: Path) -> None:
    training = training.model_copy(update={"parameters": {"settings": {**SMALL, "epochs": 40}}})
    alone = done(service, training, LOCAL).body.models[0].model
    delete_made(alone.id, LOCAL, ())
    job = service.submit(resolve(training))
    while job.progress.phase != "steps of training":
        assert not service.engine.wait(job, 0.01)
    short = service.submit(resolve(explained("embedded:bert-mini-sst2", "a stirring film"), BOB))
    random = service.submit(resolve(Request(question="random", model="embedded:bert-mini-sst2", text="a film"), BOB))
    assert service.engine.wait(short, SOON)
    assert service.engine.wait(random, SOON)
    assert not job.progress.finished, "they ran in its middle"
    assert service.engine.wait(job, SOON)
    assert job.result.body.models[0].model == alone
