"""The door of a server: settings and session decide who enters; pages run for no other reader, by any way."""

from __future__ import annotations

import time
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app import sign_in
from explainlab.app.entries import entries
from explainlab.service.service import Service
from explainlab.settings import ROOT, settings

CLAIMS = {
    "is_logged_in": True,
    "iss": "https://sign-in.example.org",
    "sub": "0123",
    "name": "Ann *Example*",
    "iat": int(time.time()),
}


def _who() -> None:
    import streamlit as st

    from explainlab.app.session import user
    from explainlab.errors import RequestError

    try:
        found = user()
        st.text(f"{found.id}|{found.name}")
    except RequestError as error:
        st.text(f"nobody: {error}")


def _account() -> None:
    from explainlab.app.sign_in import draw_account

    draw_account()


def who(**claims: Any) -> str:
    app = AppTest.from_function(_who)
    app.user = claims
    return app.run().text[0].value


def test_without_sign_in_it_is_the_one_at_this_machine() -> None:
    assert who() == "local|You"
    assert who(**CLAIMS) == "local|You", "what nobody has checked counts for nothing"


def test_an_openid_user_is_the_providers_name_and_its_name_for_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "auth", "oidc")
    assert who(**CLAIMS) == "https://sign-in.example.org#0123|Ann *Example*"
    assert who(**{**CLAIMS, "name": None, "email": "a@b.c"}).endswith("|a@b.c")
    for lacking in ({"is_logged_in": False}, {"iss": None}, {"sub": ""}):
        assert who(**{**CLAIMS, **lacking}).startswith("nobody: Nobody is signed in")
    assert who(proxy_user="ann").startswith("nobody")


def test_a_sign_in_lasts_as_long_as_the_setting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "auth", "oidc")
    monkeypatch.setattr(settings(), "sign_in_hours", 8)
    hour = 3600
    assert who(**{**CLAIMS, "iat": time.time() - 7.9 * hour}).startswith("https://")
    for late in (time.time() - 8.1 * hour, None):
        assert who(**{**CLAIMS, "iat": late}).startswith("nobody")


def test_a_copy_of_a_sign_in_ends_with_it(monkeypatch: pytest.MonkeyPatch, service: Service) -> None:
    monkeypatch.setattr(settings(), "auth", "oidc")
    claims = {**CLAIMS, "nonce": "1"}
    app = AppTest.from_function(_account)
    app.user = claims
    app.run().button[0].click().run()
    assert who(**claims).startswith("nobody")
    assert who(**{**claims, "nonce": "2"}).startswith("https://"), "another sign-in of the same user"
    sign_in._ended.clear()
    assert who(**claims).startswith("nobody"), "also after a restart"


def test_a_proxys_user_is_what_its_header_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "auth", "proxy")
    assert who(proxy_user="ann@example.org") == "proxy:ann@example.org|ann@example.org"
    for claims in ({}, {"proxy_user": ""}, {"proxy_user": None}, CLAIMS):
        assert who(**claims).startswith("nobody")


@pytest.mark.parametrize("auth", ["oidc", "proxy"])
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.url)
def test_no_page_runs_for_nobody(monkeypatch: pytest.MonkeyPatch, auth: str, entry) -> None:
    monkeypatch.setattr(settings(), "auth", auth)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    for run in (app.run, lambda: app.switch_page(str(ROOT / "pages" / entry.file)).run()):
        run()
        assert not app.exception
        assert [title.value for title in app.title] == ["ExplainLab"]
        assert not [*app.text_area, *app.selectbox, *app.dataframe, *app.caption]


def test_without_a_provider_the_door_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "auth", "oidc")
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert "secrets.toml" in app.warning[0].value
    assert not app.button
