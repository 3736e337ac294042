"""The ROAR page's script, run without a browser: empty, with its example, trained, asked again, opened by a link."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.analyses.three_answers.analysis import about_grid
from explainlab.app.entries import page_of
from explainlab.app.pages.roar import page as example
from explainlab.app.pages.roar.form import RoarView, first_view, listed, question, shows
from explainlab.attribution.registry import get_method
from explainlab.data import read_dataset
from explainlab.errors import RequestError
from explainlab.service.resolved import resolve
from explainlab.service.service import service as app_service
from explainlab.service.users import LOCAL
from explainlab.settings import ROOT
from tests.analyses.roar.bodies import roar_body, roar_result
from tests.conftest import restart
from tests.pages.scripted import answered, await_page, charts, linked, opened, press, stored, words

TRAIN = "Train the grid"
TINY = {"epochs": 1, "width": 8, "embedding_size": 8, "batch_size": 64}


def tiny(**fields) -> AppTest:
    """Open the page on a link to a grid of tiny models that has not run yet."""
    own = {"settings": TINY, "ratios": "0, 50, 100", "seeds": 1, "measures": ("gradient:norm=one_hot",)}
    return linked("roar", first_view(), **{**own, **fields})


@pytest.mark.usefixtures("service")
def test_the_page_opens_empty_and_trains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_example(monkeypatch, tmp_path)
    before = stored(tmp_path)
    app = opened("roar")
    assert stored(tmp_path) == before
    assert app.title[0].value == "ROAR"
    assert "No grid has been trained for these settings" in words(app.info)
    assert "**54 models to train**: 3 seeds" in words(app.caption)
    assert not app.error
    assert not charts(app)
    tiny()
    assert not app_service().engine.unfinished()


def without_example(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(example, "FOLDER", folder)


@pytest.mark.usefixtures("service")
def test_the_preset_of_the_paper_s_code_cuts_faithfulness() -> None:
    app = tiny()
    app.selectbox(key=question.key("preset")).set_value("reference").run()
    assert app.toggle(key=question.key("clip")).value
    press(app, TRAIN)
    assert "cut to [-1, 1] seed by seed" in words(app.warning)
    app.selectbox(key=question.key("preset")).set_value("paper").run()
    assert not app.toggle(key=question.key("clip")).value


@pytest.mark.usefixtures("service")
def test_an_example_is_marked_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "roar.json"
    file.write_text(json.dumps(roar_result(roar_body(), settings={"epochs": 3, "width": 8}).to_json()), "utf-8")
    without_example(monkeypatch, tmp_path)
    app = opened("roar")
    assert "No grid has been trained for these settings" in words(app.info)
    assert app.header[0].value == "An example"
    assert "Attention, last layer is faithful to a degree" in words(app.markdown)
    assert len(charts(app)) == 5
    (command,) = (code.value for code in app.code)
    asked = shlex.split(command)
    assert asked[:6] == ["python", "-m", "explainlab", "study", "roar", "--model"]
    given = {asked[i + 1] for i, word in enumerate(asked) if word == "--set"}
    assert given == {
        "test=embedded:sentiment",
        "measures=attention_last,gradient:norm=one_hot,integrated_gradients:rule=right:baseline=zero",
        "settings=epochs=3,width=8",
    }


@pytest.mark.usefixtures("service")
def test_the_paper_s_numbers_are_shown_beside_those_of_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = roar_result(roar_body())
    result = replace(result, request=result.request.model_copy(update={"data": "/data/sst2/train_sentences.csv"}))
    (tmp_path / "roar.json").write_text(json.dumps(result.to_json()), "utf-8")
    without_example(monkeypatch, tmp_path)
    app = opened("roar")
    assert "Beside the paper" in [header.value for header in app.header]
    beside = next(frame.value for frame in app.dataframe if "Paper" in frame.value)
    assert dict(zip(beside["Number"], beside["Paper"], strict=True))["Macro F1 of whole texts"].startswith("0.820")
    assert "BiLSTM with attention on SST, 5 seeds" in words(app.caption)


@pytest.mark.usefixtures("service")
def test_one_press_shows_a_leak_and_the_sentence_that_flags_it() -> None:
    app = opened("roar")
    assert "leakage" not in words(app.markdown)
    app.radio(key="roar_example").set_value("leak")
    app.run()
    assert "(leakage), as macro F1 rises" in words(app.markdown)
    assert "“today” stands in 80% of the positive ones and in 40%" in words(app.markdown)
    (command,) = (code.value for code in app.code)
    assert "--data embedded:today" in command
    assert "signs=signed" in command
    link = app.session_state["roar.place"].view
    assert link.example == "leak"
    body = example.example(example.FOLDER / "leak.json").body
    assert {leak.measure for leak in body.leakage} == {"input_x_gradient"}
    assert (body.leakage[0].before, body.leakage[0].ratio) == (0, 10)
    assert body.leakage[0].rise > 0.2
    masked = {label: set[bool]() for label in body.labels}
    for text in body.texts:
        at = next(own.at for own in text.masked if own.measure == "input_x_gradient")
        spans = zip(text.tokens, at, strict=True)
        first = {place == 1 for token, place in spans if text.text[token.start : token.end] == "today"}
        masked[body.labels[text.label]] |= first
    assert masked == {"negative": {False}, "positive": {True}}, "the mask alone tells the class"


def test_in_the_leak_s_data_one_word_tells_a_little_and_no_other_word_does() -> None:
    for name, count in (("today", 400), ("today-test", 160)):
        rows = read_dataset(f"embedded:{name}").rows
        having = {label: [row.text.split() for row in rows if row.label == label] for label in ("negative", "positive")}
        assert [len(own) for own in having.values()] == [count / 2] * 2
        share = {label: sum("today" in text for text in own) / len(own) for label, own in having.items()}
        assert share == {"negative": 0.4, "positive": 0.8}
        for word in {word for own in having.values() for text in own for word in text} - {"today"}:
            counts = [sum(word in text for text in own) for own in having.values()]
            assert abs(counts[0] - counts[1]) < 4 * (1 + sum(counts)) ** 0.5, word


@pytest.mark.usefixtures("service")
def test_a_grid_is_trained_told_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_example(monkeypatch, tmp_path)
    app = press(tiny(), TRAIN)
    assert not app.error
    assert "No interval: fewer than three seeds" in words(app.markdown)
    assert "The orders of 3 measures or more are compared" in words(app.caption)
    assert len(charts(app)) == 5
    assert app.dataframe[0].value["Measure"].tolist() == ["Gradient, norm one_hot"] * 2
    assert app.dataframe[0].value["Masked up to"].tolist() == ["50%", "all tokens"]
    app.number_input(key="roar_seeds").set_value(2)
    answered(app.run())
    assert "The controls have changed" in words(app.caption)
    assert "No interval: fewer than three seeds" in words(app.markdown)
    assert not app_service().engine.unfinished()
    again = tiny()
    assert "No interval: fewer than three seeds" in words(again.markdown)
    assert app_service().runs(LOCAL).total == 1
    request = resolve(app.session_state["roar.grid.place"].view.request())
    kept = app_service().partial_result(request)
    assert kept
    assert kept.body.curves == app_service().find(request).body.curves


@pytest.mark.usefixtures("service")
def test_other_answers_are_asked_about_a_grid_by_a_button(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_example(monkeypatch, tmp_path)
    grid = {"measures": ("gradient", "input_x_gradient")}
    app = press(tiny(**grid), TRAIN)
    assert "Trains 1 model with masks" in words(app.caption)
    assert app_service().runs(LOCAL).total == 1
    press(app, "Compare three answers")
    assert not app.error
    told = "Whether the three answers rank the 3 measures alike is not known"  # these models have learned nothing
    assert told in words(app.markdown)
    assert any(alt.startswith("Ranks of 3 measures by three answers.") for alt in charts(app))
    table = next(frame.value for frame in app.dataframe if "Recursive ROAR" in frame.value)
    assert table["Measure"].tolist() == ["Gradient", "Input × gradient", "Random"]
    assert told in words(tiny(**grid).markdown)


@pytest.mark.full("7 s: trains a grid in two parts; test_roar.py stops grids too")
@pytest.mark.usefixtures("service")
def test_a_grid_that_is_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_example(monkeypatch, tmp_path)
    grid = {"seeds": 2, "settings": {**TINY, "epochs": 3}}
    app = tiny(**grid)
    app = next(button for button in app.button if button.label == TRAIN).click().run()
    await_page(app, lambda: _finished(app) > 0)
    assert "Models that are trained stay" in words(app.caption)
    assert charts(app)[0].startswith("Macro F1 by Recursive ROAR.")
    next(button for button in app.button if button.label == "Pause").click()
    answered(app.run())
    assert "**ROAR, whole data set** is paused" in words(app.info)
    assert 0 < _finished(app) < 8
    known = charts(app)
    assert known[0].startswith("Macro F1 by Recursive ROAR.")
    assert app.dataframe == []
    restart()  # as another server on the same store, which knows no job
    again = tiny(**grid)
    assert charts(again) == known
    assert "Paused:" in words(again.info)
    assert "No grid has been trained" not in words(again.info)
    press(again, "Go on")
    assert "faithfulness" in words(again.markdown)
    assert "Paused" not in words([*again.info, *again.markdown])


def _finished(app: AppTest) -> int:
    """Return the number of finished models, of eight, that the page shows."""
    told = re.search(r"(\d) of 8 models", words(app.info))
    return int(told[1]) if told else 0


@pytest.mark.usefixtures("service")
def test_the_time_is_told_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_example(monkeypatch, tmp_path)
    app = press(tiny(measures=("gradient", "input_x_gradient")), "How long?")
    assert "Training 5 models takes about" in words(app.info)
    assert "No grid has been trained for these settings" in words(app.info)
    app.session_state["roar_smaller"] = True
    assert "Grid" in app.run().dataframe[0].value
    assert app_service().runs(LOCAL).total == 0
    app.number_input(key="roar_seeds").set_value(2)
    assert "Training 5 models takes about" not in words(answered(app.run()).info)


@pytest.mark.usefixtures("service")
def test_what_cannot_be_asked_is_told() -> None:
    app = tiny()
    app.text_input(key="roar_ratios").set_value("50, 20")
    answered(app.run())
    assert "rising order" in words(app.error)
    app = tiny()
    app.text_input(key="roar_settings").set_value("epoch=3")
    answered(app.run())
    assert app.error


def test_the_measures_are_those_that_the_base_supports() -> None:
    rollout, attention = (get_method(name).label for name in ("attention_rollout", "attention_last"))
    for base, able in (("bilstm_attention", False), ("bert", True), ("embedded:bert-mini-sst2", True)):
        options = tiny(base=base).multiselect(key=question.key("measures")).options
        assert attention in options
        assert (rollout in options) == able
        assert get_method("random").label not in options


def test_a_request_has_its_view() -> None:
    view = RoarView(
        source="embedded:sentiment", test="embedded:news", counts="1:4", masked="counts", recursive="both", clip=True
    )
    asked = view.request()
    shown = shows(asked)
    assert shown is not None
    assert shown.request() == asked
    assert (shown.masked, shown.counts, shown.recursive) == ("counts", "1:4:1", "both")
    page = page_of(asked)
    assert page is not None
    assert page.view == shown
    assert shows(first_view().request()).request() == first_view().request()
    with pytest.raises(RequestError, match="No test data"):
        RoarView(source="embedded:sentiment").request()
    with pytest.raises(RequestError, match="No training data"):
        RoarView().request()


def test_the_question_about_a_grid_opens_where_it_is_asked() -> None:
    asked = about_grid(first_view().request())
    shown = shows(asked)
    assert shown is not None
    assert about_grid(shown.request()) == asked
    other = {**asked.parameters, "erasure": "log_odds:preset=rpi"}
    assert shows(asked.model_copy(update={"parameters": other})) is None, "the page asks for one metric of erasure"


def test_numbers_as_they_are_typed() -> None:
    assert listed([0, 20, 40, 60, 80, 100]) == "0:100:20"
    assert listed([0, 10, 50, 100]) == "0, 10, 50, 100"
    assert listed([0, 100]) == "0, 100"
    assert (ROOT / "pages" / "roar.py").is_file()


@pytest.mark.usefixtures("service")
def test_several_bases_and_data_sets_are_asked_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_example(monkeypatch, tmp_path)
    few = {"recipe": "bilstm", "settings": TINY, "seeds": 1, "ratios": "0, 50, 100"}
    sets = {"sources": ("embedded:sentiment",), "test": "embedded:meals-test"}
    app = tiny(**few, **sets)
    assert not app_service().engine.unfinished()
    assert next(frame.value for frame in app.dataframe if "State" in frame.value)["State"].tolist() == ["waiting"] * 2
    assert "for the cells that wait" in words(app.caption)
    app = press(app, TRAIN)
    assert not app.error
    assert "for the cells that wait" not in words(app.caption)
    states = next(frame.value for frame in app.dataframe if "State" in frame.value)
    assert states["State"].tolist() == ["done", "done"]
    assert "Over 2 cells (1 model × 2 data sets)" in words(app.markdown)
    assert any("Macro F1 by Recursive ROAR, cell by cell" in alt for alt in charts(app))
    held_out = app_service().find(resolve(app.session_state["roar.grid.place"].view.requests()[1]))
    assert held_out is not None
    assert held_out.request.parameters["test"] == "0.2"
    again = tiny(**few, **sets)
    assert "Over 2 cells" in words(again.markdown)
    assert app_service().runs(LOCAL).total == 2
