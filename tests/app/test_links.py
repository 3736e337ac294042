"""Addresses: one that the browser sent before it knew of the next is late, and later it means "back"."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app import links, session
from explainlab.app.pages.explain.form import View
from explainlab.service.service import service
from explainlab.service.users import LOCAL, User


def _script() -> None:
    import streamlit as st

    from explainlab.app import links
    from explainlab.app.pages.explain.form import View
    from explainlab.app.place import PageState
    from explainlab.service.service import service

    followed = links.follow(service(), PageState("explain"), View)
    view = followed or st.session_state.get("view")
    if "next" in st.session_state:
        view = View(model="embedded:bert-mini-sst2", text=st.session_state.pop("next"))
    st.session_state["view"] = view
    links.share(service(), PageState("explain"), view)
    st.write(view.text)
    older = st.session_state.pop("older", "")  # the parameter that a fragment's request sends
    if older:
        st.query_params["r"] = older
        links.rerun()


@pytest.fixture
def app() -> AppTest:
    """Opened by the link of ``one``, then asked for ``two``."""
    app = AppTest.from_function(_script, default_timeout=60)
    first = View(model="embedded:bert-mini-sst2", text="one")
    app.query_params["r"] = service().store.save_view(first.model_dump(mode="json"))
    app.run()
    app.session_state["first"] = app.query_params["r"]
    app.session_state["next"] = "two"
    return app.run()


def back(app: AppTest) -> AppTest:
    app.query_params["r"] = app.session_state["first"]
    return app


def test_an_address_that_comes_late_does_not_undo_what_was_asked(app: AppTest) -> None:
    asked = app.query_params["r"]
    assert asked != app.session_state["first"]
    back(app).run()
    assert app.markdown[0].value == "two"
    assert app.query_params["r"] == asked


def test_the_same_address_means_back_once_the_browser_knows_the_next(app: AppTest, monkeypatch) -> None:
    monkeypatch.setattr(links, "LATE_SECONDS", 0.0)
    back(app).run()
    assert app.markdown[0].value == "one"


def test_a_fragment_asked_at_an_older_address_keeps_the_one_shown(app: AppTest, monkeypatch) -> None:
    asked = app.query_params["r"]
    monkeypatch.setattr(links, "LATE_SECONDS", 0.0)
    app.session_state["older"] = app.session_state["first"]
    app.run()
    assert app.query_params["r"] == asked
    assert app.markdown[0].value == "two"


def _asking() -> None:
    import streamlit as st

    from explainlab.app import links
    from explainlab.app.pages.explain.form import View
    from explainlab.app.place import PageState
    from explainlab.service.service import service

    place = PageState("explain")
    if "next" in st.session_state:
        place.ask(service(), View(model="embedded:bert-mini-sst2", text=st.session_state.pop("next")))
    links.follow(service(), place, View)
    if place.view is None:
        place.ask(service(), View(model="embedded:bert-mini-sst2", text="one"))
    links.share(service(), place, place.view)


def test_what_is_wrong_with_a_link_is_told_until_something_else_is_asked() -> None:
    app = AppTest.from_function(_asking, default_timeout=60)
    app.query_params["r"] = "0" * 32
    for _ in range(3):  # as when jobs end meanwhile
        (warning,) = app.run().warning
        assert "no view under this link" in warning.value
    app.session_state["next"] = "two"
    assert not app.run().warning
    assert not app.run().warning


def _shown() -> None:
    from explainlab.app import links
    from explainlab.app.pages.explain.form import View
    from explainlab.app.place import PageState
    from explainlab.service.service import service

    followed = links.follow(service(), PageState("explain"), View)
    links.draw(
        links.share(service(), PageState("explain"), followed or View(model="embedded:bert-mini-sst2", text="mine"))
    )


def test_a_view_is_opened_by_others_once_its_owner_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    ann = User("ann@example.org", "Ann")
    monkeypatch.setattr(session, "user", lambda: ann)
    app = AppTest.from_function(_shown, default_timeout=60).run()
    link = "".join(app.query_params["r"])
    assert app.radio[0].value == "private"
    monkeypatch.setattr(session, "user", lambda: LOCAL)
    other = AppTest.from_function(_shown, default_timeout=60)
    other.query_params["r"] = link
    assert "There is no view under this link here" in other.run().warning[0].value
    assert not other.radio, "nobody to share with"
    monkeypatch.setattr(session, "user", lambda: ann)
    app.radio[0].set_value("link").run()
    monkeypatch.setattr(session, "user", lambda: LOCAL)
    assert service().view(link, LOCAL)["text"] == "mine"
    other = AppTest.from_function(_shown, default_timeout=60)
    other.query_params["r"] = link
    assert not other.run().warning
