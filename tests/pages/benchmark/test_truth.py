"""The Benchmark page's way to ground truth, run without a browser: planted, trained, checked, and compared."""

from __future__ import annotations

import csv
import random

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app.pages.benchmark.form import BenchmarkView, first_view
from explainlab.metrics.registry import parse_metric
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from explainlab.service.users import LOCAL
from explainlab.settings import settings
from tests.pages.scripted import answered, charts, linked, opened, press, words

VOCABULARY = ["film", "plot", "story", "actor", "scene", "music", "book", "slow", "warm", "dull", "long", "old", "of"]
SIZES = "layers=1,width=32,heads=2,vocabulary=200,batch_size=32,max_tokens=32"
TINY = f"{SIZES},learning_rate=0.003,epochs=4"
COMP = parse_metric("comprehensiveness").name
BUTTON = "Plant, train and compare"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    drawn, path = random.Random(1), tmp_path_factory.mktemp("texts") / "texts.csv"
    with path.open("w", newline="") as file:
        rows = [[" ".join(drawn.choices(VOCABULARY, k=6)), "positive"] for _ in range(1_600)]
        csv.writer(file).writerows([["text", "label"], *rows])
    return str(path)


def asked(source: str, **values: str) -> AppTest:
    """The page on ``source``, with tiny sizes, as its button was pressed."""
    app = linked("benchmark", first_view(), source=source, methods=("gradient",), metrics=(COMP,), rows=10, seed=2)
    for name, value in {"settings": TINY, **values}.items():
        app.text_input(key=f"benchmark_truth_{name}").set_value(value)
    return answered(press(app, BUTTON))


def view_of(app: AppTest) -> BenchmarkView:
    view: BenchmarkView = app.session_state["benchmark.place"].view
    return view


def headers(app: AppTest) -> list[str]:
    return [header.value for header in app.header]


def test_a_button_leads_from_a_file_to_the_table_with_ground_truth_and_a_link_reopens_it(source: str) -> None:
    app = asked(source)
    view = view_of(app)
    assert view.model.startswith("made:")
    body = service().find(resolve(view.request())).body
    assert body.planted.known
    assert body.n == 10
    assert "Ground truth by planted words" in headers(app)
    for step in ("1 Planted**: 1,200 rows to learn from, 400 held out", "2 Trained", "3 Checked", "4 Compared"):
        assert step in words(app.markdown)
    assert "The planted words alone decide" in words(app.caption)
    assert not app.error
    questions = {run.question for run in service().runs(LOCAL).runs}
    assert {"training", "planted", "evaluation"} <= questions, "each step is stored, and a run"
    again = opened("benchmark", r="".join(app.query_params["r"]))
    assert "Ground truth by planted words" in headers(again)
    for step in ("1 Planted**: 1,200 rows to learn from", "4 Compared"):
        assert step in words(again.markdown)
    assert again.text_input(key="benchmark_truth_settings").value == TINY
    assert "From texts.csv" in words(again.caption), "the next chain begins with the same texts, not with planted ones"


def test_a_model_that_fails_the_checks_shows_no_ground_truth(source: str) -> None:
    app = asked(source, settings=f"{SIZES},learning_rate=0.0000001,epochs=1")
    assert "3 Check failed" in words(app.warning)
    assert "more than 2 points from the best possible, 100.0%" in words(app.warning)
    assert "train it on such texts, or longer" in words(app.warning)
    assert not view_of(app).model.startswith("made:"), "the benchmark before stays"
    assert "Ground truth by planted words" not in headers(app)


@pytest.mark.full("4 s: trains two models")
def test_several_shares_make_a_chart_of_overlap_against_share(source: str) -> None:
    app = asked(source, shares="1, 0.9")
    assert "Ground-truth overlap (ExplainLab) against the share of the texts with a planted word" in " ".join(
        charts(app)
    )
    view = view_of(app)
    press(app, "Open the benchmark")
    assert view_of(app).model != view.model
    assert "Ground truth by planted words" in headers(app)


BAD = [
    ("words", "positive", "two words or more"),
    ("words", "<b>x</b>, <B>x</B>", "A word is given twice"),
    ("shares", "1, 2", "share = 2"),
    ("shares", "half", "shares.0 = 'half'"),
    ("shares", "", "shares"),
    ("settings", "layers=none", "layers"),
    ("settings", "teacher=x", "without recipe"),
]


def test_what_cannot_be_planted_or_trained_is_said(source: str) -> None:
    app = linked("benchmark", first_view(), source=source, methods=("gradient",), metrics=(COMP,), rows=10)
    for name, value, told in BAD:
        control = app.text_input(key=f"benchmark_truth_{name}")
        before = control.value
        control.set_value(value).run()
        assert told in words(app.error)
        assert BUTTON not in {button.label for button in app.button}
        app.text_input(key=f"benchmark_truth_{name}").set_value(before).run()
        assert not app.error


def test_where_models_may_not_be_made_the_section_says_so(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    app = linked("benchmark", first_view(), source=source, methods=("gradient",), metrics=(COMP,), rows=10)
    monkeypatch.setattr(settings(), "allow_training", False)
    monkeypatch.setattr(type(settings()), "hosted", True)
    app.run()
    assert "Models are not made here" in words(app.info)
