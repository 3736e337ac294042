"""The time of a grid before it begins: estimated from one epoch and a few texts, and for smaller grids."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explainlab.analyses.registry import answer_alone, complete, get_analysis, new_request
from explainlab.analyses.roar import models
from explainlab.analyses.roar.grid import Grid
from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.analyses.roar_estimate.result import RoarEstimate
from explainlab.errors import RequestError
from explainlab.limits import DEFAULT_LIMITS, Limits
from explainlab.models.classifier import Classifier
from explainlab.reader import Reader
from tests.analyses.roar.grids import SETTINGS, Watching, written
from tests.training.test_train import sentences

GRID: dict[str, Any] = {"measures": ["gradient", "input_x_gradient"], "ratios": [0, 40, 70, 100], "seeds": 4}
FEW = {**SETTINGS, "epochs": 3}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("data")
    sizes = {"train": 200, "validation": 20, "test": 20}
    return {name: written(folder / f"{name}.csv", sentences(size, size)) for name, size in sizes.items()}


def ask(watching: Watching, files: dict[str, str], question: str = "roar_estimate", **given: Any) -> Any:
    parameters = {"test": files["test"], "validation": files["validation"], **GRID, "settings": FEW, **given}
    request = new_request(question=question, model="bilstm_attention", data=files["train"], parameters=parameters)
    result = answer_alone(complete(request), watching.context, "cpu", DEFAULT_LIMITS)
    assert result is not None
    return result


@pytest.fixture(scope="module")
def estimated(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Watching, Any]:
    watching = Watching(tmp_path_factory.mktemp("made"))
    return watching, ask(watching, files)


def test_models_and_questions_are_counted_as_the_grid_has_them(estimated: tuple[Watching, Any]) -> None:
    body: RoarEstimate = estimated[1].body
    assert body.models == 4 * (4 + 2 * 2)
    assert [own.measure for own in body.measures] == GRID["measures"]
    assert sum(own.seconds for own in body.measures) == pytest.approx(body.importance)
    assert body.training > body.models * body.epochs * body.epoch
    assert body.disk_mb > 0


def test_nothing_is_left_but_what_was_timed(estimated: tuple[Watching, Any], files: dict[str, str]) -> None:
    watching, first = estimated
    assert not [*watching.context.reader.made.iterdir()]  # type: ignore[union-attr]
    watching.seen = 0
    again = ask(watching, files, seeds=8).body
    assert not watching.seen  # other seeds and ratios need no more times
    assert again.training == pytest.approx(2 * first.body.training)


def test_a_model_is_loaded_once_however_many_texts_there_are(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, now, load = [0.0], time.perf_counter, models.load_model

    def slow(*args: Any) -> Classifier:
        lost[0] += 1000
        return load(*args)

    monkeypatch.setattr(models, "load_model", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: now() + lost[0])
    body = ask(Watching(tmp_path), files, test=files["train"]).body  # more texts than are timed
    assert 1000 < body.training / body.models < 1500


def test_what_would_fit_is_told_in_words(estimated: tuple[Watching, Any], files: dict[str, str]) -> None:
    watching, whole = estimated
    seconds = whole.body.training + whole.body.importance
    within = ask(watching, files, within=0.7 * seconds)
    assert 0 < len(within.body.smaller) < len(whole.body.smaller)
    assert all(own.seconds <= within.body.within for own in within.body.smaller)
    assert within.body.smaller == sorted(within.body.smaller, key=lambda own: -own.seconds)
    words = get_analysis("roar_estimate").report(within).headline
    assert "To end within" in words
    assert within.body.smaller[0].changed in words
    assert "Nothing tried fits" in get_analysis("roar_estimate").report(ask(watching, files, within=1e-6)).headline


def test_the_answer_has_the_estimate_beside_what_it_took(files: dict[str, str], tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    small = {"seeds": 1, "ratios": [0, 50, 100], "measures": ["gradient"]}
    estimate = ask(watching, files, **small).body
    body = ask(watching, files, "roar", **small).body
    assert not [own.changed for own in estimate.smaller if "seed" in own.changed]
    assert body.expected.training == estimate.training
    assert body.expected.importance == estimate.importance


def test_a_grid_beyond_the_limit_of_the_instance_is_refused_before_it_begins(
    files: dict[str, str], tmp_path: Path
) -> None:
    watching = Watching(tmp_path)
    small = {"seeds": 1, "ratios": [0, 50, 100], "measures": ["gradient"], "settings": {**FEW, "epochs": 1}}
    estimate = ask(watching, files, **small).body
    seconds = math.ceil(estimate.training + estimate.importance)
    limits = Limits(max_training_seconds=seconds, changed_by="whoever runs this instance")
    watching.context = replace(watching.context, reader=Reader(made=tmp_path, limits=limits))
    with pytest.raises(RequestError, match="EXPLAINLAB_MAX_TRAINING_SECONDS"):
        ask(watching, files, "roar", **small | {"seeds": 100})
    assert not [*tmp_path.iterdir()]
    assert ask(watching, files, "roar", **small).body.unfinished == 0


def test_places_with_the_same_masks_are_one_model() -> None:
    parameters = RoarParameters.model_validate({"test": "t", "measures": ["gradient"], "ratios": [0, 20, 50, 100]})
    both = Grid(parameters.model_copy(update={"recursive": "both", "seeds": 2}), 0)
    assert both.distinct == 2 * (4 + 2 + 1)
