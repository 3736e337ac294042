"""The frame around the pages: each is declared once, has a file of its own, and calls the guard first."""

from __future__ import annotations

import ast

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app.entries import entries
from explainlab.settings import ROOT


def test_every_file_under_pages_is_declared_once():
    declared = [entry.file for entry in entries()]
    assert sorted(declared) == sorted(path.name for path in (ROOT / "pages").glob("*.py"))
    assert len({entry.url for entry in entries()}) == len({entry.title for entry in entries()}) == len(entries())


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.url)
def test_a_page_calls_the_guard_before_anything_else(entry):
    body = ast.parse((ROOT / "pages" / entry.file).read_text(encoding="utf-8")).body
    first = next(node for node in body[1:] if not isinstance(node, ast.Import | ast.ImportFrom))
    assert ast.unparse(first) == "guard()"


def test_a_page_without_the_app_says_how_to_start_it():
    page = AppTest.from_string(
        "from explainlab.app.frame import guard\nguard()\nimport streamlit\nstreamlit.text('in')"
    )
    page.session_state["navigation_retried"] = True
    page.run()
    assert "streamlit run app.py" in page.error[0].value
    assert not page.text


def test_a_tab_is_titled_by_page_and_text_until_the_page_changes():
    page = AppTest.from_string(
        "import streamlit as st\nfrom explainlab.app.frame import name_tab\nname_tab('Explain', 'The first act drags…')"
    ).run()
    assert page.session_state["tab_title"] == "Explain: The first act drags… | ExplainLab"
