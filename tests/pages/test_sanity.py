"""The Sanity page's script, run without a browser: the first view, one text, attacks by a button, what cannot be."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from explainlab.analyses.registry import complete, get_analysis
from explainlab.app.pages.sanity.form import PAGE, SanityView, first_view, shows
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from tests.pages.scripted import linked, opened, press, words

HOSTILE = "<b>Dull</b> [x](https://evil.example), long & never funny"


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Two texts, the first hostile, the second without a word in its top 15%."""
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), (HOSTILE, "negative"), ("Fine.", "positive")])
    return str(path)


def small(source: str, **fields) -> SanityView:
    """A view of one draw by a method of one pass."""
    one_draw = {"source": source, "sample": "first", "methods": ("gradient",), "draws": 1, "mode": "cascading"}
    return first_view().model_copy(update={**one_draw, **fields})


def test_the_page_opens_with_an_answer() -> None:
    page = opened("sanity")
    assert page.title[0].value == "Sanity"
    assert not page.error
    result = service().find(resolve(PAGE.first().request()))
    assert get_analysis(result.request.question).report(result).headline in page.markdown[0].value.replace("\\", "")
    assert (result.body.n, len(result.body.methods), len(result.body.rows[0].draws)) == (2, 1, 1)
    assert [header.value for header in page.header] == [
        *("Random weights", "One text", "Attacks", "Attacks by words", "Stability", "Axioms")
    ]
    assert page.button(key="sanity.attack.ask").label == "Attack"
    for method in result.body.methods:
        assert f"* {method.label}: " in words(page.markdown)
    assert "attacks, attacks by words, stability, axioms." in words(page.caption)


def test_one_text_has_its_maps_and_the_row_that_is_picked_is_in_the_link(source: str) -> None:
    app = linked("sanity", small(source, row=2))
    assert "Row 2" in words(app.markdown)
    table = app.dataframe[0].value
    assert table["Text"].tolist() == [HOSTILE, "Fine."]
    assert service().find(resolve(small(source).row_request("Fine.", None))) is not None


def test_attacks_of_embeddings_and_of_words_are_asked_by_buttons_and_told(source: str) -> None:
    """Within a radius of 0, which costs nothing. A link of the answers shows them again."""
    view = small(source, methods=("input_x_gradient",), attacked="input_x_gradient", radii=("0",))
    app = linked("sanity", view)
    asked = view.attack_request(), view.substitution_request()
    assert [service().find(resolve(request)) for request in asked] == [None, None]
    press(app, "Attack")
    press(app, "Replace words")
    again = opened("sanity", r="".join(app.query_params["r"]))
    told = words(again.markdown)
    for request in asked:
        result = service().find(resolve(request))
        assert (result.body.method, result.body.left_out) == ("input_x_gradient", 1)
        assert get_analysis(request.question).report(result).headline in told
    assert told.count("The open text") == 2
    assert "an attack within 0 moves 0% of its top words" in told
    ends = [line for line in told.split("**") if line.startswith(("Before (", "After ("))]
    assert {line.partition(" (")[0] for line in ends} == {"Before", "After"}
    assert all("negative" in line and "%" in line for line in ends)
    assert not again.error


def test_stability_and_axioms_are_asked_by_buttons_and_told(source: str) -> None:
    app = linked("sanity", small(source))
    press(app, "Try the axioms")
    axioms = service().find(resolve(small(source).axioms_request()))
    assert get_analysis("axioms").report(axioms).headline in words(app.markdown)
    press(app, "Explain again")
    body = service().find(resolve(small(source).stability_request())).body
    assert {row.metric for row in body.rows} == {"max_sensitivity", "infidelity", "edit_stability"}
    opened_cell = linked("sanity", small(source, axioms_cell=("gradient", "dummy")))
    (row,) = [row for row in axioms.body.rows if (row.method, row.axiom) == ("gradient", "dummy")]
    assert row.why in words(opened_cell.info)
    assert "; it passes " in words(app.markdown)
    assert not app.error


def test_its_answers_are_shown_again_by_runs(source: str) -> None:
    view = small(source, attacked="input_x_gradient", radii=("0.3s",))
    assert shows(complete(view.request())) == view.model_copy(update={"attacked": "gradient", "radii": ("0.1s",)})
    attacked = shows(complete(view.attack_request()))
    assert (attacked.source, attacked.attacked, attacked.radii) == (source, "input_x_gradient", ("0.3s",))
    reworded = shows(complete(small(source, methods=("lime",)).substitution_request()))
    assert (reworded.methods, reworded.reworded) == (("lime",), "lime")
    assert (
        shows(complete(Request(**{**view.attack_request().model_dump(), "parameters": {"preset": "reference"}})))
        is None
    )
    assert shows(complete(view.row_request("Fine.", None))) is None


def test_what_cannot_be_attacked_says_so(source: str) -> None:
    app = linked("sanity", small(source, radii=()))
    assert "epsilon = [] is not accepted" in words(app.error)
    assert app.header[0].value == "Random weights", "the rest stays"
