"""Grids that fail in part or stop, and keep their finished models; refusals before anything trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from explainlab.analyses.registry import complete, new_request, request_key
from explainlab.errors import Cancelled, DataError, ExplainLabError, RequestError, ResourceError, UnsupportedError
from explainlab.models.context import RunContext
from explainlab.training.fit import Diverged
from tests.analyses.roar.grids import BASE, Watching, ask, measure, written
from tests.training.test_train import sentences


def test_a_model_that_cannot_be_trained_fails_alone(files: dict[str, str], tmp_path: Path) -> None:
    """Break a measure on the model of whole texts; models that need no measure are there all the same."""
    with measure("broken", lambda word, *_: float("nan") if word == "dull" else 1.0):
        body = ask(Watching(tmp_path), files, measures="broken+gradient").body
    status = {(node.measure, node.ratio): node.status for node in body.nodes}
    assert status["broken", 40] == "failed"
    assert status["broken", 70] == "not run"
    assert {status[name, ratio] for name in ("random", "gradient") for ratio in (40, 70)} == {"done"}
    reasons = {node.ratio: node.reason for node in body.nodes if node.measure == "broken"}
    assert "not finite numbers" in reasons[40]
    assert "dull" in reasons[40]
    assert "40%" in reasons[70]
    assert (body.failed, body.unfinished) == (2, 0)
    assert next(own for own in body.faithfulness if own.measure == "broken").mean is None


def test_a_training_that_diverges_fails_with_those_that_wait_for_it(files: dict[str, str], tmp_path: Path) -> None:
    class Diverging(Watching):
        def report(self, done: int, total: int, phase: str) -> None:
            if phase == "seed 0, gradient, 40% masked: training":
                raise Diverged(1)

    body = ask(Diverging(tmp_path), files).body
    status = {(node.measure, node.ratio): (node.status, node.reason) for node in body.nodes}
    assert status["gradient", 40] == (
        "failed",
        "The loss of epoch 1 is not a finite number: the training has diverged.",
    )
    assert status["gradient", 70] == ("not run", "the model with 40% masked is missing")
    assert {status["random", ratio][0] for ratio in (0, 40, 70, 100)} == {"done"}
    assert ask(Watching(tmp_path), files).body.failed == 0, "what has failed is tried again"


# Refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"ratios": [0, 50, 20, 100]}, "rising order"),
        ({"ratios": "0:150:50"}, "from 0 to 100"),
        ({"ratios": [0, 100]}, "between 0 and 100"),
        ({"counts": "3,1"}, "rising order"),
        ({"counts": [0]}, "from 1 to"),
        ({"measures": "random"}, "beside random"),
        ({"measures": "gradients"}, "gradient"),
        ({"seeds": 0}, "greater"),
        ({"settings": {"epochs": 0}}, "epochs"),
        ({"settings": {"seed": 3}}, "without"),
        ({"settings": {"layers": 3}}, "no such thing"),
        ({"validation": "1.5"}, "share"),
        ({"test": ""}, "test"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    files: dict[str, str], tmp_path: Path, given: dict[str, Any], problem: str
) -> None:
    context = Watching(tmp_path)
    with pytest.raises(RequestError, match=problem):
        ask(context, files, **given)
    assert not context.seen


def test_a_measure_that_the_architecture_lacks_is_refused_before_anything_trains(
    files: dict[str, str], tmp_path: Path
) -> None:
    context = Watching(tmp_path)
    with pytest.raises(UnsupportedError, match="rollout"):
        ask(context, files, measures="gradient+attention_rollout")
    assert not context.seen


@pytest.fixture
def spoiled(files: dict[str, str], tmp_path: Path) -> tuple[dict[str, str], Path]:
    """Return the files, and the path of one that the test writes in place of another."""
    return dict(files), tmp_path / "other.csv"


@pytest.mark.parametrize(
    ("which", "rows", "problem"),
    [
        ("train", "text,label\na film,positive\na plot,positive\n", "fewer than two different labels"),
        ("test", "text,label\na film,neutral\n", "unknown label"),
        ("test", "text,label\n[MASK] [PAD],positive\n", "special tokens"),
        ("test", "text,label\n,positive\n", "empty"),
        ("test", "words,label\na film,positive\n", "text"),
        ("test", "text,label,text_b\na film,positive,a plot\n", "mixed"),
        ("validation", "text,label\na film,\n", "label"),
    ],
)
def test_data_that_cannot_be_used_is_refused_before_anything_trains(
    spoiled: tuple[dict[str, str], Path], tmp_path: Path, which: str, rows: str, problem: str
) -> None:
    files, other = spoiled
    other.write_text(rows, encoding="utf-8")
    files[which] = str(other)
    context = Watching(tmp_path / "made")
    with pytest.raises(DataError, match=problem):
        ask(context, files)
    assert not context.seen


def test_short_texts_are_left_out_if_asked_and_told(files: dict[str, str], tmp_path: Path) -> None:
    result = ask(Watching(tmp_path), files, shortest=6)
    assert all(len(text.tokens) >= 6 for text in result.body.texts)
    written = pd.read_csv(files["test"])["text"]
    assert all(text.text == written[text.row - 1] for text in result.body.texts), "rows are those of the file"
    assert len(result.warnings) == 3
    assert "shorter than 6 words" in result.warnings[1]
    with pytest.raises(DataError, match="900 words"):
        ask(Watching(tmp_path), files, shortest=900)


def test_another_file_under_the_same_name_is_another_study(files: dict[str, str], tmp_path: Path) -> None:
    other = tmp_path / "test.csv"
    keys = set()
    for seed in (1, 2):
        written(other, sentences(20, seed))
        request = new_request(question="roar", model=BASE, data=files["train"], parameters={"test": str(other)})
        keys.add(request_key(complete(request), "architecture:bilstm_attention"))
    assert len(keys) == 2


def test_a_file_that_changes_while_models_are_trained_stops_them_and_what_is_finished_stays(
    spoiled: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    files, other = spoiled
    files["test"] = written(other, sentences(20, 1))

    class Changing(Watching):
        def show(self, result: Any) -> None:
            super().show(result)
            if len(self.shown) == 2:  # one model is finished
                written(other, sentences(20, 2))

    context = Changing(tmp_path / "made")
    with pytest.raises(DataError, match="has changed"):
        ask(context, files)
    trained = set(context.trained)
    assert len(trained) == 1
    written(other, sentences(20, 1))
    assert ask(context, files).body.unfinished == 0
    assert len(context.trained - trained) == 5


def test_a_full_disk_keeps_what_is_finished(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Watching(tmp_path, 13, "training")
    with pytest.raises(Cancelled):
        ask(context, files, measures="gradient")
    context.most = 10**6
    with monkeypatch.context() as full:
        full.setattr("explainlab.training.checkpoint.save_file", no_space)
        with pytest.raises(ResourceError, match="cannot be written"):
            ask(context, files, measures="gradient")
    context.trained.clear()
    assert ask(context, files, measures="gradient").body.unfinished == 0


def no_space(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_without_a_folder_for_models_nothing_begins(files: dict[str, str], tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    watching.context = RunContext()
    with pytest.raises(ExplainLabError, match="no folder"):
        ask(watching, files)
