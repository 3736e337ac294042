"""The part of the Errors page on what drives mistakes, run without a browser: methods, cost, answer, link."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab import load_model, study
from explainlab.analyses.mistake_drivers.figures import drivers_of, places
from explainlab.analyses.mistake_drivers.result import MistakeDriversData
from explainlab.app.pages.errors.form import ErrorsView, first_view
from explainlab.attribution.registry import methods
from explainlab.models.loading import describe
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from tests.pages.scripted import answered, await_plan, charts, linked, opened, planned, press, words

MODEL = "embedded:bert-mini-sst2"
ROWS = [
    ("A dull, slow and lifeless film.", "negative"),
    ("A lovely, warm and funny film.", "positive"),
    ("Boring from start to end.", "positive"),
    ("Awful.", "positive"),
    ("A joy from the first scene to the last.", "negative"),
]
ASK = "Explain all mistakes"


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Five rows, the last three with the other label than any reader would give."""
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *ROWS])
    return str(path)


@pytest.fixture
def app() -> AppTest:
    return opened("errors")


def on(source: str, **fields) -> AppTest:
    return linked("errors", first_view(), **{"source": source, "method": "input_x_gradient", **fields})


def view(source: str, **fields) -> ErrorsView:
    return first_view().model_copy(update={"source": source, **fields})


def tables(app: AppTest) -> list:
    return [frame.value for frame in app.dataframe if "Words" in frame.value]


def explained(app: AppTest) -> AppTest:
    """With the answer, which an earlier test may have asked."""
    return press(app, ASK) if ASK in [button.label for button in app.button] else app


def test_the_cost_is_told_before_and_is_what_it_costs(source: str) -> None:
    app = on(source)
    assert not tables(app)
    (plan,) = await_plan(app)
    press(app, ASK)
    found = service().find(resolve(view(source).drivers_request()))
    assert found.cost.backward == 3 + 2 * 2, "of misclassified rows, and of correct ones toward each of two classes"
    assert plan.endswith(f"at most {found.cost.backward} passes through the model.")
    assert not planned(app)
    assert "3 misclassified rows against 2 correct ones" in words(app.caption)


@pytest.mark.parametrize("method", ["input_x_gradient", "occlusion"])
def test_words_and_pairs_are_those_of_the_study_by_the_method_chosen(source: str, method: str) -> None:
    app = on(source, drivers=method)
    explained(app)
    body = study(load_model(MODEL, device="cpu"), "mistake_drivers", data=source, method=method).body
    for table, kind in zip(tables(app), ("words", "pairs"), strict=True):
        assert table["Words"].tolist() == [driver.name for driver in drivers_of(body, kind)]
        assert table["Score"].tolist() == pytest.approx([driver.mean for driver in drivers_of(body, kind)], abs=1e-5)
        assert table["Rows"].tolist() == [driver.rows for driver in drivers_of(body, kind)]
    assert f"by {methods()[method].label}" in words(app.caption)
    assert "no word clearly pushes toward a wrong class" in words(app.markdown)
    assert not any("push toward the wrong class" in alt for alt in charts(app)), "five rows make nothing clear"


WORDS = ("wonderful", "dull")
TOPICS = [
    "war",
    "love",
    "money",
    "family",
    "music",
    "sport",
    "school",
    "winter",
    "dogs",
    "trains",
    "cooking",
    "chess",
    "painting",
    "gardens",
]


@pytest.fixture
def clear(tmp_path: Path) -> str:
    """Praise of a film about each topic as negative, and blame as it is: words of the praise are clear, topics not."""
    path = tmp_path / "clear.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        praise, blame = ([(f"This is a {word} film about {topic}.", "negative") for topic in TOPICS] for word in WORDS)
        csv.writer(file).writerows([("text", "label"), *praise, *blame])
    return str(path)


def clear_body(source: str) -> MistakeDriversData:
    return service().run(resolve(view(source).drivers_request())).body


def test_what_is_unclear_is_folded_and_grammar_can_be_hidden(clear: str) -> None:
    app = explained(on(clear))
    body = clear_body(clear)
    assert places(body, "words") != places(body, "words", hide_function_words=True)
    for hide in (False, True):
        for table, kind in zip(tables(app), ("words", "pairs"), strict=True):
            listed = drivers_of(body, kind)
            kept = [listed[i].name for i in places(body, kind, hide)]
            assert table["Words"].tolist() == (kept or [driver.name for driver in listed]), (
                "with nothing left, unfolded"
            )
        assert f"{len(body.words) - len(places(body, 'words', hide))} more: in fewer than 6 rows" in " ".join(
            expander.label for expander in app.expander
        )
        app.toggle(key="errors_hide_function_words").set_value(True).run()


def test_what_is_picked_is_shown_where_it_was_picked(clear: str) -> None:
    explained(on(clear))
    word = next(word for word in clear_body(clear).words if word.clear)
    app = explained(on(clear, numbers=tuple(word.row_numbers)))
    assert f"Picked: “{word.name}” toward “{word.predicted}”" in words(app.markdown)
    (rows,) = [frame.value for frame in app.dataframe if list(frame.value)[:3] == ["Row", "Text", "True"]][1:]
    assert sorted(rows["Row"]) == sorted(word.row_numbers)
    app.button(key="errors_unpick").click().run()
    assert "Picked:" not in words(app.markdown)


def test_another_method_is_asked_anew_and_kept_in_the_link(source: str) -> None:
    app = explained(on(source))
    assert ASK not in [button.label for button in app.button]
    answered(app.selectbox(key="errors_drivers").set_value("occlusion").run())
    assert "by Input" not in words(app.caption)
    explained(app)
    assert "by Occlusion" in words(app.caption)
    other = opened("errors", r=app.query_params["r"])
    assert other.selectbox(key="errors_drivers").value == "occlusion"
    assert "by Occlusion" in words(other.caption)
    answered(app.selectbox(key="errors_drivers").set_value("input_x_gradient").run())
    assert "by Input" in words(app.caption), "what is known is shown at once"


@pytest.mark.parametrize("model", [MODEL, "embedded:gpt2-mini-ag-news"])
def test_only_methods_with_signs_that_the_model_can_run(model: str) -> None:
    app = linked(
        "errors", first_view(), model=model, source="embedded:news" if "news" in model else "embedded:sentiment"
    )
    architecture = describe(model).architecture
    wanted = [
        one.label for one in methods().values() if not one.unsupported(architecture) and one.is_signed(one.Parameters())
    ]
    assert app.selectbox(key="errors_drivers").options == wanted
    assert len(wanted) < len(methods())


@pytest.mark.parametrize(
    ("method", "told"), [("sp_pi", "cannot run on a"), ("attention_average", "have no sign"), ("<b>no", "no method")]
)
def test_a_link_to_what_cannot_be_says_why(source: str, method: str, told: str) -> None:
    app = on(source, drivers=method)
    assert told in words([*app.warning, *app.error])
    assert not [button for button in app.button if button.label == ASK and not button.disabled]
    assert app.subheader[0].value == "Row 5"
