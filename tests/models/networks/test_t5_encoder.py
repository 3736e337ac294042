"""T5's encoder as a classifier equals transformers' encoder, pooled by hand; its layers and attention are reached."""

from __future__ import annotations

import pytest
import torch
from transformers import T5Config, T5EncoderModel

from explainlab.attribution.explain import explain
from explainlab.models.loading import describe, load_model
from tests.conftest import Zoo
from tests.zoo import model_of

LENGTHS = (9, 5, 1)


@pytest.mark.parametrize("options", [{}, {"feed_forward_proj": "gated-gelu"}], ids=["relu", "gated"])
def test_equals_transformers_encoder_pooled_by_hand(options: dict) -> None:
    """Each text alone, and all in one padded batch."""
    ours = model_of("t5-encoder", **options)
    config = T5Config(**{**ours.config.to_dict(), "model_type": "t5"})
    theirs = T5EncoderModel(config).eval()
    theirs.encoder.load_state_dict({name.removeprefix("encoder."): w for name, w in ours.encoder.state_dict().items()})
    theirs.shared.weight.data.copy_(ours.encoder.embed_tokens.weight)
    ids = torch.randint(5, config.vocab_size, (len(LENGTHS), max(LENGTHS)), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]).long()
    with torch.no_grad():
        batch = ours(ids, mask).logits
        for row, length in enumerate(LENGTHS):
            state = theirs(input_ids=ids[row : row + 1, :length]).last_hidden_state[0]
            by_hand = ours.classifier(state.mean(dim=0))
            assert torch.allclose(ours(ids[row : row + 1, :length]).logits[0], by_hand, atol=1e-6)
            assert torch.allclose(batch[row], by_hand, atol=1e-5)


def test_it_is_loaded_like_any_other(zoo: Zoo) -> None:
    again = load_model(zoo("t5-encoder").id, device="cpu")
    assert again.architecture.family == "T5 encoder"
    assert again.architecture.pooling == "mean"
    assert describe(again.id).labels == again.labels
    assert again.model.depth == len(again.model.layers) == 3


@pytest.mark.parametrize("method", ["attention_rollout", "gae", "rpi"])
def test_methods_that_the_encoder_decoder_refuses_run(zoo: Zoo, method: str) -> None:
    scores = explain(zoo("t5-encoder"), "a good film, a great story", method).scores
    assert scores.any()


def test_a_new_model_begins_with_moderate_logits() -> None:
    network = type(model_of("t5-encoder"))(model_of("t5-encoder", d_model=256).config)
    assert float(network.classifier.weight.detach().std()) == pytest.approx(1 / 16, rel=0.2)
    assert not network.classifier.bias.any()
