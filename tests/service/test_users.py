"""Users of any name: ids as long as a provider likes, and sign-ins that have ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import MOST_KEY, User, is_administrator, key_of
from explainlab.settings import settings

LONG = "https://sign-in.example.org#" + "a" * 5000
IDS = [LONG + "1", LONG + "2", "https://sign-in.example.org#Ю\u0000\ud800", "proxy:" + "b" * (MOST_KEY - 6)]


def test_a_user_with_an_id_of_any_length_has_runs(database_url: str, zoo_path: Callable[[str], Path]) -> None:
    service = Service(Store(database_url), "cpu")
    asked = Request(model=str(zoo_path("bert")), text="a funny film", question="gradient")
    for number, full_id in enumerate(IDS):
        user = User.known_as(full_id, "Ann")
        job = service.submit(resolve(asked.model_copy(update={"seed": number}), user))
        assert service.engine.wait(job, 60)
        (run,) = service.runs(user).runs
        assert run.owner == user.id
        assert len(run.owner) <= MOST_KEY
        assert run.owner_full_id.startswith(full_id[:20])
        assert len(run.owner_full_id) == len(full_id)
        view_id = service.save_view({"text": "a"}, user)
        assert service.view(view_id, user) == {"text": "a"}
        service.store.remarks(user.id, "0" * 64).all()
    assert len({key_of(full_id) for full_id in IDS}) == len(IDS)


def test_short_ids_stay_as_they_are_and_none_is_taken_for_a_hash() -> None:
    assert key_of("proxy:ann@example.org") == "proxy:ann@example.org"
    assert key_of(IDS[3]) == IDS[3]
    assert key_of(LONG).startswith("sha256:")


def test_an_administrator_is_named_by_the_whole_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "administrators", f"{LONG}, proxy:ann")
    assert is_administrator(User.known_as(LONG, "Ann"))
    assert is_administrator(User.known_as("proxy:ann", "Ann"))
    assert not is_administrator(User.known_as(LONG + "1", "Ann"))


def test_a_sign_in_that_has_ended_is_remembered_for_a_day_longer_than_one_lasts(database_url: str) -> None:
    """The clock of another server may be fast."""
    store = Store(database_url)
    store.end_sign_in("1" * 64, 8)
    store.end_sign_in("1" * 64, 8)
    assert [Store(database_url).sign_in_ended(digit * 64) for digit in "12"] == [True, False]
    store.end_sign_in("2" * 64, -23)
    assert store.sign_in_ended("1" * 64)
    store.end_sign_in("3" * 64, -24)
    assert [store.sign_in_ended(digit * 64) for digit in "123"] == [False, False, True]
