"""The command line: the JSON that other programs rely on, and one clear line with exit code 2 for every bad input."""

from __future__ import annotations

import json
import random
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file, save_file

from explainlab import explain, load_model
from explainlab.attribution.registry import methods
from explainlab.cli import main
from explainlab.models.stored.places import embedded_models
from explainlab.service.store.made import name_made
from explainlab.service.users import LOCAL
from explainlab.settings import ROOT, settings
from explainlab.text.units import Feature
from tests.conftest import Zoo
from tests.zoo import LABELS

TEXT = "a stirring, funny film"
Paths = Callable[[str], Path]


@dataclass(frozen=True)
class Ended:
    """The end of a command: its exit code and its output."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout of a command that went well."""
        assert self.code == 0, self.err
        assert self.out.count("\n") == 1
        return json.loads(self.out, parse_constant=pytest.fail)


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Return ``run("explain", "--model", ...)``: the command line in this process."""

    def command(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["explainlab", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        written = capfd.readouterr()
        return Ended(ended.value.code or 0, written.out, written.err)

    return command


@pytest.fixture
def model(zoo_path: Paths) -> str:
    return str(zoo_path("bert"))


@pytest.fixture
def folder(zoo_path: Paths, tmp_path: Path) -> Path:
    """Return a copy of the tiny BERT that a test may break."""
    return Path(shutil.copytree(zoo_path("bert"), tmp_path / "model"))


def refused(ended: Ended, *words: str) -> None:
    """Check exit code 2, an empty stdout, and exactly one line on stderr, with all ``words`` in it."""
    assert ended.code == 2, ended
    assert ended.out == ""
    assert ended.err.endswith("\n")
    assert len(ended.err.splitlines()) == 1, ended.err
    assert ended.err.startswith("explainlab: ")
    for word in words:
        assert word in ended.err


# What other programs read --------------------------------------------------------------------------------------------


def test_models(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    found = run("models", "--json").json
    assert found.keys() == {"models"}
    assert [m["id"] for m in found["models"]] == embedded_models()
    for listed in found["models"]:
        assert listed.keys() == {"id", "architecture", "labels", "source"}
        assert listed["source"] == "embedded"
        assert len(listed["labels"]) >= 2
    assert [line.split()[0] for line in run("models").out.splitlines()] == embedded_models()


def test_made_models(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    tiny = "settings=epochs=1,layers=1,width=16,heads=2,vocabulary=300"
    asked = ["study", "training", "--data", "embedded:sentiment", "--set", tiny, "--json"]
    made = run(*asked, "--set", "base=bert").json
    assert made["model"] == "bert"
    assert made == run(*asked, "--model", "bert").json, "the base is the model of the request, however it is named"
    (card,) = [model["model"] for model in made["models"]]
    assert f"{card['id']} reads" in made["verdict"]
    listed = run("models", "--json").json["models"]
    own = next(model for model in listed if model["source"] == "made")
    assert own["accuracy"]["low"] < own["accuracy"]["mean"] < own["accuracy"]["high"]
    assert (own["id"], own["labels"], own["data"]) == (card["id"], ["negative", "positive"], "embedded:sentiment")
    name_made(card["id"], "films", LOCAL)
    assert f"{card['id']}  BERT: negative, positive  films" in run("models").out
    assert run("predict", "--model", "made:films", "--text", TEXT, "--json").json["prediction"]
    assert [
        model["id"] for model in run("models", "--delete", "made:films", "--json").json["models"]
    ] == embedded_models()
    refused(run("models", "--delete", "made:films"), "There is no model", "made:films")


def test_methods(run: Run) -> None:
    found = run("methods", "--json").json
    assert found.keys() == {"methods"}
    assert [m["id"] for m in found["methods"]] == list(methods())
    for listed in found["methods"]:
        assert {"id", "label", "family", "source", "signed", "needs", "parameters"} <= listed.keys()
        for parameter in listed["parameters"]:
            assert parameter.keys() == {"name", "kind", "default", "choices", "minimum", "maximum", "help"}
            assert parameter["help"]
    assert [line.split()[0] for line in run("methods").out.splitlines()] == list(methods())


def test_predict(run: Run, model: str) -> None:
    found = run("predict", "--model", model, "--text", TEXT, "--json").json
    assert found.keys() == {"prediction", "tokens", "truncated", "warnings"}
    classifier = load_model(model)
    encoding = classifier.encode(TEXT)
    assert found["tokens"] == len(encoding)
    assert found["truncated"] is False
    expected = classifier.predict(encoding)
    assert found["prediction"]["label"] == expected.label == LABELS[found["prediction"]["index"]]
    assert found["prediction"]["probabilities"] == pytest.approx(expected.probabilities)
    shown = run("predict", "--model", model, "--text", TEXT).out
    assert [line.split() for line in shown.splitlines()] == [[f"{expected.probabilities[c]:.4f}", c] for c in LABELS]


def test_predict_a_pair(run: Run, model: str) -> None:
    pair = run("predict", "--model", model, "--text", TEXT, "--text-pair", "a dull plot", "--json").json
    alone = run("predict", "--model", model, "--text", TEXT, "--json").json
    assert pair["tokens"] > alone["tokens"]
    assert pair["prediction"] != alone["prediction"]


def test_explain(run: Run, model: str) -> None:
    ended = run(
        "explain", "--model", model, "--text", TEXT, "--text-pair", "a dull plot", "--method", "integrated_gradients",
        "--set", "rule=midpoint", "--set", "steps=4", "--set", " baseline = pad ", "--target", "Neutral",
        "--output", "logit", "--unit", "word", "--seed", "3", "--device", "cpu", "--dtype", "float32", "--json",
    )  # fmt: skip
    found = ended.json
    assert ended.err == ""
    contract = {
        "model", "text", "text_pair", "prediction", "target", "output", "unit", "method", "parameters", "seed",
        "features", "completeness", "cost", "truncated", "warnings", "versions",
    }  # fmt: skip
    assert found.keys() == contract | {"dtype", "target_asked", "signed", "cut", "notes", "verdict", "logit"}
    assert (found["model"], found["text"], found["text_pair"]) == (model, TEXT, "a dull plot")
    assert (found["output"], found["unit"], found["seed"]) == ("logit", "word", 3)
    assert (found["method"], found["target"]) == ("integrated_gradients", {"index": 1, "label": "neutral"})
    assert {"rule": "midpoint", "steps": 4, "baseline": "pad"}.items() <= found["parameters"].items()
    assert found["prediction"].keys() == {"index", "label", "probabilities"}
    assert set(found["prediction"]["probabilities"]) == set(LABELS)
    assert found["completeness"].keys() == {"sum", "expected", "approximation_error"}
    assert found["cost"].keys() == {"forward", "backward", "seconds"}
    assert not found["truncated"]
    assert ["segment 1" in warning for warning in found["warnings"]] == [True], "its tokenizer keeps them to itself"
    for feature in found["features"]:
        assert {*feature} == {field.name for field in fields(Feature)} | {"score", "error", "spread"}
        if not feature["special"]:
            text = found["text_pair"] if feature["part"] else found["text"]
            assert text[feature["start"] : feature["end"]] == feature["text"]
    assert [f["text"] for f in found["features"] if not f["special"]] == [
        "a", "stirring", ",", "funny", "film", "a", "dull", "plot"
    ]  # fmt: skip
    expected = explain(
        load_model(model), TEXT, text_pair="a dull plot", target="neutral", output="logit", unit="word", seed=3,
        rule="midpoint", steps=4, baseline="pad",
    )  # fmt: skip
    assert [f["score"] for f in found["features"]] == pytest.approx(expected.scores, rel=1e-5)


def test_every_method_prints_one_object(run: Run, model_for: Zoo) -> None:
    other = {}
    for name, method in methods().items():
        found = run("explain", "--model", model_for(name).id, "--text", TEXT, "--method", name, "--json").json
        printed = (found["method"], found["output"], set(found["parameters"]))
        if printed != (name, method.output, {spec.name for spec in method.parameter_specs()}):
            other[name] = printed
    assert not other


def test_explain_for_people(run: Run, model: str) -> None:
    ended = run("explain", "--model", model, "--text", TEXT, "--method", "gradient")
    lines = ended.out.splitlines()
    assert ended.code == 0
    assert "and what matters is mainly" in lines[0] + lines[1]
    assert lines[2].startswith("gradient for '")
    assert lines[3].split() == ["text", "score", "share", "rank"]
    assert [line.split()[0] for line in lines[4:]] == ["[CLS]", "a", "stirring", ",", "funny", "film", "[SEP]"]


def test_a_second_run_reads_the_store(run: Run, model: str) -> None:
    command = ["explain", "--model", model, "--text", "a film for the store", "--method", "gradient", "--json"]
    assert run(*command).json["cost"]["seconds"] == run(*command).json["cost"]["seconds"]


def test_a_text_that_is_cut_says_so(run: Run, model: str) -> None:
    words = "film " * 60
    found = run("explain", "--model", model, "--text", words, "--method", "gradient", "--json").json
    assert (found["truncated"], found["cut"]) == (True, 14)
    assert "48 tokens; the last 14 of the text were cut" in found["warnings"][0]
    assert "14 of the text were cut" in run("explain", "--model", model, "--text", words, "--method", "gradient").out
    assert run("predict", "--model", model, "--text", words, "--json").json["truncated"] is True
    assert "14 of the text were cut" in run("predict", "--model", model, "--text", words).out


def test_a_store_that_cannot_be_used_is_told_beside_the_answer(
    run: Run, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(settings(), "home", tmp_path / "file")
    ended = run("explain", "--model", model, "--text", TEXT, "--method", "random", "--json")
    assert ended.json["method"] == "random"
    assert ended.err.startswith("Results are not kept. ")


def test_the_module_runs_in_a_process_of_its_own_and_prints_nothing_else() -> None:
    """Captum's warnings are not for the user; a process of its own has no filters of the tests."""
    command = "-m explainlab explain --method deep_lift --json --model embedded:bert-mini-sst2 --device cpu --text film"
    ended = subprocess.run([sys.executable, *command.split()], cwd=ROOT, capture_output=True, text=True, check=False)
    assert Ended(ended.returncode, ended.stdout, ended.stderr).json["method"] == "deep_lift"
    assert "warn" not in ended.stderr.lower(), "a line of progress, each 10 s, may be there"


