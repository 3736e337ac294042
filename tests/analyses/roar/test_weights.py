"""Weights of a grid that stay in the requested folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainlab.analyses.registry import answer_alone, complete, new_request
from explainlab.analyses.roar.result import NodeFacts, RoarData, RoarText
from explainlab.analyses.roar.verdict import lines
from explainlab.errors import RequestError, ResourceError
from explainlab.limits import DEFAULT_LIMITS
from explainlab.models.loading import load_model
from tests.analyses.roar.grids import BASE, SETTINGS, Watching, ask
from tests.training.test_resume import files_of_at_most

GRID = {"measures": "gradient:norm=one_hot", "recursive": "both", "ratios": [0, 50, 75, 100]}


def read_as(text: RoarText, body: RoarData, node: NodeFacts, mask: str) -> str:
    """Return the text as the model of the node reads it."""
    if node.ratio == 0:
        return text.text
    (own,) = (m for m in text.masked if (m.measure, m.recursive) == (node.measure, node.recursive))
    hidden = [at is not None and body.ratios[at] <= node.ratio for at in own.at]
    words = [text.text[token.start : token.end] for token in text.tokens]
    return " ".join(mask if gone else word for word, gone in zip(words, hidden, strict=True))


def test_each_model_stays_and_says_what_the_grid_says_of_it(files: dict[str, str], tmp_path: Path) -> None:
    context, folder = Watching(tmp_path / "made"), tmp_path / "kept"
    before = ask(context, files, **GRID).body
    assert not any(node.weights for node in before.nodes)
    assert "directory" not in lines(before)[-1]
    context.trained.clear()
    body = ask(context, files, **GRID, weights_folder=str(folder)).body
    assert context.trained
    assert all("once more" in phase and "random, 0%" not in phase for phase in context.trained)
    assert body.curves == before.curves
    assert lines(body)[-1] == f"The weights of each model are a directory in {folder}."
    assert [node.seconds for node in body.nodes] == [node.seconds for node in before.nodes]
    assert len({node.weights for node in body.nodes}) == len(list(folder.iterdir())) == 7, "plain and recursive share"
    for node in (node for node in body.nodes if node.ratio < 100):  # nothing is left to read
        classifier = load_model(node.weights, "cpu")
        mask = classifier.tokenizer.mask_token
        for row, text in enumerate(body.texts[:20]):
            at = body.ratios.index(node.ratio)
            own = next(m for m in text.masked if (m.measure, m.recursive) == (node.measure, node.recursive))
            said = classifier.predict(classifier.encode(read_as(text, body, node, mask)))
            assert said.index == own.predicted[at], (node, row)
            assert said.probabilities[body.labels[text.label]] == pytest.approx(own.probability[at], abs=2e-4)
    context.trained.clear()
    ask(context, files, **GRID, weights_folder=str(folder))
    assert not context.trained
    assert len([*(tmp_path / "made").rglob("*.safetensors")]) == 1
    again = Watching(tmp_path / "elsewhere")
    assert ask(again, files, **GRID, weights_folder=str(folder)).body.curves == body.curves
    assert again.trained, "nothing but the weights was known there"


@pytest.mark.parametrize("name", ["train.csv", "a\0b", "\ud800", "x" * 300])
def test_a_folder_that_cannot_be_written_is_told_before_anything_trains(
    files: dict[str, str], tmp_path: Path, name: str
) -> None:
    context, folder = Watching(tmp_path / "made"), Path(files["train"]).parent / name
    with pytest.raises(RequestError, match="another folder"):
        ask(context, files, **GRID, weights_folder=str(folder))
    assert not context.seen


def test_who_asks_how_long_a_grid_takes_gets_no_folder(files: dict[str, str], tmp_path: Path) -> None:
    given = {"test": files["test"], "validation": files["validation"], "settings": {**SETTINGS, "epochs": 1}}
    answers = {}
    for folder in ("", str(tmp_path / "kept")):
        asked = {**GRID, **given, "seeds": 1, "weights_folder": folder}
        request = new_request(question="roar_estimate", model=BASE, data=files["train"], parameters=asked)
        answers[folder] = answer_alone(complete(request), Watching(tmp_path / "made").context, "cpu", DEFAULT_LIMITS)
    assert not (tmp_path / "kept").exists()
    without, kept = (answer.body for answer in answers.values())
    assert kept.disk_mb > without.disk_mb


def test_a_disk_that_is_full_when_weights_are_copied_costs_no_training(files: dict[str, str], tmp_path: Path) -> None:
    folder, small = tmp_path / "kept", {"measures": "gradient", "ratios": [0, 50, 100]}
    context = Watching(tmp_path / "made")
    ask(context, files, **small)
    context.trained.clear()
    with files_of_at_most(100), pytest.raises(ResourceError, match="cannot be written"):
        ask(context, files, **small, weights_folder=str(folder))
    assert not list(folder.iterdir())
    assert not context.trained, "the model of whole texts was there"
