"""The command ``train``: from a file to models that explain, and its errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import huggingface_hub.constants
import pytest

from tests.test_cli import Run, refused
from tests.tiers import first

TINY = [f"--set={s}" for s in ("epochs=1", "layers=1", "width=16", "heads=2", "vocabulary=300", "max_tokens=16")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small labelled file."""
    rows = [f"a {word} film number {i},{word}" for i in range(10) for word in ("dull", "lovely")]
    path = tmp_path / "films.csv"
    path.write_text("\n".join(["text,label", *rows]))
    return path


@pytest.mark.parametrize("architecture", first(["bert"], ["bert", "gpt2", "t5_encoder"], "trains another model"))
def test_train_from_a_file_to_an_explanation(run: Run, data: Path, tmp_path: Path, architecture: str) -> None:
    out = tmp_path / "trained"
    command = ["train", "--data", data, "--architecture", architecture, "--out", out, *TINY]
    ended = run(*command, "--set", f"evaluate={data}", "--json")
    measured = {"accuracy", "prefix_accuracy", "steps", "seconds", "parameters"}
    assert ended.json.keys() == {"out", *measured, "epochs", "best_epoch", "words", "words_with_vectors"}
    assert [epoch.keys() for epoch in ended.json["epochs"]] == [{"epoch", "loss", "validation", "masked", "seconds"}]
    assert ended.json["best_epoch"] == 1
    assert ended.json["out"] == str(out)
    assert 0 <= ended.json["accuracy"] <= 1
    assert ended.err == "", "a log has nothing of what takes seconds"
    found = run("explain", "--model", out, "--text", "a lovely film", "--method", "input_x_gradient", "--json").json
    assert set(found["prediction"]["probabilities"]) == {"dull", "lovely"}
    assert all(math.isfinite(feature["score"]) for feature in found["features"])


def test_a_prompt_stays_with_the_model(run: Run, data: Path, tmp_path: Path) -> None:
    out, prompt = tmp_path / "trained", "Is it good, or not? {text}. So:"
    sizes = [*TINY[:-1], "--set=max_tokens=64", f"--set=prompt={prompt}"]
    run("train", "--data", data, "--architecture", "gpt2", "--out", out, *sizes, "--json")
    found = run("predict", "--model", out, "--text", "a film", "--json").json
    assert 0 < found["prompt_tokens"] < found["tokens"]
    assert "label_share" not in found
    told = run("explain", "--model", out, "--text", "a film", "--method", "gradient", "--json").json["features"]
    assert "".join(f["text"] for f in told if f["special"]) == "Is it good, or not? . So:"
    assert [f["text"] for f in told if not f["special"]] == ["a", "film"]


def test_train_from_weights_with_validation_and_seeds(
    run: Run, data: Path, zoo_path: Callable[[str], Path], tmp_path: Path
) -> None:
    out, chosen = tmp_path / "trained", ("recipe=roar", "epochs=2", "validation=0.25", "seeds=2", "seed=5")
    ended = run(
        "train", "--data", data, "--base", zoo_path("bert"), "--out", out, *(f"--set={s}" for s in chosen), "--json"
    )
    assert [model["out"] for model in ended.json["models"]] == [f"{out}-0", f"{out}-1"]
    for model in ended.json["models"]:
        accuracies = [epoch["validation"] for epoch in model["epochs"]]
        assert accuracies.index(max(accuracies)) == model["best_epoch"] - 1
        predicted = run("predict", "--model", model["out"], "--text", "a film", "--json").json["prediction"]
        assert set(predicted["probabilities"]) == {"dull", "lovely"}


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (["--base", "bert"], "Give --architecture or --base"),
        (["--data", "no/such/file.csv"], "There is no data file"),
        (["--set", "validation=1.5"], "validation: 1.5 is no share"),
        (["--set", "validation=no/such/file.csv"], "There is no data file"),
        (["--architecture", "lstm"], "'lstm'"),
        (["--set", "epochs=0"], "epochs"),
        (["--set", "epochz=1"], "epochz"),
        (["--set", "heads=3"], "width 16 is no multiple of heads 3"),
        (["--set", "architecture=gpt2"], "architecture"),
        (["--set", "label_names=dull,great"], "lovely"),
        (["--set", "evaluate=no/such/file.csv"], "There is no data file"),
        (["--set", "teacher=no/such/model"], "no/such/model"),
        (["--out", "."], "."),
    ],
)
def test_bad_trainings(
    run: Run, data: Path, tmp_path: Path, chosen: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    options = {"--data": str(data), "--architecture": "bert", "--out": "trained"}
    given = dict(zip(chosen[::2], chosen[1::2], strict=True))
    small = [option for option in TINY if not option.startswith(f"--set={given.get('--set', '').split('=')[0]}=")]
    flags = [word for pair in {**options, **given}.items() for word in pair]
    refused(run("train", *flags, *small, "--json"), words)
    assert not (tmp_path / "trained").exists()


def test_a_row_without_label_is_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "films.csv"
    path.write_text("text,label\na film,good\nanother,\n")
    refused(run("train", "--data", path, "--architecture", "bert", "--out", tmp_path / "out"), "Row 2", "no label")
