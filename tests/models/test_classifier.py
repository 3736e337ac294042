"""The classifier against plain transformers, for every architecture: logits, gradients, padding, attention, fillers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from transformers import T5Config, T5EncoderModel
from transformers.modeling_outputs import SequenceClassifierOutput

from explainlab.errors import ModelError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.networks.bilstm_attention import BiLSTMAttentionForSequenceClassification
from explainlab.models.networks.t5_encoder import T5EncoderForSequenceClassification
from explainlab.testing import exact, traces
from tests.conftest import Zoo
from tests.models.recurrent import ByHand
from tests.zoo import LABELS, ZOO

TEXT = "a funny film, isn't it?"
LONG = "I did not like this film at all. It isn't funny, and it isn't good!"


@pytest.fixture(params=ZOO)
def classifier(request: pytest.FixtureRequest, zoo: Zoo) -> Iterator[Classifier]:
    """Each tiny model in turn, in float64: values that are equal by definition are equal on every processor."""
    with exact(zoo(request.param)) as twin:
        yield twin


def _plain(classifier: Classifier) -> Any:
    """The same model as transformers or a plain loop runs it, with attention that can be looked at."""
    model = copy.deepcopy(classifier.model.network)
    if isinstance(model, T5EncoderForSequenceClassification):
        return PooledByHand(model)
    if isinstance(model, BiLSTMAttentionForSequenceClassification):
        return ByHand(model)
    model.set_attn_implementation("eager")
    return model


class PooledByHand(T5EncoderModel):
    """transformers' encoder with the weights and the head of a classifier of ours, for one text without padding."""

    def __init__(self, ours: T5EncoderForSequenceClassification) -> None:
        super().__init__(T5Config(**{**ours.config.to_dict(), "model_type": "t5", "attn_implementation": "eager"}))
        states = {name.removeprefix("encoder."): weights for name, weights in ours.encoder.state_dict().items()}
        self.to(ours.classifier.weight.dtype).eval().encoder.load_state_dict(states)
        self.head = ours.classifier

    def forward(self, **inputs: Any) -> SequenceClassifierOutput:
        out = super().forward(**inputs)
        logits = self.head(out.last_hidden_state.mean(dim=1))
        return SequenceClassifierOutput(logits=logits, attentions=out.attentions)


def _close(found: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance * float(expected.abs().max()))


def test_logits_agree_with_transformers(classifier: Classifier) -> None:
    for pair in (None, "the plot is thin"):
        own = classifier.logits(classifier.inputs([classifier.encode(TEXT, pair)]))
        tokens = classifier.tokenizer(TEXT, pair, return_tensors="pt")
        types = getattr(classifier.model.network.config, "type_vocab_size", 0) > 1
        accepted = {k: v for k, v in tokens.items() if k != "token_type_ids" or types}
        _close(own, _plain(classifier)(**accepted).logits)


def test_replaced_embeddings_equal_replaced_ids(classifier: Classifier) -> None:
    """T5 reads the text twice: both readings must see the replacement."""
    encoding = classifier.encode(TEXT)
    inputs = classifier.inputs([encoding])
    other = torch.where(torch.tensor(encoding.special), inputs.ids, inputs.ids.flip(1))
    changed = type(inputs)(other, inputs.types, inputs.attention, inputs.padded)
    found = classifier.logits(inputs, classifier.embed(other))
    assert not torch.allclose(found, classifier.logits(inputs), atol=1e-3)
    _close(found, classifier.logits(changed))


def test_every_position_of_a_decoder_speaks_for_the_text_up_to_it(classifier: Classifier) -> None:
    short, long = classifier.encode(TEXT), classifier.encode(LONG)
    batch = classifier.inputs([short, long])
    if not classifier.architecture.causal:
        reason = "makes no intermediate predictions: it is not a causal decoder"
        with pytest.raises(UnsupportedError, match=f"A {classifier.architecture.family} model {reason}"):
            classifier.position_logits(batch)
        return
    found = classifier.position_logits(batch)
    assert found.shape == (2, len(long), len(LABELS))
    assert torch.equal(found, classifier.position_logits(batch, classifier.embed(batch.ids)))
    for row, encoding, step in zip(found, (short, long), (1, 5), strict=True):
        ids, plain = torch.as_tensor(encoding.ids), _plain(classifier)
        expected = [plain(ids[None, : last + 1]).logits[0] for last in range(0, len(ids), step)]
        _close(row[: len(ids) : step], torch.stack(expected))


