"""An answer on any page: it comes before its warnings, and an error has one message."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from streamlit.testing.v1.element_tree import Button

from explainlab import explain
from explainlab.figures.scores import score_bars
from explainlab.models.loading import load_model
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from explainlab.settings import ROOT
from tests.pages.scripted import answered, await_page, link_of, linked, opened, press, words

LONG = "The first act drags a little, but the ending is so beautiful that I forgave everything. " * 8


def first_view(page: str):
    return import_module(f"explainlab.app.pages.{page}.form").first_view()


CHEAP = {
    "explain": {"methods": [{"method": "gradient"}, {"method": "attention_last"}]},
    "integration": {"steps": "2,4", "compare": (2, 4)},
    "candidates": {"samples": 2, "steps": 2},
    "activation": {"methods": ["input_x_gradient"], "unit": "sentence"},
}
"""The parameters of each page for a long text."""


@pytest.mark.full("30 s: asks the questions that other tests replace by those of scripted.SMALLER")
@pytest.mark.parametrize("page", ["benchmark", "integration", "sanity"])
def test_a_costly_page_answers_its_own_first_question(page: str) -> None:
    view = first_view(page)
    app = linked(page, view)
    assert not app.error
    assert [request.question for request in view.requests() if not service().has(resolve(request))] == []


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("page", CHEAP)
def test_the_answer_comes_before_its_warnings_and_each_is_there_once(page: str) -> None:
    app = linked(page, first_view(page), text=LONG, model="embedded:bert-mini-sst2", **CHEAP[page])
    said = [warning.value for warning in app.warning if "of the text were cut" in warning.value]
    assert len(said) == 1
    texts = [getattr(element, "value", "") for element in app.main if element.type in ("markdown", "warning")]
    answer = next(i for i, text in enumerate(texts) if str(text).startswith("**"))
    assert answer < texts.index(said[0])


SLOW = {
    "candidates": {"text": LONG, "samples": 400, "steps": 100},
    "activation": {"text": LONG, "methods": ("kernel_shap:samples=64n",)},
    "errors": {},
}
"""A slow question of each page."""


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("page", SLOW)
def test_a_job_is_cancelled_and_may_be_run_again(page: str, tmp_path: Path) -> None:
    view = first_view(page).model_copy(update=SLOW[page])
    if page == "errors":
        file = tmp_path / "large.csv"
        file.write_text("text,label\n" + "".join(f'"{i}: {LONG}",positive\n' for i in range(3000)), encoding="utf-8")
        view = view.model_copy(update={"source": str(file)})
    app = opened("status")
    app.switch_page(str(ROOT / "pages" / f"{page}.py"))
    app.query_params["r"] = link_of(view)
    app.run()

    def stops() -> list[Button]:
        """Return the stop buttons of jobs, without that of reading the file first."""
        return [one for one in app.button if one.label == "Cancel" and not str(one.key).startswith("cancel_task")]

    await_page(app, stops)
    answered(stops()[0].click().run())
    assert "was cancelled" in words(app.info)
    assert "Run again" in [button.label for button in app.button]


@pytest.mark.usefixtures("service")
def test_what_fails_for_one_reason_is_said_once_and_run_again_together() -> None:
    app = linked("explain", first_view("explain"), text="")
    assert len(app.error) == 1
    assert "Integrated gradients, KernelSHAP" in words(app.error)
    assert "The text is empty" in words(app.error)
    again = press(app, "Run again")
    assert len(again.error) == 1


@pytest.mark.usefixtures("service")
def test_an_unknown_model_is_said_once_where_examples_are_chosen() -> None:
    app = linked("errors", first_view("errors"), model="embedded:no-such-model")
    assert len(app.error) == 1
    assert "There is no embedded model" in words(app.error)


def test_a_chart_names_a_long_class_in_lines_that_fit_a_phone() -> None:
    result = explain(load_model("embedded:bert-mini-sst2", device="cpu"), "a film", method="occlusion")
    target = type(result.target)(result.target.index, "a very long name of a class of texts & more")
    axis = score_bars(type(result)(**{**vars(result), "target": target})).figure.layout.xaxis.title.text
    assert axis.split("<br>") == ["Score for a very long", "name of a class of texts", "&amp; more"]
