"""A training in words: one model, several, missing measurements, and no better than guessing."""

from __future__ import annotations

from typing import Any

from explainlab.analyses.training.figures import validation
from explainlab.analyses.training.result import MadeModel
from explainlab.analyses.training.verdict import overview, points, sentence, validated

CARD: dict[str, Any] = {
    "id": "made:0123456789ab", "digest": "0" * 64, "files": "1" * 64, "base": "bert", "data": "embedded:sentiment",
    "labels": ["negative", "positive"], "recipe": "embedded", "seed": 0, "settings": {}, "rows": 200,
    "validation_rows": 40, "steps": 40, "weights": 1000,
}  # fmt: skip


def card(*accuracies: float | None, best: int = 1, **fields: Any) -> MadeModel:
    """Return the card of a model with these accuracies after its epochs."""
    epochs = [{"epoch": i, "loss": 1 / i, "validation": value} for i, value in enumerate(accuracies, start=1)]
    return MadeModel(**{**CARD, "epochs": epochs, "best_epoch": best, **fields})


def test_one_model() -> None:
    made = validated(card(0.9, 0.925, 0.95, 0.9, best=3))
    assert overview([made]) == "The model reads 95% of 40 unseen texts right (83% to 99%); the best epoch was 3 of 4."
    assert sentence(made, "made:films").startswith("made:films reads 95%")
    assert len(points([made])) == 1
    once = validated(card(0.95))
    assert overview([once]) == "The model reads 95% of 40 unseen texts right (83% to 99%)."
    assert points([once]) == []


def test_one_that_nothing_measures() -> None:
    made = validated(card(None, None, best=2, validation_rows=0))
    assert overview([made]).startswith("The model was made in 2 epochs; nothing says")
    assert points([made]) == []


def test_several_have_a_mean_over_seeds() -> None:
    models = [validated(card(value, seed=seed)) for seed, value in enumerate((0.9, 0.95, 0.55))]
    assert overview(models) == "The 3 models read 80% of 40 unseen texts right on average (55% to 95% over the seeds)."
    (point,) = points(models)
    assert "seed 2 is not clearly above guessing among 2 classes" in point
    equal = [validated(card(0.9, seed=seed)) for seed in range(3)]
    assert overview(equal) == "The 3 models read 90% of 40 unseen texts right on average."
    unknown = [*equal, validated(card(None, seed=3))]
    assert overview(unknown).startswith("The 4 models were made; nothing says")


def test_equal_accuracies_have_an_axis_of_shares() -> None:
    low, high = validation([validated(card(0.75, 0.75))]).figure.layout.yaxis.range
    assert 0 < low < 0.75 < high < 1
    assert validation([validated(card(1.0, 1.0))]).figure.layout.yaxis.range[1] <= 1.02