def test_a_batch_equals_its_texts(classifier: Classifier) -> None:
    inputs = classifier.inputs([classifier.encode(TEXT)])
    embeddings = torch.stack([classifier.embed(inputs.ids[0]) * scale for scale in (1.0, 0.5, 0.0)])
    batch = classifier.logits(inputs.repeat(3), embeddings)
    for row, embedding in zip(batch, embeddings, strict=True):
        _close(row, classifier.logits(inputs, embedding[None])[0])


def test_gradients_agree_with_transformers(classifier: Classifier) -> None:
    inputs = classifier.inputs([classifier.encode(TEXT)])
    own = classifier.embed(inputs.ids).requires_grad_()
    classifier.logits(inputs, own)[0, 0].backward()
    plain = classifier.embed(inputs.ids).requires_grad_()
    _from_embeddings(classifier, plain)[0, 0].backward()
    assert plain.grad.abs().max() > 1e-3
    _close(own.grad, plain.grad)
    assert all(parameter.grad is None for parameter in classifier.model.network.parameters())


def _from_embeddings(classifier: Classifier, embeddings: torch.Tensor) -> torch.Tensor:
    """Logits of one unpadded text by transformers' own inputs_embeds, which T5's classifier refuses for its parts."""
    model = _plain(classifier)
    if classifier.architecture.attention != "cross":
        return model(inputs_embeds=embeddings).logits
    start = classifier.embed(torch.tensor([[model.config.decoder_start_token_id]]))
    shifted = torch.cat([start, embeddings[:, :-1]], dim=1)
    states = model.transformer(inputs_embeds=embeddings, decoder_inputs_embeds=shifted).last_hidden_state
    return model.classification_head(states[:, -1])


def test_padding_embeddings_as_baseline_move_no_position_of_roberta(zoo: Zoo) -> None:
    with exact(zoo("roberta")) as classifier:
        inputs = classifier.inputs([classifier.encode(TEXT)])
        ids = inputs.ids.clone()
        ids[:, 1:-1] = classifier.filler_id("pad")
        found = classifier.logits(inputs, classifier.embed(ids))
        _close(found, _from_embeddings(classifier, classifier.embed(ids)))
        reread = type(inputs)(ids, inputs.types, inputs.attention, inputs.padded)
        assert not torch.allclose(found, classifier.logits(reread), atol=1e-2)


# Attention ---------------------------------------------------------------------------------------------------------


def test_attention_maps_agree_with_transformers(classifier: Classifier) -> None:
    encoding = classifier.encode(LONG)
    inputs = classifier.inputs([encoding])
    before = traces(classifier)
    maps, logits = classifier.attention_maps(inputs)
    assert traces(classifier) == before
    with torch.no_grad():
        plain = _plain(classifier)(input_ids=inputs.ids, output_attentions=True)
    expected = plain.get("cross_attentions") or plain.attentions
    layers, heads = (1, 1) if classifier.architecture.attention == "pooled" else (3, 4)
    assert len(maps) == len(expected) == layers
    for found, wanted in zip(maps, expected, strict=True):
        assert found.shape == (1, heads, len(encoding), len(encoding))
        _close(found.sum(dim=-1), torch.ones(1, heads, len(encoding)).double())
        _close(found, wanted)
    _close(logits, plain.logits)


def test_causal_maps_see_nothing_to_come(classifier: Classifier) -> None:
    maps, _ = classifier.attention_maps(classifier.inputs([classifier.encode(LONG)]))
    upper = max(float(layer.triu(1).max()) for layer in maps)
    assert (upper == 0) == classifier.architecture.causal


