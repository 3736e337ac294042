"""A training that continues equals an undisturbed one; code that runs between its batches changes nothing in it."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from explainlab.errors import Cancelled, ModelError, RequestError, ResourceError
from explainlab.models.loading import load_model
from explainlab.training import Examples, Trained, TrainingSettings, clear, settings_for, train
from tests.models.test_modes import rounded_to
from tests.service.store.processes import other
from tests.tiers import first
from tests.training.test_train import TINY, sentences

SHORT = TINY | {"epochs": 3, "validation": "0.2"}


def weights(out: Path) -> bytes:
    return (out / "model.safetensors").read_bytes()


def stopped_in(epoch: int, out: Path, base: str, settings: object, folder: Path) -> None:
    """A training that is cancelled within an epoch (from 1), after some of its batches."""
    seen: list[int] = []

    def report(done: int, total: int, phase: str) -> None:
        seen.append(done) if phase == "training" else None
        if phase == "training" and done == (epoch - 1) * total // 3 + 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        train(sentences(), base, out, settings, checkpoints=folder, report=report)
    assert not out.exists()


def killed_in(_: Connection, epoch: int, out: Path, base: str, settings: TrainingSettings, folder: Path) -> None:
    """A training whose process is killed within an epoch (from 1), after some of its batches."""

    def report(done: int, total: int, phase: str) -> None:
        if phase == "training" and done == (epoch - 1) * total // 3 + 2:
            os.kill(os.getpid(), signal.SIGKILL)

    train(sentences(), base, out, settings, checkpoints=folder, report=report)


def no_step(done: int, total: int, phase: str) -> None:
    assert phase != "training"


@pytest.mark.parametrize("base", first(["bert", "gpt2"], ["bert", "gpt2", "t5_encoder"], "trains four times"))
@pytest.mark.parametrize("epoch", first([1, 3], [1, 2, 3], "trains four times"))
def test_going_on_equals_an_undisturbed_training(base: str, epoch: int, tmp_path: Path) -> None:
    settings, folder = settings_for(base, **SHORT), tmp_path / "checkpoints"
    whole = train(sentences(), base, tmp_path / "whole", settings)
    stopped_in(epoch, tmp_path / "parts", base, settings, folder)
    assert folder.exists() == (epoch > 1)
    steps: list[int] = []
    again = train(
        sentences(),
        base,
        tmp_path / "parts",
        settings,
        checkpoints=folder,
        report=lambda done, total, phase: steps.append(done) if phase == "training" else None,
    )
    assert steps[0] == (epoch - 1) * whole.steps // 3 + 1
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")
    assert (again.epochs, again.best_epoch, again.steps) == (whole.epochs, whole.best_epoch, whole.steps)
    train(sentences(), base, tmp_path / "more", settings, checkpoints=folder, report=no_step)
    assert weights(tmp_path / "more") == weights(tmp_path / "whole"), "also where it had ended already"
    clear(folder)
    assert not folder.exists()


@pytest.mark.full("10 s: it kills a process that trains")
def test_a_training_that_is_killed_after_its_second_epoch_goes_on_with_the_third(tmp_path: Path) -> None:
    settings, folder, steps = settings_for("bert", **SHORT), tmp_path / "checkpoints", list[int]()
    whole = train(sentences(), "bert", tmp_path / "whole", settings)
    with other(killed_in, 3, tmp_path / "parts", "bert", settings, folder) as process:
        assert process.ended() == -signal.SIGKILL
    assert not (tmp_path / "parts").exists()

    def report(done: int, total: int, phase: str) -> None:
        steps.append(done) if phase == "training" else None

    train(sentences(), "bert", tmp_path / "parts", settings, checkpoints=folder, report=report)
    assert steps[0] == 2 * whole.steps // 3 + 1
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")


def test_its_seconds_are_those_of_all_parts_and_none_in_which_others_had_their_turn(tmp_path: Path) -> None:
    settings, folder, begun = settings_for("bert", **SHORT), tmp_path / "checkpoints", time.perf_counter()
    stopped_in(3, tmp_path / "out", "bert", settings, folder)
    first = time.perf_counter() - begun
    pauses: list[float] = []

    def pause(done: int, total: int, phase: str) -> None:
        start = time.perf_counter()
        time.sleep(0.1)
        pauses.append(time.perf_counter() - start)

    begun = time.perf_counter()
    trained = train(sentences(), "bert", tmp_path / "out", settings, checkpoints=folder, report=pause)
    second = time.perf_counter() - begun - sum(pauses)
    earlier = sum(epoch.seconds for epoch in trained.epochs[:2])
    assert 0 < earlier < first
    assert earlier + trained.epochs[2].seconds < trained.seconds < earlier + second


def test_other_random_work_between_batches_changes_nothing_and_is_not_changed(tmp_path: Path) -> None:
    settings = settings_for("bert", **SHORT)
    drawn: list[float] = []
    torch.manual_seed(7)
    train(sentences(), "bert", tmp_path / "a", settings)
    quiet = [float(torch.rand(1)) for _ in range(3)]
    torch.manual_seed(7)
    train(sentences(), "bert", tmp_path / "b", settings, report=lambda *_: drawn.append(float(torch.rand(1))))
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert drawn[:3] == quiet


def test_checkpoints_keep_the_last_and_the_best_epoch(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    stopped_in(3, tmp_path / "out", "bert", settings_for("bert", **SHORT), folder)
    names = sorted(path.name for path in folder.iterdir())
    assert names[-1] == "epoch-0002.safetensors"
    assert len(names) <= 2
    with safe_open(folder / names[-1], "pt") as file:
        assert '"epochs"' in file.metadata()["training"]


def test_the_checkpoints_of_another_training_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    stopped_in(2, tmp_path / "out", "bert", settings_for("bert", **SHORT), folder)
    with pytest.raises(RequestError, match="checkpoints of another training"):
        train(sentences(), "bert", tmp_path / "out", settings_for("bert", **SHORT, seed=1), checkpoints=folder)
    with pytest.raises(RequestError, match="checkpoints of another training"):
        train(sentences(58), "bert", tmp_path / "out", settings_for("bert", **SHORT), checkpoints=folder)
    (folder / "epoch-0009.safetensors").write_bytes(b"{")
    with pytest.raises(RequestError, match="cannot be read"):
        train(sentences(), "bert", tmp_path / "out", settings_for("bert", **SHORT), checkpoints=folder)


def test_rounded_products_go_on_as_rounded_ones_alone(tmp_path: Path) -> None:
    settings, folder = settings_for("bert", **SHORT), tmp_path / "checkpoints"
    with rounded_to("medium"):
        stopped_in(2, tmp_path / "parts", "bert", settings, folder)
    with pytest.raises(RequestError, match="of another training"):
        train(sentences(), "bert", tmp_path / "parts", settings, checkpoints=folder)
    with rounded_to("medium"):
        train(sentences(), "bert", tmp_path / "parts", settings, checkpoints=folder)


def test_a_loss_that_is_no_number_ends_with_the_last_good_epoch(tmp_path: Path) -> None:
    """A decay of 20 at each step grows the weights beyond all numbers within two epochs of six steps."""
    settings = settings_for(
        "bert", **TINY | {"epochs": 3}, recipe="roar", warmup=0, schedule="constant", weight_decay=1
    )
    for rate, message in (
        (1e30, r"The loss of epoch 1 is not a finite number: the training has diverged. Try a lower learning_rate"),
        (20, r"The loss of epoch 2 .* The model after epoch 1 was kept"),
    ):
        assert not (tmp_path / "out").exists()
        with pytest.raises(ModelError, match=message):
            train(sentences(), "bert", tmp_path / "out", settings.model_copy(update={"learning_rate": rate}))
    kept = load_file(tmp_path / "out" / "model.safetensors")
    assert all(weights.isfinite().all() for weights in kept.values())


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file may grow beyond ``size`` bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    settings, folder = settings_for("bert", **TINY | {"epochs": 1}), tmp_path / "checkpoints"
    with files_of_at_most(10_000), pytest.raises(ResourceError, match="cannot be written"):
        train(sentences(), "bert", tmp_path / "out", settings, checkpoints=folder)
    assert not list(folder.iterdir())
    with files_of_at_most(10_000), pytest.raises(ResourceError, match="Free some disk space"):
        train(sentences(), "bert", tmp_path / "out", settings)
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".training-*"))


def test_early_stopping_keeps_the_best_epoch(tmp_path: Path) -> None:
    """Validation on shuffled labels does not improve for long."""
    given = sentences()
    wrong = Examples(given.texts, given.labels[3:] + given.labels[:3])
    settings = settings_for("bert", **TINY | {"epochs": 30}, patience=2)
    told: Trained = train(given, "bert", tmp_path / "out", settings, validation=wrong)
    accuracies = [epoch.validation for epoch in told.epochs]
    assert len(told.epochs) == told.best_epoch + 2 < 30
    assert accuracies[told.best_epoch - 1] == max(accuracies)
    best = train(given, "bert", tmp_path / "again", settings, validation=wrong, held_out=wrong)
    assert best.accuracy == pytest.approx(max(accuracies), abs=0.02)  # float16
    assert load_model(str(tmp_path / "out"), device="cpu").labels == ("negative", "positive")
