"""Which rows a view asks for: random ones where it is new, the first where its link is older than the choice."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from explainlab.analyses.errors.page.view import first_view as errors_view
from explainlab.analyses.evaluation.page.view import first_view as benchmark_view
from explainlab.analyses.registry import complete
from explainlab.app.runs.opening import page_of
from explainlab.request import checked

DATA: dict[str, Any] = {"source": "embedded:sentiment", "rows": 3}
READING: dict[str, Any] = {"columns": {"text": "review"}, "classes": {"good": "positive"}}


@pytest.mark.parametrize("page", ["activation", "candidates", "integration"])
def test_a_link_without_a_sample_asks_for_the_first_rows(page: str) -> None:
    first = import_module(f"explainlab.analyses.{page}.page.view").first_view()
    body = first.model_dump(mode="json")
    older = checked(type(first), **{**body, "data": DATA}).data_request()
    assert complete(older).parameters["sample"] == "first"
    view = checked(type(first), **{**body, "data": {**DATA, **READING, "sample": "random"}})
    request = complete(view.data_request())
    assert (request.parameters["sample"], request.columns, request.classes) == ("random", *READING.values())
    opened = page_of(request)
    assert opened.view.data == view.data


@pytest.mark.parametrize(("view", "rows"), [(errors_view(), 10_000), (benchmark_view(), 40)])
def test_a_page_of_a_data_set_asks_for_random_rows_unless_its_link_is_older(view: Any, rows: int) -> None:
    assert view.request().parameters.items() >= {"rows": rows, "sample": "random"}.items()
    older = view.model_dump(mode="json", exclude={"sample"})
    assert checked(type(view), **older).request().parameters["sample"] == "first"