def test_the_sliding_window_shows_in_the_maps(zoo: Zoo) -> None:
    maps, _ = zoo("mistral").attention_maps(zoo("mistral").inputs([zoo("mistral").encode(LONG)]))
    assert all(float(layer.tril(-4).max()) == 0 for layer in maps)
    assert all(float(layer.diagonal(-3, dim1=-2, dim2=-1).min()) > 0 for layer in maps)


def test_padding_is_not_attended(classifier: Classifier) -> None:
    encoding = classifier.encode(TEXT)
    n = len(encoding)
    alone, _ = classifier.attention_maps(classifier.inputs([encoding]))
    padded, _ = classifier.attention_maps(classifier.inputs([encoding.padded(n + 3, classifier.pad_id)]))
    for short, long in zip(alone, padded, strict=True):
        _close(long[:, :, :n, :n], short)
        assert float(long[:, :, :n, n:].max()) == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bert", [1, 0, 0]),
        ("deberta", [1, 0, 0]),
        ("modernbert", [1, 0, 0]),
        ("modernbert-mean", [1 / 3] * 3),
        ("gpt2", [0, 1]),
        ("llama", [0, 0, 1]),
        ("t5", [0, 0, 1]),
    ],
)
def test_the_rows_that_reach_the_head(zoo: Zoo, name: str, expected: list[float]) -> None:
    encoding = zoo(name).encode("a film" if name in ("gpt2", "llama", "t5") else "film")
    assert zoo(name).head_rows(encoding).tolist() == expected
    padded = encoding.padded(len(encoding) + 2, zoo(name).pad_id)
    assert zoo(name).head_rows(padded).tolist() == [*expected, 0, 0]


# Fillers, capabilities, predictions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "token"),
    [
        ("bert", "mask", "[MASK]"),
        ("bert", "pad", "[PAD]"),
        ("bert", "unk", "[UNK]"),
        ("roberta", "mask", "<mask>"),
        ("t5", "mask", "<extra_id_0>"),
        ("gpt2", "mask", "Ġ..."),
        ("llama", "mask", "Ġ..."),
        ("qwen2", "pad", "<|endoftext|>"),
    ],
)
def test_fillers(zoo: Zoo, name: str, kind: str, token: str) -> None:
    assert zoo(name).tokenizer.convert_ids_to_tokens(zoo(name).filler_id(kind)) == token


@pytest.mark.parametrize("kind", ["pad", "unk"])
def test_a_missing_filler_is_named(zoo: Zoo, kind: str) -> None:
    with pytest.raises(UnsupportedError, match=f"has no {kind} token.*another baseline"):
        zoo("gpt2").filler_id(kind)


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("bert", {"causal decoder", "language model"}),
        ("deberta", {"causal decoder", "replaceable attention", "language model", "post-norm blocks"}),
        (
            "t5",
            {"causal decoder", "replaceable attention", "layered attention", "language model", "post-norm blocks"},
        ),
        ("mistral", {"language model", "post-norm blocks"}),
    ],
)
def test_what_is_lacking_has_a_reason(zoo: Zoo, name: str, lacking: set[str]) -> None:
    capabilities = zoo(name).architecture.capabilities
    assert {need for need, reason in capabilities.items() if reason} == lacking
    assert capabilities.keys() == zoo("bert").architecture.capabilities.keys()


def test_extreme_logits_are_probabilities(encoder: Classifier) -> None:
    assert encoder.prediction(np.array([1e4, -1e4, 0.0])).probabilities == dict(zip(LABELS, (1.0, 0, 0), strict=True))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_are_refused(encoder: Classifier, value: float) -> None:
    with pytest.raises(ModelError, match="not finite numbers"):
        encoder.prediction(np.array([0.0, value, 1.0]))


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_numbers_are_float32(zoo: Zoo, name: str) -> None:
    inputs = zoo(name).inputs([zoo(name).encode(TEXT)])
    assert zoo(name).dtype == zoo(name).logits(inputs).dtype == torch.float32
    assert zoo(name).bytes == 4 * sum(p.numel() for p in zoo(name).model.network.parameters())
