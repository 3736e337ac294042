"""The Benchmark page's script, run without a browser: the first answer, cells, texts, pairs, links, files that lack."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.analyses.evaluation.verdict import overview
from explainlab.app.entries import page_of
from explainlab.app.page import views_elsewhere
from explainlab.app.pages.benchmark.form import BenchmarkView, first_view
from explainlab.metrics.registry import parse_metric
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from explainlab.settings import ROOT
from tests.pages.scripted import answered, await_plan, charts, following, linked, opened, press, words

HOSTILE = "<b>Dull</b> [x](https://evil.example), long & never funny"
COMP, AUPRC = parse_metric("comprehensiveness").name, parse_metric("auprc").name
TEXTS = [
    (HOSTILE, "negative"),
    ("A dull, slow and lifeless film.", "negative"),
    ("A lovely, warm and funny film.", "positive"),
    ("Beautiful, touching and wise.", "positive"),
    ("A joy from the first scene to the last.", "negative"),
    ("Boring from start to end.", "negative"),
]


def written(path: Path, marked: bool = False) -> str:
    """Return a file of these texts; with ``marked``, all but the last have their first word as rationale."""
    rows = [{"text": text, "label": label} for text, label in TEXTS]
    if marked:
        rows = [{**row, "rationale": [[0, row["text"].index(" ")]]} for row in rows[:-1]] + rows[-1:]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


@pytest.fixture
def source(tmp_path: Path) -> str:
    return written(tmp_path / "rows.jsonl")


@pytest.fixture(scope="module")
def first() -> AppTest:
    """Return the page as it opens; tests must not change it."""
    return opened("benchmark")


@pytest.fixture
def app() -> AppTest:
    """Return a new page that the test may change."""
    return opened("benchmark")


def cheap(source: str, app: AppTest | None = None, **fields) -> AppTest:
    """Return the page on ``source``, with two methods of one pass and one metric; opened, unless it is ``app``."""
    asked = {"methods": ("gradient", "lrp"), "metrics": (COMP,), "rows": 10, "sample": "all", **fields}
    view = first_view().model_copy(update={"source": source, **asked})
    return linked("benchmark", view) if app is None else following(app, view)


def table(app: AppTest, column: str) -> list:
    """Return a column of the first table that has it and lists texts."""
    return next(frame.value for frame in app.dataframe if {column, "Row"} <= set(frame.value))[column].tolist()


def body_of(app: AppTest):
    return service().find(resolve(app.session_state["benchmark.place"].view.request())).body


def test_the_page_opens_with_its_examples_answered(first: AppTest) -> None:
    assert first.title[0].value == "Benchmark"
    assert not first.error
    assert not first.warning
    body = body_of(first)
    assert overview(body) in words(first.markdown)
    for sentence in ("cannot be distinguished", "Passes that a text takes"):
        assert sentence in words(first.markdown)
    cells = first.get("vega_lite_chart")[0].proto.alt
    assert "Methods by metrics" in cells
    assert "8 texts" in cells
    assert "looks better than it is" in words(first.caption)
    drawn = " ".join(charts(first))
    for part in ("differences to the best", "average ranks", "by slices of the texts"):
        assert part in drawn
    assert "How far the methods agree" in first.get("vega_lite_chart")[1].proto.alt
    assert first.query_params["r"]


def test_the_cost_is_told_before_a_run(app: AppTest) -> None:
    others = await_plan(app, 2)  # of two questions further down, each beside its button
    app.number_input(key="benchmark_rows").set_value(60).run()
    plan, *rest = await_plan(app, 3)
    assert len(rest) == len(others) == 2
    assert re.match(r"Takes (about \d+ s: )?(about|at most) [\d,]+ passes through the model for 60 texts\.", plan), plan
    assert "press **Compare**" in words(app.caption)


def test_a_cell_lists_its_texts_the_best_or_the_worst_first(source: str) -> None:
    app = cheap(source, cell_method="lrp", cell_metric=COMP)
    known = {text.row: text.values["lrp"][COMP] for text in body_of(app).texts}
    best = sorted(known, key=lambda row: -known[row])
    assert table(app, "Row") == best
    assert table(app, "Value") == pytest.approx([known[row] for row in best])
    answered(app.radio(key="benchmark_order").set_value("worst").run())
    assert table(app, "Row") == best[::-1]
    answered(app.selectbox(key="benchmark_cell_method").set_value("random").run())
    assert sorted(table(app, "Row")) == sorted(known)


def test_an_open_text_shows_all_values_and_goes_to_explain_with_all_methods(app: AppTest, source: str) -> None:
    press(app, "Compare")  # a visit alone stores nothing
    cheap(source, app, methods=("gradient:norm=l2", "lrp"), seed=5, cell_method="lrp", cell_metric=COMP, row=1)
    assert HOSTILE in words(app.markdown).replace("\u2060", "")
    assert "https://evil" not in "".join(element.value for element in app.markdown)
    view, text = app.session_state["benchmark.place"].view, body_of(app).texts[0]
    inputs = view.row_inputs(text.text, text.text_pair, text.text_seed)
    views = {entry.title: other for entry, other in views_elsewhere(inputs, "benchmark").items()}
    explain = views["Explain"]
    assert [choice.method for choice in explain.methods] == ["gradient", "lrp"]
    assert (explain.text, explain.seed, explain.output) == (HOSTILE, text.text_seed, "own")
    for request in explain.text_requests():
        assert service().find(resolve(request)) is not None, "the benchmark has computed it"
    assert {button.label for button in app.button} >= set(views)


def test_two_methods_list_the_texts_on_which_they_disagree(source: str) -> None:
    app = cheap(source, first="lrp", second="gradient")
    (pair,) = [p for p in body_of(app).agreement if {p.first, p.second} == {"lrp", "gradient"}]
    assert table(app, "Row") == [text.row for text in pair.most_apart]
    answered(app.selectbox(key="benchmark_second").set_value("lrp").run())
    assert "two different methods" in words(app.info)


def test_a_link_reopens_the_cell_and_its_text(source: str) -> None:
    app = cheap(source, cell_method="lrp", cell_metric=COMP, row=3, by=COMP, first="lrp", second="gradient")
    press(app, "Compare")
    other = opened("benchmark", r="".join(app.query_params["r"]))
    assert "Row 3" in words(other.markdown)
    assert other.selectbox(key="benchmark_cell_method").value == "lrp"
    assert other.selectbox(key="benchmark_second").value == "gradient"
    assert "The controls have changed" not in words(other.caption)


def test_a_run_opens_here_with_what_it_asked() -> None:
    view = BenchmarkView(
        model="embedded:bert-mini-sst2",
        source="embedded:sentiment",
        rows=7,
        methods=("lrp", "gradient:norm=signed_sum"),
        metrics=(AUPRC, COMP),
        settings={"lrp": {}},
        target="gold",
        output="logit",
        unit="word",
        seed=3,
    )
    page = page_of(view.request())
    assert page.entry.title == "Benchmark"
    assert page.view.methods == view.methods
    assert page.view.metrics == view.metrics


def test_metrics_of_rationales_have_a_table_of_their_own(tmp_path: Path) -> None:
    app = cheap(written(tmp_path / "marked.jsonl", marked=True), metrics=(AUPRC, COMP))
    assert [header.value for header in app.header if "faithfulness" in header.value]
    assert "Left out: 1 " in words(app.caption)
    assert [chart.proto.alt.partition(":")[0] for chart in app.get("vega_lite_chart")][:2] == [
        "Methods by metrics",
        "Agreement with people, not faithfulness",
    ]
    app = cheap(written(tmp_path / "marked.jsonl", marked=True), metrics=(AUPRC,), cell_method="lrp", cell_metric=AUPRC)
    assert len(table(app, "Row")) == len(TEXTS) - 1
    assert "1 text without a value" in words(app.caption)


def test_a_file_without_rationales_says_what_is_missing(source: str) -> None:
    app = cheap(source, metrics=(AUPRC,))
    assert "its column 'rationale' is missing" in words(app.error)
    assert not charts(app)
    app = cheap(source)
    app.multiselect(key="benchmark_metrics_Rationale").set_value([AUPRC]).run()
    assert "its column 'rationale' is missing" in words(app.warning)
    assert charts(app), "the answer stays"


@pytest.mark.parametrize("label", [None, "economy"], ids=["no column", "other names"])
def test_a_file_without_labels_is_answered_and_they_are_asked_for_where_a_label_is_explained(
    tmp_path: Path, label: str | None
) -> None:
    path = tmp_path / "unlabelled.jsonl"
    rows = [{"text": text} if label is None else {"text": text, "label": label} for text, _ in TEXTS]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    app = cheap(str(path))
    assert not app.error
    assert "no column" not in words(app.warning)
    assert body_of(app).n == len(TEXTS)
    assert ("is not a class of the model" in words(app.warning)) == (label is not None)
    assert ("Match the labels" in [button.label for button in app.button]) == (label is not None)
    assert charts(app)
    cheap(str(path), app, target="gold")
    told = words([*app.error, *app.warning])
    assert ("has no column 'label'" if label is None else "is not a class") in told


def test_what_cannot_be_asked_is_said(source: str) -> None:
    app = cheap(source, methods=("nothing",))
    assert "nothing" in words(app.error)
    app = cheap(source, metrics=())
    assert "one or more metrics" in words(app.error)
    app = cheap(f"{source}.gone")
    assert "There is no data file" in words(app.error)
    app = cheap(source)
    assert not app.error
    app = cheap("")
    assert "No data set is chosen" in words(app.error)


def test_definitions_and_all_texts_are_one_press_away(source: str) -> None:
    app = cheap(source)
    for name in ("benchmark_defined", "benchmark_texts_all"):
        app.session_state[name] = True
    app.run()
    assert "a control that should do badly" in words(app.markdown)
    assert len(table(app, "Layer-wise relevance propagation, Comprehensiveness (RPI)")) == len(TEXTS)


def test_the_data_set_travels_between_pages_of_data_sets(source: str) -> None:
    app = cheap(source)
    app.switch_page(str(ROOT / "pages" / "errors.py"))
    app.query_params.clear()
    app.run()
    assert app.selectbox(key="errors_data").value == source
    assert "press **Predict** to compute here" in words(app.info)
