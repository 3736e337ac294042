"""Made models by their cards: models that differ only in the seed of their training, and models that differ in more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explainlab.errors import ModelError
from explainlab.models.loading import describe, load_model
from explainlab.models.stored.places import CARD, but_for_seed, made_folder, made_id
from explainlab.settings import settings


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)


def made(digest: str, **fields: Any) -> str:
    """The id of a model with this card."""
    settings = {"seed": fields.get("seed", 0), "epochs": 3} | fields.pop("settings", {})
    card = {"id": made_id(digest), "digest": digest, "data": "a.csv", "settings": settings, "best_epoch": 1, **fields}
    (made_folder() / digest).mkdir(parents=True)
    (made_folder() / digest / CARD).write_text(json.dumps(card), encoding="utf-8")
    return made_id(digest)


def test_only_the_seed_and_what_it_changes_may_differ() -> None:
    first = but_for_seed(made("a" * 64, seed=0))
    assert but_for_seed(made("b" * 64, seed=1, best_epoch=2)) == first
    assert but_for_seed(made("c" * 64, seed=0, data="b.csv")) != first
    assert but_for_seed(made("d" * 64, seed=0, settings={"epochs": 4})) != first


def test_other_models_are_themselves() -> None:
    assert but_for_seed("embedded:bert-mini-sst2") == "embedded:bert-mini-sst2"
    with pytest.raises(ModelError, match="There is no model"):
        but_for_seed("made:000000000000")


def test_the_card_counts_the_weights_without_reading_them() -> None:
    card = describe("embedded:bert-mini-sst2")
    assert card is not None
    network = load_model("embedded:bert-mini-sst2", device="cpu").model.network
    assert card.weights == sum(weights.numel() for weights in network.parameters())
