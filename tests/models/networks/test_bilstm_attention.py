"""BiLSTM-attention models against a plain loop, with pairs and padding; their initial weights; their errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from explainlab import explain
from explainlab.attribution.registry import get_method
from explainlab.errors import UnsupportedError
from explainlab.models.loading import load_model
from explainlab.testing import exact
from tests.conftest import Zoo
from tests.models.recurrent import ByHand
from tests.zoo import model_of

SINGLE, PAIRED = "bilstm", "bilstm-pairs"
TEXTS = (("a good film", "the plot is thin, and not good"), ("I did not like this film at all.", "a film"))


@pytest.mark.parametrize("decoder", ["plain", "reference"])
def test_a_pair_is_what_a_plain_loop_makes_of_it_padded_or_not(zoo: Zoo, decoder: str) -> None:
    network = model_of(PAIRED, decoder=decoder).double()
    tokenizer = zoo(PAIRED).tokenizer
    batch = tokenizer(*map(list, zip(*TEXTS, strict=True)), padding=True, return_tensors="pt")
    with torch.no_grad():
        together = network(**batch)
        for row, (first, second) in enumerate(TEXTS):
            alone = tokenizer(first, second, return_tensors="pt")
            wanted = ByHand(network)(**alone)
            torch.testing.assert_close(network(**alone).logits, wanted.logits)
            torch.testing.assert_close(together.logits[row], wanted.logits[0])
            alphas = wanted.attentions[0][0, 0, 0]
            torch.testing.assert_close(together.attentions[0][row, : len(alphas)], alphas)
            assert not together.attentions[0][row, len(alphas) :].any()


def test_its_attention_adds_up_to_one_over_the_words_alone(zoo: Zoo) -> None:
    for name, second in ((SINGLE, None), (PAIRED, "the plot")):
        classifier = zoo(name)
        encoding = classifier.encode("a good film [MASK] qwertz", second)
        maps, _ = classifier.attention_maps(classifier.inputs([encoding]))
        (rows,) = maps[0][0]
        words = torch.as_tensor(~encoding.special)
        if second:
            words &= torch.as_tensor(encoding.types) == 0
        assert (rows == rows[0]).all()
        assert (rows[0][words] > 0).all()
        assert not rows[0][~words].any()
        torch.testing.assert_close(rows[0].sum(), torch.tensor(1.0))


def test_the_second_text_matters_and_may_be_missing(zoo: Zoo) -> None:
    with exact(zoo(PAIRED)) as classifier:
        encodings = [classifier.encode("a good film", second) for second in ("the plot", "a story", None)]
        logits = classifier.logits(classifier.inputs(encodings))
        alone = [classifier.logits(classifier.inputs([encoding]))[0] for encoding in encodings]
    assert torch.isfinite(logits).all()
    assert not torch.allclose(logits[0], logits[1])
    torch.testing.assert_close(logits, torch.stack(alone))


def test_it_begins_with_a_mask_that_says_nothing(zoo: Zoo) -> None:
    network = zoo(SINGLE).model.network
    config = type(network.config)(**{**network.config.to_dict(), "vocab_size": 2000, "mask_token_id": 2})
    words = type(network)(config).get_input_embeddings().weight
    assert not words[2].any()
    assert abs(float(words.std()) - 1) < 0.05


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("attention_rollout", "averages the states"),
        ("gae", "averages the states"),
        ("rpi", "read but not replaced"),
        ("decompx", "recurrent"),
        ("lrp", "no relevance rules"),
        ("mp_pi", "not a causal decoder"),
    ],
)
def test_what_needs_layers_is_refused_with_the_reason(zoo: Zoo, method: str, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        get_method(method).require(zoo(SINGLE))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_it_has_gradients_and_says_the_same(zoo_path: Callable[[str], Path]) -> None:
    here, there = (load_model(str(zoo_path(SINGLE)), device=device) for device in ("cpu", "cuda"))
    encoding = here.encode("a good film")
    with torch.no_grad():
        logits = [model.logits(model.inputs([encoding])).cpu() for model in (here, there)]
    torch.testing.assert_close(*logits, atol=1e-5, rtol=0)
    scores = [explain(model, "a good film", "integrated_gradients").scores for model in (here, there)]
    np.testing.assert_allclose(*scores, atol=1e-5)
