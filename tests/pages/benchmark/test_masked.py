"""Masked texts on the Benchmark page, without a browser: the button, the answer, the line under tables, links, runs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from explainlab.analyses.masked_distribution.result import line
from explainlab.analyses.registry import complete, get_analysis
from explainlab.app.entries import page_of
from explainlab.app.pages.benchmark.form import BenchmarkView, first_view, shows
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from tests.pages.benchmark.test_page import COMP
from tests.pages.scripted import await_plan, charts, linked, opened, planned, press, words

HEADER = "Does the model know masked texts?"
WORDS = ["a warm film", "a dull plot", "the actors are lovely", "it never ends", "<b>a bold story</b>"]


@pytest.fixture
def view(tmp_path: Path) -> BenchmarkView:
    """Return a view of a method on four of forty texts."""
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        rows = [[f"{WORDS[i % 5]} {i}", ("negative", "positive")[i % 2]] for i in range(40)]
        csv.writer(file).writerows([["text", "label"], *rows])
    asked = {"methods": ("gradient",), "metrics": (COMP,), "rows": 4, "sample": "first"}
    return first_view().model_copy(update={"source": str(path), **asked})


def test_the_section_is_asked_by_a_button_and_the_table_tells(view: BenchmarkView) -> None:
    app = linked("benchmark", view)
    assert HEADER in [header.value for header in app.header]
    assert service().find(resolve(view.masked_request())) is None
    assert line(None) in words(app.caption)
    assert len(await_plan(app, 2)) == 2, "that of number formats has one too"
    press(app, "Check masked texts")
    assert len(planned(app)) == 1
    assert not app.error
    result = service().find(resolve(view.masked_request()))
    assert get_analysis("masked_distribution").report(result).headline in words(app.markdown)
    assert [alt for alt in charts(app) if "the check tells apart from training texts, over 20 texts" in alt]
    table = next(frame.value for frame in app.dataframe if "In place of a word" in frame.value)
    assert table["In place of a word"].tolist()[1:4] == [
        "The word itself",
        "Another of the text's words",
        "The mask token",
    ]
    again = opened("benchmark", r="".join(app.query_params["r"]))
    assert line(result.body) in words(again.caption), "the line under the table tells what is stored"
    assert "See the check" in [button.label for button in again.button]


def test_its_run_opens_here(view: BenchmarkView) -> None:
    request = complete(view.masked_request())
    shown = shows(request)
    assert shown is not None
    assert (shown.source, shown.model) == (view.source, view.model)
    assert page_of(request) is not None
    other = complete(request.model_copy(update={"parameters": {**request.parameters, "ratios": [50]}}))
    assert page_of(other) is None, "the page asks for all ratios"
