"""The recipe ``masked``: which texts and tokens it masks, that it goes on bit for bit, and what it is validated on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from explainlab.models.loading import load_model
from explainlab.training import settings_for, train, training_digest
from explainlab.training.passes import Tokens, masked
from tests.tiers import first
from tests.training.test_resume import stopped_in, weights
from tests.training.test_train import TINY, sentences

SHORT = TINY | {"epochs": 3, "validation": "0.2", "recipe": "masked"}
MASK = 4


def drawn(texts: int, seed: int = 0, length: int = 40) -> torch.Tensor:
    """The share of masked tokens of every text, float32 [texts]; the first and the last token are special."""
    ids = torch.full((texts, length), 9)
    content = torch.ones_like(ids, dtype=torch.bool)
    content[:, [0, -1]] = False
    generator = torch.Generator().manual_seed(seed)
    found = masked(ids, content, MASK, settings_for("bert", recipe="masked"), generator)
    assert (found[:, [0, -1]] == 9).all(), "special tokens stay"
    return (found == MASK)[:, 1:-1].float().mean(dim=1)


def test_half_of_a_batch_stays_and_the_other_half_is_masked_at_any_share() -> None:
    shares = torch.stack([drawn(64, seed) for seed in range(100)])
    whole = (shares == 0).sum(dim=1)
    assert whole.min() >= 32, "half of the texts are never masked"
    masked_ones = shares[shares > 0]
    assert len(masked_ones) > 0.95 * 3200, "hardly any of the others has no mask at all"
    counts = torch.histc(masked_ones, bins=4, min=0, max=1) / 3200
    assert torch.allclose(counts, torch.full((4,), 0.25), atol=0.04), "every share is as likely"
    assert torch.equal(drawn(64, 7), drawn(64, 7))
    assert not torch.equal(drawn(64, 7), drawn(64, 8))


def test_texts_alone_in_their_batch_are_masked_half_of_the_time() -> None:
    found = [bool(drawn(1, seed) > 0) for seed in range(300)]
    assert 0.4 < sum(found) / 300 < 0.6


@pytest.mark.parametrize(
    ("base", "usual"), [("bert", "embedded"), ("gpt2", "embedded"), ("bilstm_attention", "bilstm"), ("other", "thesis")]
)
def test_all_else_is_as_the_usual_recipe_has_it(base: str, usual: str) -> None:
    own, plain = settings_for(base, recipe="masked"), settings_for(base)
    assert plain.recipe == usual
    ours = {"recipe": "masked", "masking": True, "mask_share": 0.0, "heavy_mask": 0.0}
    assert own.model_dump() == plain.model_dump() | ours
    assert settings_for(base, recipe="roar", masking="true").learning_rate == 2e-5, "it goes with any recipe"


def test_masking_decides_the_model() -> None:
    settings = settings_for("bert", **TINY)
    assert training_digest(sentences(), "bert", settings) != training_digest(
        sentences(), "bert", settings.model_copy(update={"masking": True})
    )


@pytest.mark.parametrize("base", first(["bert"], ["bert", "gpt2", "bilstm_attention"], "trains three times"))
def test_going_on_equals_an_undisturbed_training(base: str, tmp_path: Path) -> None:
    asked = {
        name: value for name, value in SHORT.items() if base != "bilstm_attention" or name not in ("layers", "heads")
    }
    settings, folder = settings_for(base, **asked), tmp_path / "checkpoints"
    whole = train(sentences(), base, tmp_path / "whole", settings)
    stopped_in(2, tmp_path / "parts", base, settings, folder)
    again = train(sentences(), base, tmp_path / "parts", settings, checkpoints=folder)
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")
    assert again.epochs == whole.epochs
    scores = [epoch.score or 0.0 for epoch in whole.epochs]
    assert scores[whole.best_epoch - 1] == max(scores), "the best by the mean of both decides"
    for epoch in whole.epochs:
        assert epoch.validation is not None
        assert epoch.masked is not None
        assert epoch.score == pytest.approx((epoch.validation + epoch.masked) / 2)


def test_the_model_says_how_it_was_masked_until_it_is_trained_otherwise(tmp_path: Path) -> None:
    train(sentences(), "bert", tmp_path / "masked", settings_for("bert", **TINY | {"recipe": "masked", "epochs": 1}))
    config = json.loads((tmp_path / "masked" / "config.json").read_text())
    assert config["explainlab_masks"] == {"masking": True, "mask_share": 0.0, "heavy_mask": 0.0}
    base = str(tmp_path / "masked")
    train(sentences(), base, tmp_path / "plain", settings_for(base, epochs=1, batch_size=16))
    assert "explainlab_masks" not in json.loads((tmp_path / "plain" / "config.json").read_text())


def test_validation_masks_stay_the_same_and_leave_special_tokens_and_prompts() -> None:
    tokens = Tokens([[2, 9, 9, 9, 3], [2, 9, 3]], None, 0, [[False, True, True, False, False], [False, True, False]])
    special = torch.tensor([0, 2, 3, MASK])
    assert tokens.content([0, 1], special).tolist() == [[False, True, True, False, False], [False, True] + 3 * [False]]
    seen = set()
    for seed in range(40):
        found = tokens.masked_at_random(special, MASK, seed)
        assert found == tokens.masked_at_random(special, MASK, seed)
        seen |= {(row, place) for row, ids in enumerate(found.ids) for place, own in enumerate(ids) if own == MASK}
    assert seen == {(0, 1), (0, 2), (1, 1)}


def test_a_model_without_a_mask_token_is_masked_by_what_metrics_put_there(tmp_path: Path) -> None:
    settings = settings_for("gpt2", **TINY | {"epochs": 1})
    train(sentences(), "gpt2", tmp_path / "base", settings)
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        path = tmp_path / "base" / name
        if path.exists():
            fields = json.loads(path.read_text())
            fields.pop("mask_token", None)
            path.write_text(json.dumps(fields))
    base = str(tmp_path / "base")
    assert load_model(base, device="cpu").tokenizer.mask_token_id is None
    told = train(sentences(), base, tmp_path / "out", settings_for(base, recipe="masked", epochs=1, validation="0.2"))
    assert told.epochs[0].masked is not None
