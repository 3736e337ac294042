"""A model has a known mechanism only where the planted words, and they alone, decide: trained models, both ways."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explainlab import evaluate, load_model, plant, study
from explainlab.analyses.planted.analysis import CHECKED, checks_of
from explainlab.analyses.planted.result import PlantedData
from explainlab.analyses.registry import complete, get_study, read_result, request_key
from explainlab.data import is_planted, read_dataset
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.training import Examples, settings_for, train

VOCABULARY = ["film", "plot", "story", "actor", "scene", "music", "book", "slow", "warm", "dull", "long", "old", "of"]
TINY = {"layers": 1, "width": 32, "heads": 2, "vocabulary": 200, "batch_size": 32, "max_tokens": 32}


def write(path: Path, n: int, seed: int) -> Path:
    drawn = random.Random(seed)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text"], *([" ".join(drawn.choices(VOCABULARY, k=6))] for _ in range(n))])
    return path


def trained(path: Path, out: Path) -> Classifier:
    rows = read_dataset(path).rows
    chosen = settings_for("bert", **TINY, epochs=4, learning_rate=3e-3)
    train(Examples([row.text for row in rows], [row.label or "" for row in rows]), "bert", out, chosen)
    return load_model(str(out), device="cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("planted")
    for name, share in (("all", 1.0), ("half", 0.5)):
        plant(write(folder / f"{name}-texts.csv", 800, 1), folder / f"{name}-train.csv", share=share, seed=1)
        plant(write(folder / f"{name}-others.csv", 1_500, 2), folder / f"{name}-test.csv", share=share, seed=2)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Classifier:
    return trained(folder / "all-train.csv", folder / "model")


@pytest.mark.parametrize("share", ["all", "half"])
def test_a_model_that_reads_the_words_has_a_known_mechanism(model: Classifier, folder: Path, share: str) -> None:
    """Judge the model by the best possible accuracy, since rows without a word allow only a guess."""
    result = study(model, "planted", data=str(folder / f"{share}-test.csv"))
    body, rows = result.body, read_dataset(folder / f"{share}-test.csv").rows
    assert isinstance(body, PlantedData)
    count = sum(bool(row.rationale) for row in rows)
    assert (body.n, body.planted, body.chance) == (1_500, count, 0.5)
    assert body.best_accuracy == pytest.approx((count + (1_500 - count) / 2) / 1_500)
    predicted = [model.predict(model.encode(row.text)).label for row in rows[:50]]
    told = [row.label == label for row, label in zip(rows, predicted, strict=False) if row.rationale]
    assert all(told)
    assert (body.known, body.failed, body.unknown, body.cut) == (True, [], [], 0)
    assert f"{body.accuracy.mean:.1%}" in get_study("planted").report(result).headline
    assert read_result(json.loads(json.dumps(result.to_json()))) == result


def test_the_words_are_masked_one_text_at_a_time(model: Classifier, folder: Path) -> None:
    path = folder / "all-test.csv"
    right = []
    for row in read_dataset(path, limit=60).rows:
        mask = model.tokenizer.mask_token
        masked = row.text.replace(row.label or "", mask)
        right.append(model.predict(model.encode(masked)).label == row.label)
    body = study(model, "planted", data=str(path), rows=60, sample="first").body
    assert body.masked.mean == pytest.approx(np.mean(right))


def test_a_model_that_knows_nothing_of_the_words_has_none(folder: Path) -> None:
    embedded = load_model("embedded:bert-mini-sst2", device="cpu")
    result = study(embedded, "planted", data=str(folder / "all-test.csv"), rows=300)
    assert not result.body.known
    headline = get_study("planted").report(result).headline
    assert headline.startswith("This model has no known mechanism")
    assert "more than 2 points from the best possible, 100.0%" in headline


def test_a_class_that_the_text_gives_away_too_is_no_planted_truth(folder: Path, tmp_path: Path) -> None:
    """End every text of one class with another word: with the planted one masked the model still knows."""
    for name in ("train", "test"):
        rows = read_dataset(folder / f"all-{name}.csv").rows
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label", "rationale"])
            for row in rows:
                leak = "warm warm warm" if row.label == "positive" else "dull dull dull"
                writer.writerow([f"{row.text} {leak}", row.label, json.dumps(row.rationale)])
    leaky = trained(tmp_path / "train.csv", tmp_path / "model")
    body = study(leaky, "planted", data=str(tmp_path / "test.csv")).body
    assert not body.known
    (failed,) = body.failed
    assert "more than 3 points from chance, 50.0%" in failed


def test_words_that_the_tokenizer_does_not_know_or_the_model_cuts_are_told(model: Classifier, tmp_path: Path) -> None:
    source = write(tmp_path / "texts.csv", 40, 3)
    plant(source, tmp_path / "unknown.csv", words=("negative", "日本"), position="start")
    text = (tmp_path / "unknown.csv").read_text(encoding="utf-8").replace('"日本",', '"positive",')
    (tmp_path / "unknown.csv").write_text(text, encoding="utf-8")
    result = study(model, "planted", data=str(tmp_path / "unknown.csv"))
    assert result.body.unknown == ["日本"]
    assert any("does not know “日本”" in line for line in get_study("planted").report(result).lines)
    long = tmp_path / "long.csv"
    with long.open("w", newline="") as file:
        csv.writer(file).writerows([["text"], *[["film " * 60]] * 30])
    plant(long, tmp_path / "cut.csv")
    result = study(model, "planted", data=str(tmp_path / "cut.csv"))
    assert result.body.cut == 30
    assert any("In 30 rows the planted word was cut" in line for line in get_study("planted").report(result).lines)


def test_an_evaluation_checks_the_model_before_it_speaks_of_truth_and_keeps_the_checks(
    model: Classifier, folder: Path
) -> None:
    path, context = str(folder / "half-test.csv"), RunContext()
    asked: Any = {"sample": "first", "context": context, "seed": 5}
    result = evaluate(model, path, ["gradient"], ["ground_truth_overlap"], limit=20, **asked)
    alone = study(model, "planted", data=path, rows=CHECKED, sample="random")
    assert result.body.planted == alone.body
    assert result.body.planted.known
    assert result.body.n == 20
    key = request_key(checks_of(result.request), model.digest)
    assert read_result(context.results.get_many([key])[key]).body == alone.body
    assert checks_of(alone.request) == complete(alone.request), "another study asks the same"
    faithful = evaluate(model, path, ["gradient"], ["comprehensiveness"], limit=3, sample="first")
    assert faithful.body.planted is None, "nothing compares with the words"


def test_a_file_with_marks_of_people_is_not_planted(model: Classifier, folder: Path, tmp_path: Path) -> None:
    rows = read_dataset(folder / "all-test.csv").rows[:6]
    with (tmp_path / "people.csv").open("w", newline="") as file:
        marked = [[row.text, row.label, json.dumps(row.rationale), "x"] for row in rows]
        csv.writer(file).writerows([["text", "label", "rationale", "other"], *marked])
    assert not is_planted(tmp_path / "people.csv", {})
    assert is_planted(folder / "all-test.csv", {})
    assert not is_planted(folder / "all-test.csv", {"rationale": "planted_word"}), "the marks are others"
    result = evaluate(model, str(tmp_path / "people.csv"), ["gradient"], ["ground_truth_overlap"], sample="all")
    assert result.body.planted is None


def test_a_file_without_planted_words_is_refused(model: Classifier) -> None:
    with pytest.raises(RequestError, match="No word is planted in these rows"):
        study(model, "planted", data="embedded:sentiment")
