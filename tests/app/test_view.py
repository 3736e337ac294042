"""The requests of a view: the right rows, every model on every data set, each file with its own columns."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from explainlab.analyses.registry import complete
from explainlab.app.entries import page_of
from explainlab.app.pages.benchmark.form import first_view as benchmark_view
from explainlab.app.pages.errors.form import first_view as errors_view
from explainlab.request import validated

DATA: dict[str, Any] = {"source": "embedded:sentiment", "rows": 3}
READING: dict[str, Any] = {"columns": {"text": "review"}, "classes": {"good": "positive"}}


@pytest.mark.parametrize("page", ["activation", "candidates", "integration"])
def test_a_link_without_a_sample_asks_for_the_first_rows(page: str) -> None:
    first = import_module(f"explainlab.app.pages.{page}.form").first_view()
    body = first.model_dump(mode="json")
    older = validated(type(first), **{**body, "data": DATA}).data_request()
    assert complete(older).parameters["sample"] == "first"
    view = validated(type(first), **{**body, "data": {**DATA, **READING, "sample": "random"}})
    request = complete(view.data_request())
    assert (request.parameters["sample"], request.columns, request.classes) == ("random", *READING.values())
    opened = page_of(request)
    assert opened.view.data == view.data


@pytest.mark.parametrize(("view", "rows"), [(errors_view(), 10_000), (benchmark_view(), 40)])
def test_a_page_of_a_data_set_asks_for_random_rows_unless_its_link_is_older(view: Any, rows: int) -> None:
    assert view.request().parameters.items() >= {"rows": rows, "sample": "random"}.items()
    older = view.model_dump(mode="json", exclude={"sample"})
    assert validated(type(view), **older).request().parameters["sample"] == "first"


@pytest.mark.parametrize("page", ["activation", "candidates", "integration", "errors"])
def test_every_model_is_asked_about_every_data_set_read_by_its_own_columns(page: str) -> None:
    first = import_module(f"explainlab.app.pages.{page}.form").first_view()
    more = {**DATA, "models": ("other",), "sources": ("b.csv", "embedded:sentiment"), "readings": {"b.csv": READING}}
    body = {**first.model_dump(mode="json"), **(more if page == "errors" else {"data": more})}
    view = validated(type(first), **body)
    assert view.cells == [(model, data) for model in (view.model, "other") for data in ("embedded:sentiment", "b.csv")]
    requests = view.text_requests() if page == "errors" else view.data_requests()
    assert [(request.model, request.data) for request in requests] == view.cells
    assert [request.columns for request in requests] == [{}, READING["columns"]] * 2
    alone = view.of_cell("other", "b.csv")
    assert alone.cells == [("other", "b.csv")]
    assert alone.chosen.classes == READING["classes"]
