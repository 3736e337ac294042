"""Many texts at once: the logits of each alone, and the vocabulary only where label shares are wanted."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.reading import logits_of, next_tokens_of
from tests.conftest import Zoo

TEXTS = ("A funny film.", "It isn't good at all!", "film")


def test_without_a_prompt_there_are_no_label_shares(encoder: Classifier) -> None:
    encodings = [encoder.encode(text) for text in TEXTS]
    logits, shares = next_tokens_of(Batcher(encoder, RunContext()), encodings, "texts", 0, 3)
    assert np.isnan(shares).all()
    np.testing.assert_array_equal(logits, logits_of(Batcher(encoder, RunContext()), encodings, "texts", 0, 3))
    for encoding, row in zip(encodings, logits, strict=True):
        alone = encoder.logits(encoder.inputs([encoding]))[0].detach()
        np.testing.assert_allclose(row, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_the_vocabulary_is_computed_where_label_shares_are_wanted(speaker: Zoo, name: str) -> None:
    classifier = speaker(name)
    encodings = [classifier.encode(text) for text in TEXTS]
    rows: list[int] = []
    vocabulary = classifier.model.network.get_output_embeddings()
    hook = vocabulary.register_forward_hook(lambda _, __, output: rows.append(len(output)))
    try:
        alone = logits_of(Batcher(classifier, RunContext()), encodings, "texts", 0, 3)
        assert not rows
        logits, shares = next_tokens_of(Batcher(classifier, RunContext()), encodings, "texts", 0, 3)
        assert sum(rows) == 3
    finally:
        hook.remove()
    np.testing.assert_allclose(logits, alone, rtol=1e-5)
    expected = [classifier.label_share(encoding) for encoding in encodings]
    np.testing.assert_allclose(shares, expected, rtol=1e-4)
