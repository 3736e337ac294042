"""A visit without a press stores nothing: neither views, nor results, nor notes. Pages without a link: test_place."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from explainlab.service.service import Service
from explainlab.service.users import LOCAL, User
from tests.pages.scripted import answered, opened, press, stored

BOB = User("bob@example.org", "Bob")


@pytest.mark.parametrize("page", ["explain", "errors"])
def test_opening_anothers_link_stores_nothing(
    service: Service, tmp_path: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = import_module(f"explainlab.app.pages.{page}.form").first_view()
    view = view.model_copy(update={"text": "a film"} if page == "explain" else {"rows": 20})
    link = service.save_view(view.model_dump(mode="json"), BOB, view.requests())
    service.share_view(link, "link", BOB)
    before = stored(tmp_path)
    app = opened(page, r=link)
    assert not app.warning
    assert app.query_params["r"] in (link, [link]), "the link stays where it is"
    assert stored(tmp_path) == before


def test_a_press_stores_what_is_shown(service: Service, tmp_path: Path) -> None:
    app = opened("explain")
    answered(press(app, "Explain"))
    assert stored(tmp_path)["runs"] == 2
    assert stored(tmp_path)["results"] >= 2
    app.text_area[0].set_value("a quiet film").run()
    answered(press(app, "Explain"))
    assert service.view("".join(app.query_params["r"]), LOCAL)["text"] == "a quiet film"
