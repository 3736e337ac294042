"""The maps of a row and its report: both have the page's words and scales."""

from __future__ import annotations

import re

import pytest

from explainlab import explain
from explainlab.app.pages.errors.rows import maps_of, row_report
from explainlab.attribution.records import Attribution
from explainlab.figures.heatmap import limit
from explainlab.models.classifier import Classifier
from explainlab.service.store.remarks import Remark

TEXT = "the plot is thin"


@pytest.fixture
def results(encoder: Classifier) -> list[Attribution]:
    return [explain(encoder, TEXT, "input_x_gradient", target=label) for label in ("negative", "positive")]


def row(label: str) -> dict:
    return {
        "row": 1204, "text": TEXT, "text_pair": None, "label": label, "predicted": "negative",
        "confidence": 0.81, "probability": 0.81 if label == "negative" else 0.19, "loss": 1.66,
        "tokens": 6, "cut": False,
    }  # fmt: skip


def test_a_mistake_has_three_maps_with_titles_and_the_scales_of_the_page(results: list[Attribution]) -> None:
    first, second, between = maps_of(row("positive"), results, "green_red")
    assert [entry.title for entry in (first, second, between)] == [
        "Why negative, which is predicted",
        "Why positive, which is true",
        "Why negative rather than positive",
    ]
    assert first.drawn.limit == second.drawn.limit == limit(results)
    assert first.drawn.shared
    assert between.drawn.limit == limit([between.attribution])
    assert not between.drawn.shared


def test_a_row_that_is_right_has_one_map(results: list[Attribution]) -> None:
    (only,) = maps_of(row("negative"), results[:1], "green_red")
    assert only.title == "Why negative, which is predicted and true"
    assert only.drawn.limit == limit(results[:1])


def test_the_report_of_a_row_says_what_the_page_says(results: list[Attribution]) -> None:
    wrong = row("positive")
    remark = Remark(row=1204, note="<b>irony</b>", tags=("irony", "short"))
    source = row_report("reviews.csv", wrong, maps_of(wrong, results, "green_red"), "green_red", remark)
    text = " ".join(re.sub(r"<style>.*</style>|<[^>]*>", " ", source, flags=re.DOTALL).split())
    for expected in (
        "Row 1,204 of reviews.csv", "The model predicts negative (81.0%), but positive is true.",
        "True class positive (19.0%)", "Loss 1.660", "Note &lt;b&gt;irony&lt;/b&gt;", "Tags irony, short",
        "Why negative, which is predicted", "Why positive, which is true", "Why negative rather than positive",
        "Method Input × gradient", f"Model {results[0].request.model}", "Versions torch",
    ):  # fmt: skip
        assert expected in text, expected
    assert source.count("one scale for all maps") == 2


def test_the_report_of_a_row_leaves_out_what_is_empty(results: list[Attribution]) -> None:
    right = row("negative")
    source = row_report("reviews.csv", right, maps_of(right, results[:1], "green_red"), "green_red", Remark(row=1204))
    assert "The model predicts negative (81.0%), which is true." in source
    assert ">Note<" not in source
    assert ">Tags<" not in source
