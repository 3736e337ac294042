"""The Benchmark page's way to ground truth, run without a browser: planted, trained, checked, and compared."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.analyses.evaluation.page.view import first_view
from explainlab.metrics.registry import parse_metric
from explainlab.service.service import service
from tests.pages.scripted import answered, linked, press, words

VOCABULARY = ["film", "plot", "story", "actor", "scene", "music", "book", "slow", "warm", "dull", "long", "old", "of"]
TINY = "layers=1,width=32,heads=2,vocabulary=200,batch_size=32,max_tokens=32,learning_rate=0.003,epochs=4"
COMP = parse_metric("comprehensiveness").name


@pytest.fixture
def source(tmp_path: Path) -> str:
    drawn, path = random.Random(1), tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        rows = [[" ".join(drawn.choices(VOCABULARY, k=6)), "positive"] for _ in range(1_200)]
        csv.writer(file).writerows([["text", "label"], *rows])
    return str(path)


def asked(source: str, **values: str) -> AppTest:
    """The page on ``source``, with tiny sizes, as its button was pressed."""
    app = linked("benchmark", first_view(), source=source, methods=("gradient",), metrics=(COMP,), rows=10)
    for name, value in {"settings": TINY, **values}.items():
        app.text_input(key=f"benchmark_truth_{name}").set_value(value)
    return answered(press(app, "Plant, train and compare"))


def test_a_button_leads_from_a_file_to_the_table_with_ground_truth(source: str) -> None:
    app = asked(source)
    view = app.session_state["benchmark.place"].view
    assert view.model.startswith("made:")
    body = service().find(view.request()).body
    assert body.planted.known
    assert "Ground truth: the planted words" in [header.value for header in app.header]
    print(words(app.markdown))