def test_help_and_settings(run: Run) -> None:
    ended = [run(*command) for command in ([], ["--help"], ["explain", "--help"])]
    assert all((e.code, e.err) == (0, "") and "Usage:" in e.out for e in ended)
    found = run("settings", "--json").json["settings"]
    assert "EXPLAINLAB_HOME" in [s["name"] for s in found]
    assert all(s["help"] and s["default"] for s in found)


def test_evaluate_names_columns_and_labels_as_study_does(run: Run, model: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("review,stars\na stirring film,five\na dull film,one\n", encoding="utf-8")
    asked = ["--model", model, "--data", path, "--methods", "gradient", "--metrics", "comprehensiveness", "--json"]
    named = ["--column", "text=review", "--column", "label=stars"]
    labels = ["--label", f"five={LABELS[1]}", "--label", f"one={LABELS[0]}"]
    rows = run("evaluate", *asked, *named, *labels).json["texts"]
    assert {row["text"]: row["label"] for row in rows} == {"a stirring film": LABELS[1], "a dull film": LABELS[0]}
    refused(run("evaluate", *asked), "no column")
    refused(run("evaluate", *asked, *named), "five")
    refused(run("evaluate", *asked, "--column", "text"), "--column text")


def test_three_commands_lead_from_a_file_to_ground_truth(run: Run, tmp_path: Path) -> None:
    words = ["film", "plot", "story", "actor", "scene", "music", "book", "slow", "warm", "dull", "long", "old"]
    texts = [" ".join(random.Random(i).choices(words, k=6)) for i in range(1_600)]
    (tmp_path / "texts.csv").write_text("\n".join(["text", *texts]), encoding="utf-8")
    planted = tmp_path / "planted.csv"
    told = run("plant", "--data", tmp_path / "texts.csv", "--out", planted, "--set", "held_out=0.25", "--json").json
    assert told["rows"] == 1_600
    sizes = "layers=1 width=32 heads=2 vocabulary=200 batch_size=32 max_tokens=32 learning_rate=0.003 epochs=4"
    made, chosen = tmp_path / "made", [word for size in sizes.split() for word in ("--set", size)]
    trained = run("train", "--architecture", "bert", "--data", planted, "--out", made, *chosen, "--json")
    assert trained.code == 0, trained.err
    metrics = ["--methods", "gradient,lrp", "--metrics", "ground_truth_overlap", "--limit", "20"]
    asked = ["--data", told["held_out"], *metrics]
    found = run("evaluate", "--model", made, *asked, "--json").json
    assert found["planted"]["known"] is True, found["planted"]["failed"]
    assert found["planted"]["n"] == 400
    assert {row["method"]: row["mean"] for row in found["rows"]}["gradient"] > 0.9
    assert "Ground truth by planted words" in run("evaluate", "--model", made, *asked).out
    shown = run("evaluate", "--model", "embedded:bert-mini-sst2", *asked)
    assert shown.out.startswith("This model has no known mechanism")
    assert "Ground-truth overlap" not in shown.out


def test_a_label_may_have_an_equals_sign(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\na stirring film,x=1\na dull film,x=0\na film,x=\n", encoding="utf-8")
    asked = ["study", "predictions", "--model", "embedded:bert-mini-sst2", "--data", path, "--json"]
    found = run(*asked, "--label", "x=1=positive", "--label", "x=0=negative", "--label", "x==").json
    assert [(row["text"], row["label"]) for row in found["rows"]] == [
        ("a stirring film", "positive"),
        ("a dull film", "negative"),
    ]
    assert found["classes"] == {"x=1": "positive", "x=0": "negative", "x=": ""}
    refused(run(*asked, "--label", "x=1=positive", "--label", "x=1=negative"), "--label x=1 is given twice")


@pytest.mark.parametrize(
    "command", ["study predictions", "evaluate --methods gradient --metrics comprehensiveness --target gold"]
)
def test_labels_with_two_readings_are_asked_for_by_a_line_to_paste(run: Run, tmp_path: Path, command: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\na stirring film,1\na dull film,-1\n", encoding="utf-8")
    asked = [*command.split(), "--model", "embedded:bert-mini-sst2", "--data", path]
    ended = run(*asked)
    refused(ended, "Row 1 of rows.csv", "(-1, 1)")
    line = ended.err[ended.err.index("--label") :]
    assert line == "--label 1=positive --label -1=negative\n"
    rows = run(*asked, "--json", *shlex.split(line)).json
    listed = rows["rows" if command.startswith("study") else "texts"]
    assert {row["text"]: row["label"] for row in listed} == {"a stirring film": "positive", "a dull film": "negative"}


# Bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (["--method", "integrated_gradient"], ["no method 'integrated_gradient'", "Did you mean integrated_gradients"]),
        (["--method", ""], ["no method ''", "Known: alti, "]),
        (["--set", "stepz=3"], ["has no parameter 'stepz'", "rule, steps, tolerance, max_steps, baseline"]),
        (["--set", "steps=0"], ["steps = '0' is not accepted", "greater than or equal to 1"]),
        (["--set", "steps=1000000"], ["steps = '1000000' is not accepted", "10000"]),
        (["--set", "steps=many"], ["steps = 'many' is not accepted", "integer"]),
        (["--set", "steps=nan"], ["steps = 'nan' is not accepted"]),
        (["--set", "steps="], ["steps = '' is not accepted"]),
        (["--set", "baseline=nothing"], ["baseline = 'nothing' is not accepted", "'mask'"]),
        (["--set", "steps"], ["--set steps is not of the form name=value"]),
        (["--set", "=3"], ["not of the form name=value"]),
        (["--set", "steps=3", "--set", "steps = 4"], ["--set steps is given twice"]),
        (["--set", "method=lime"], ["has no parameter 'method'"]),
        (["--method", "gradient_shap", "--set", "noise=nan"], ["noise = 'nan' is not accepted"]),
        (["--method", "gradient_shap", "--set", "noise=inf"], ["noise = 'inf' is not accepted"]),
        (["--target", "wonderful"], ["'wonderful' is not a class", "negative, neutral, positive"]),
        (["--target", "3"], ["'3' is not a class"]),
        (["--target", "-1"], ["'-1' is not a class"]),
        (["--target", ""], ["'' is not a class"]),
        (["--unit", "letter"], ["unit = 'letter' is not accepted", "'word' or 'sentence'"]),
        (["--output", "loss"], ["output = 'loss' is not accepted", "'logit'"]),
        (["--dtype", "int8"], ["dtype = 'int8' is not accepted", "'bfloat16'"]),
        (["--device", "tpu"], ["tpu", "cpu"]),
        (["--seed", "-1"], ["seed = -1 is not accepted"]),
        (["--seed", "4294967296"], ["seed = 4294967296 is not accepted"]),
        (["--seed", "one"], ["Invalid value for '--seed'", "valid integer"]),
        (["--text-pair", " "], ["The second text is empty"]),
        (["--steps", "3"], ["No such option: --steps"]),
        (["extra"], ["unexpected extra argument"]),
        (["--set"], ["--set --json is not of the form name=value"]),
    ],
)  # fmt: skip
def test_bad_options_of_explain(run: Run, model: str, chosen: list[str], words: list[str]) -> None:
    text = f"a film that was never asked about with {chosen}"  # no stored answer can hide the error
    refused(run("explain", "--model", model, "--text", text, *chosen, "--json"), *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The text is empty."),
        (" \n\t ", "The text is empty."),
        ("[CLS] [SEP] [MASK]", "only special tokens are left"),
        ("x" * 20_001, "20,001 characters"),
        ("a film \udcff", "not valid Unicode"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "explain"])
def test_bad_texts(run: Run, model: str, command: str, text: str, words: str) -> None:
    refused(run(command, "--model", model, "--text", text, "--json"), words)


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_bad_models(run: Run, folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)

    def asked(model: str) -> Ended:
        return run(command, "--model", model, "--text", TEXT, "--json")

    known = embedded_models()[0]
    refused(asked(known[:-1]), f"no embedded model '{known[:-1]}'", f"Did you mean {known}")
    refused(asked("bert"), "There is no model 'bert'", "embedded:")
    refused(asked(""))
    refused(asked(str(folder / "missing")), "There is no model")
    refused(asked("explainlab-tests/not-here"), "The hub cannot be reached", "Check the network")
    _damage(folder)
    refused(asked(str(folder)), "not finite", "'classifier.weight'")
    (folder / "model.safetensors").unlink()
    refused(asked(str(folder)), "has no safetensors weights")
    for file in folder.glob("tokenizer*"):
        file.unlink()
    refused(asked(str(folder)), "has no tokenizer that can be read")
    (folder / "config.json").unlink()
    refused(asked(str(folder)), "has no config.json")


def test_a_method_that_the_model_cannot_support(run: Run, zoo_path: Paths) -> None:
    ended = run("explain", "--model", zoo_path("t5"), "--text", TEXT, "--method", "attention_rollout", "--json")
    refused(ended, "rollout cannot run on a T5 model", "reads the text twice", "Choose another method")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["explain", "--text", TEXT], "Missing option '--model'"),
        (["explain", "--model", "m"], "Missing option '--text'"),
        (["predict", "--model", "m", "--text"], "'--text' requires an argument"),
        (["predict", "--modell", "m"], "No such option: --modell"),
        (["explane"], "No such command 'explane'"),
        (["--version"], "No such option: --version"),
        (["models", "--json", "extra"], "unexpected extra argument"),
        (["predict", "--model", "m", "--text", TEXT, "--dtype", "int8"], "no dtype 'int8'"),
        (["bench", "nothing", "--json"], "python -m benchmarks"),
    ],
)
def test_bad_commands(run: Run, command: list[str], words: str) -> None:
    refused(run(*command), words)


def _damage(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"][0, 0] = torch.nan
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
