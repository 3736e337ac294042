"""A text beyond the limit is refused in words; the one before is kept, and the refused one is never asked about."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.settings import settings
from tests.pages.scripted import words


def _script() -> None:
    import streamlit as st

    from explainlab.app.components import draw_text_area

    def run() -> None:
        st.session_state["asked"] = st.session_state["box"]

    draw_text_area("Text", "a film", "box", 100, run)
    st.markdown(st.session_state.get("asked", "nothing"))


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(settings(), "max_characters", 20)
    return AppTest.from_function(_script).run()


def entered(app: AppTest, text: str) -> AppTest:
    return app.text_area(key="box").set_value(text).run()


def test_a_text_within_the_limit_is_taken(app: AppTest) -> None:
    entered(app, "x" * 20)
    assert not app.error
    assert words(app.markdown) == app.text_area(key="box").value == "x" * 20


def test_a_text_beyond_the_limit_is_refused_until_another_is_entered(app: AppTest) -> None:
    entered(app, "a good film")
    entered(app, "x" * 1_234)
    assert "1,234 characters. The limit is 20" in words(app.error)
    assert words(app.markdown) == app.text_area(key="box").value == "a good film"
    app.run()
    assert app.error, "it stays as long as the text before is shown"
    entered(app, "a dull film")
    assert not app.error
    assert words(app.markdown) == "a dull film"
