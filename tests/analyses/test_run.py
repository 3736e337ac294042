"""Studies through the service and on the command line: stored once, found again, one object printed, errors shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explainlab import cli, load_model, study
from explainlab.errors import RequestError
from explainlab.models.context import RunContext
from explainlab.reader import Reader
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store

TEXT = "a stirring, funny film"


@pytest.fixture
def model(zoo_path) -> str:
    return str(zoo_path("bert"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    path.write_text(f'text\n"{TEXT}"\nnot good at all\n', encoding="utf-8")
    return path


def request(model: str, **fields) -> Request:
    parameters = {"steps": "2,5"} | fields.pop("parameters", {})
    return Request(**{"question": "integration_error", "model": model, **fields}, parameters=parameters)


def test_a_study_is_stored_and_found_again(model: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    service, asked = Service(Store(url)), request(model, text=TEXT)
    assert service.find(resolve(asked)) is None
    job = service.submit(resolve(asked))
    assert service.engine.wait(job, 60)
    assert job.progress.status == "done", job.progress.error
    restarted = Service(Store(url))
    again = restarted.find(resolve(request(model, text=TEXT, parameters={"steps": [2, 5]})))
    assert restarted.find(resolve(asked)) is again, "what is drawn of it need not be drawn again"
    assert again.body == job.result.body
    assert again.cost == job.result.cost
    assert service.find(resolve(request(model, text=TEXT, parameters={"steps": [2]}))) is None


def test_the_texts_of_a_data_set_are_there_to_be_opened(model: str, data: Path) -> None:
    service = Service(Store("sqlite://"))
    whole = service.run(resolve(request(model, data=str(data))))
    alone = service.find(resolve(request(model, text=TEXT)))
    assert alone is not None
    assert alone.body.ideal_steps == whole.body.texts[0].ideal_steps
    data.write_text("text\nanother one\n", encoding="utf-8")
    assert service.find(resolve(request(model, data=str(data)))) is None


def run(monkeypatch, capsys, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["explainlab", "study", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    written = capsys.readouterr()
    return ended.value.code or 0, written.out, written.err


def test_one_text_prints_the_contract(monkeypatch, capsys, model: str) -> None:
    options = ["--model", model, "--text", TEXT, "--set", "steps=2,5", "--target", "1", "--seed", "3", "--json"]
    code, out, _ = run(monkeypatch, capsys, "integration_error", *options)
    found = json.loads(out)
    assert code == 0
    assert found.keys() >= {"study", "parameters", "seed", "rows", "ideal_steps", "features", "cost", "versions"}
    assert (found["study"], found["seed"], found["target"]["index"]) == ("integration_error", 3, 1)
    assert all(row.keys() >= {"rule", "steps", "approximation_error"} for row in found["rows"])
    code, out, _ = run(monkeypatch, capsys, "path_gradients", *options)
    found = json.loads(out)
    assert all(path.keys() == {"steps", "rule", "alphas", "total", "per_feature"} for path in found["paths"])


def test_a_data_set_prints_the_contract(monkeypatch, capsys, model: str, data: Path) -> None:
    options = ["--model", model, "--data", str(data), "--set", "steps=2,5"]
    code, out, _ = run(monkeypatch, capsys, "integration_error", *options, "--json")
    found = json.loads(out)
    assert code == 0
    assert found.keys() >= {"study", "parameters", "seed", "texts", "summary"}
    assert all(text.keys() >= {"row", "errors", "ideal_steps"} for text in found["texts"])
    code, out, _ = run(monkeypatch, capsys, "integration_error", *options)
    assert code == 0
    assert "Texts by the steps that are enough" in out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "either a text or a data set"),
        (["--text", TEXT, "--set", "steps=9,3"], "rising order"),
        (["--text", TEXT, "--set", "stepz=9"], "has no parameter"),
        (["--text", " "], "The text is empty"),
        (["--data", "nothing.csv"], "There is no data file"),
    ],
)
def test_bad_input_is_one_line(monkeypatch, capsys, model: str, options: list[str], told: str) -> None:
    code, out, err = run(monkeypatch, capsys, "integration_error", "--model", model, *options)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert told in err


def test_a_text_of_a_data_set_is_not_run_again_alone_or_among_more_rows(model: str, data: Path) -> None:
    service = Service(Store("sqlite://"))
    first = service.run(resolve(request(model, data=str(data), parameters={"rows": 1})))
    assert service.find(resolve(request(model, text=TEXT))).cost == first.cost
    assert service.find(resolve(request(model, text="not good at all"))) is None
    both = service.run(resolve(request(model, data=str(data), parameters={"rows": 2})))
    assert both.body.texts[0] == first.body.texts[0]
    assert both.cost.seconds > first.cost.seconds
    assert service.find(resolve(request(model, text="not good at all"))) is not None


def test_a_base_in_place_of_a_model(data: Path, tmp_path: Path) -> None:
    text = data.read_text(encoding="utf-8").replace("text\n", "text,label\n").replace('film"', 'film",1')
    data.write_text(text.replace("at all", "at all,0"), encoding="utf-8")
    context = RunContext(Reader(made=tmp_path / "made"))
    tiny = {"validation_share": 0, "settings": "epochs=1,layers=1,width=16,heads=2,vocabulary=100"}
    result = study(None, "training", data=str(data), base="bert", context=context, **tiny)
    assert result.request.model == "bert"
    assert "base" not in result.request.parameters
    several = study(None, "training", data=[str(data), "nowhere.csv"], base="bert", context=context, **tiny)
    assert [(cell.model, cell.status) for cell in several] == [("bert", "done"), ("bert", "refused")]
    assert several[0].result.body == result.body


def test_what_needs_a_model_says_so(model: str) -> None:
    with pytest.raises(RequestError, match="Give one of explainlab"):
        study(None, "activation", TEXT)
    with pytest.raises(RequestError, match="Say what to begin with"):
        study(None, "training", data="embedded:sentiment")
    loaded = load_model(model, device="cpu")
    with pytest.raises(RequestError, match="base = 'bert'"):
        study(loaded, "training", data="embedded:sentiment", base="bert")
    with pytest.raises(RequestError, match="neither model nor text nor data set"):
        study(loaded, "synthetic_roar", draws=1)


def test_a_study_about_nothing_prints_its_contract(monkeypatch, capsys) -> None:
    asked = ["synthetic_roar", "--set", "draws=2", "--set", "rows=200"]
    code, out, _ = run(monkeypatch, capsys, *asked, "--json")
    found = json.loads(out)
    assert code == 0
    assert list(found)[:2] == ["verdict", "study"]
    assert (found["model"], found["text"], found["data"], found["versions"]["model"]) == ("", None, None, "none")
    assert [draw["seed"] for draw in found["draws"]] == [0, 1]
    assert found["draws"][0].keys() == {"seed", "orders", "accuracies", "found"}
    assert [share["order"] for share in found["shares"]] == ["ground_truth", "worst", "roar", "recursive_roar"]
    assert json.loads(run(monkeypatch, capsys, *asked, "--json")[1]) == found, "from the store"
    told = run(monkeypatch, capsys, *asked)[1]
    assert told.startswith(found["verdict"])
    assert "Rows drawn" not in told


ROAR = ("roar", "--data", "embedded:sentiment", "--set", "test=embedded:sentiment")
BASE = ("--set", "base=bert")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["synthetic_roar", "--model", "bert"], "neither model nor text"),
        (["synthetic_roar", "--text", TEXT], "neither model nor text"),
        (["synthetic_roar", "--data", "embedded:sentiment"], "neither model nor text"),
        (["synthetic_roar", "--text-pair", TEXT], "needs either a text or a data set"),
        (["synthetic_roar", *BASE], "no parameter 'base'"),
        (["activation", "--text", TEXT], "activation needs a model"),
        (["activation", "--text", TEXT, "--model", "m", *BASE], "no parameter 'base'"),
        ([*ROAR], "roar needs a model"),
        ([*ROAR, "--model", "bert", *BASE], "model 'bert' and base = 'bert'"),
        ([*ROAR, "--set", "base=nowhere"], "There is no model 'nowhere'"),
        (["roar", *BASE], "needs either a text or a data set"),
    ],
)
def test_what_a_study_is_about_must_fit(monkeypatch, capsys, asked: list[str], told: str) -> None:
    code, out, error = run(monkeypatch, capsys, *asked)
    assert (code, out) == (2, "")
    assert told in error
    assert len(error.splitlines()) == 1
