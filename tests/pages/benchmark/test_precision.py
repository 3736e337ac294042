"""The section on half precision of the Benchmark page, without a browser: the button, the answer, links and runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainlab.analyses.registry import complete, get_analysis
from explainlab.app.entries import page_of
from explainlab.app.pages.benchmark.form import BenchmarkView, first_view, shows
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from tests.pages.benchmark.test_page import COMP, HOSTILE, written
from tests.pages.scripted import charts, linked, opened, press, words

HEADER = "What does half precision change?"


@pytest.fixture
def view(tmp_path: Path) -> BenchmarkView:
    """Return a view of a method on two texts, the first of them hostile."""
    asked = {"methods": ("gradient",), "metrics": (COMP,), "rows": 2, "sample": "first"}
    return first_view().model_copy(update={"source": written(tmp_path / "rows.jsonl"), **asked})


def test_the_section_is_asked_by_a_button_and_answers(view: BenchmarkView) -> None:
    app = linked("benchmark", view)
    assert HEADER in [header.value for header in app.header]
    assert service().find(resolve(view.precision_request())) is None
    press(app, "Compare number formats")
    assert not app.error
    result = service().find(resolve(view.precision_request()))
    analysis = get_analysis("precision")
    assert analysis.report(result).headline in words(app.markdown)
    assert len([alt for alt in charts(app) if "in half precision, over 2 texts" in alt]) == 3
    table = next(frame.value for frame in app.dataframe if "Format" in frame.value)
    assert list(zip(table["Method"], table["Format"], strict=True)) == [
        (own.label, form.dtype) for form in result.body.formats for own in result.body.methods
    ]
    assert table["Rank correlation"].tolist() == [str(row.rank_correlation) for row in result.body.rows]
    assert result.body.texts[0].text == HOSTILE
    again = opened("benchmark", r="".join(app.query_params["r"]))
    assert analysis.report(result).headline in words(again.markdown), "a link shows what is stored"


def test_its_run_opens_here(view: BenchmarkView) -> None:
    request = complete(view.precision_request())
    shown = shows(request)
    assert shown is not None
    assert (shown.source, shown.methods, shown.rows) == (view.source, view.methods, 2)
    assert complete(shown.precision_request()) == request
    assert page_of(request) is not None
    other = complete(request.model_copy(update={"parameters": {**request.parameters, "dtypes": ["float16"]}}))
    assert shows(other) is None, "the page asks for both formats"
    assert page_of(other) is None


def test_some_of_very_many_texts_are_enough(view: BenchmarkView) -> None:
    many = view.model_copy(update={"rows": 5_000, "sample": "all", "dtype": "bfloat16"})
    request = complete(many.precision_request())
    assert (request.parameters["rows"], request.parameters["sample"], request.dtype) == (50, "random", "float32")
