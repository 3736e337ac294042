"""Templates belong to users, private until shared; a changed one never gets the answers of the one before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from explainlab.errors import ModelError, RequestError
from explainlab.limits import MAX_TEMPLATES
from explainlab.models.prompting import save_template, template_ids
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.templates import (
    delete_template,
    own_id,
    readable_templates,
    save_own,
    share_template,
)
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings
from tests.conftest import ASKED

ANN, BOB = User("oidc#ann", "Ann <b>"), User("oidc#bob", "Bob")
SECRET = ASKED.model_copy(update={"name": "mine", "instruction": "A secret prompt.\n"})


@pytest.fixture
def hosted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return an instance with sign-in that serves every model."""
    monkeypatch.setattr(settings(), "home", tmp_path)
    monkeypatch.setattr(settings(), "auth", "oidc")
    monkeypatch.setattr(settings(), "allowed_models", "*")
    return tmp_path


def test_answers_belong_to_the_templates_content(speaker_path: Callable[[str], Path]) -> None:
    first = ASKED.model_copy(update={"name": "edited"})
    other = first.model_copy(update={"separator": "\n\n"})
    service = Service(Store("sqlite://"), "cpu")
    model = f"completion:edited:{speaker_path('gpt2')}"
    request = Request(model=model, text="a funny film", question="occlusion")
    save_template(first)
    answer = service.run(resolve(request))
    assert np.array_equal(service.find(resolve(request)).scores, answer.scores)
    save_template(other)
    assert service.find(resolve(request)) is None
    changed = service.run(resolve(request))
    assert changed.versions["model"] != answer.versions["model"]
    assert not np.array_equal(changed.scores, answer.scores)
    save_template(first)
    assert np.array_equal(service.find(resolve(request)).scores, answer.scores)


def test_a_template_is_its_owners_until_shared(hosted: Path, speaker_path: Callable[[str], Path]) -> None:
    mine = save_own(SECRET, ANN)
    assert (mine, mine in readable_templates(ANN.id)) == (own_id("mine", ANN), True)
    assert set(readable_templates(BOB.id)) == set(template_ids())
    service = Service(Store("sqlite://"), "cpu")
    request = Request(model=f"completion:{mine}:{speaker_path('gpt2')}", text="a film", question="occlusion")
    missing = Request(**{**dict(request), "model": request.model.replace("mine@", "nothing@")})
    told = []
    for asked in (request, missing):
        with pytest.raises(ModelError, match="There is no template") as caught:
            resolve(asked, BOB)
        told.append(str(caught.value).replace("nothing@", "mine@"))
    assert told[0] == told[1], "what is hidden looks like what does not exist"
    job = service.submit(resolve(request, ANN))
    assert service.engine.wait(job, 60)
    assert job.result.prediction.label in ASKED.labels
    run = service.runs(ANN).runs[0]
    service.share_run(run.id, "instance", ANN)
    assert service.open_run(run.id, ANN).gone == ""
    assert "There is no template" in service.open_run(run.id, BOB).gone
    share_template(mine, True, ANN)
    assert readable_templates(BOB.id)[mine] == "mine (shared by Ann <b>)"
    assert service.find(resolve(request, BOB)) is not None
    share_template(mine, False, ANN)
    with pytest.raises(ModelError, match="There is no template"):
        service.find(resolve(request, BOB))


def test_only_its_owner_changes_a_template(hosted: Path) -> None:
    mine, other = save_own(SECRET, ANN), save_own(SECRET.model_copy(update={"instruction": ""}), BOB)
    assert mine != other
    share_template(mine, True, ANN)
    for door in (lambda: share_template(mine, False, BOB), lambda: delete_template(mine, BOB)):
        with pytest.raises(RequestError, match="You have no template 'mine'"):
            door()
    for theirs in ("sst2", "../mine", "mine@../../etc", f"nothing@{mine.partition('@')[2]}"):
        with pytest.raises(RequestError, match="You have no template"):
            delete_template(theirs, ANN)
    assert mine in readable_templates(BOB.id)
    delete_template(mine, ANN)
    assert mine not in readable_templates(ANN.id)
    assert not [path for path in hosted.rglob("*") if path.is_file() and "secret" in path.read_text()]
    save_own(SECRET, ANN)
    assert mine not in readable_templates(BOB.id), "private again"


def test_templates_in_the_folder_itself_are_everybodys_where_users_sign_in(hosted: Path) -> None:
    save_template(SECRET)
    assert "mine" in readable_templates(BOB.id)
    with pytest.raises(RequestError, match="You have no template 'mine'"):
        delete_template("mine", BOB)
    assert save_own(SECRET, BOB) == own_id("mine", BOB), "one's own beside it"


def test_without_sign_in_all_saved_templates_are_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    assert save_own(SECRET, LOCAL) == "mine"
    delete_template("mine", LOCAL)
    assert "mine" not in readable_templates(LOCAL.id)
    with pytest.raises(RequestError, match="You have no template 'sst2'"):
        delete_template("sst2", LOCAL)


def test_templates_are_bounded(hosted: Path) -> None:
    with pytest.raises(RequestError, match="the limit is 100 KB"):
        save_own(SECRET.model_copy(update={"instruction": "a" * 200_000}), ANN)
    for number in range(MAX_TEMPLATES):
        save_own(SECRET.model_copy(update={"name": f"t{number}"}), ANN)
    with pytest.raises(RequestError, match="You have 100 templates"):
        save_own(SECRET, ANN)
    assert save_own(SECRET.model_copy(update={"name": "t0", "separator": "\n\n"}), ANN) == own_id("t0", ANN)
