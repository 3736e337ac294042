"""Attention methods: against slow loops over transformers' own probabilities, and closed forms."""

from __future__ import annotations

import copy
from functools import cache

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from explainlab import explain
from explainlab.attribution.registry import get_method
from explainlab.declared import parse
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from tests.attribution.plain import close
from tests.conftest import Zoo
from tests.tiers import first
from tests.toys import with_network

TEXT = "I did not like this film at all. It isn't funny!"
METHODS = ("attention_last", "attention_average", "attention_rollout")

every_method = pytest.mark.parametrize("method", METHODS)
every_reading = pytest.mark.parametrize("reading", ["class_row", "received"])


MODELS = ("bert", "gpt2", "llama", "mistral", "modernbert-mean", "deberta")


@pytest.fixture(params=first(("bert", "modernbert-mean", "gpt2"), MODELS, "one for each kind of pooling is enough"))
def classifier(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    """First, last and mean pooling; with shared key heads, a sliding window, and attention that can only be read."""
    return zoo(request.param)


@cache
def maps(path: str, ids: tuple[int, ...], kind: str = "attentions") -> np.ndarray:
    """float64 [layers, heads, N, N] as transformers gives them out."""
    model = AutoModelForSequenceClassification.from_pretrained(path, attn_implementation="eager").eval()
    with torch.no_grad():
        output = model(input_ids=torch.tensor([ids]), output_attentions=True)
    return torch.cat(output[kind]).double().numpy()


def mean_of(matrices: list[np.ndarray]) -> np.ndarray:
    total = np.zeros_like(matrices[0])
    for matrix in matrices:
        total += matrix
    return total / len(matrices)


def by_loop(method: str, layers: np.ndarray, rows: np.ndarray, residual: bool = True) -> np.ndarray:
    """Scores [N] of the attention that starts at ``rows`` [N], from the top layer down."""
    means = [mean_of(list(heads)) for heads in layers]
    if method == "attention_last":
        return rows @ means[-1]
    if method == "attention_average":
        return mean_of([rows @ mean for mean in means])
    for mean in reversed(means):
        rows = (rows @ mean + rows) / 2 if residual else rows @ mean
    return rows


def start(classifier: Classifier, n: int, reading: str) -> np.ndarray:
    """float64 [N]: the rows that are read."""
    if reading == "received" or classifier.architecture.pooling == "mean":
        return np.full(n, 1 / n)
    return np.eye(n)[0 if classifier.architecture.pooling == "first" else n - 1]


# On models -----------------------------------------------------------------------------------------------------------


@every_method
@every_reading
def test_equals_a_loop(classifier: Classifier, method: str, reading: str) -> None:
    ids = tuple(classifier.tokenizer(TEXT)["input_ids"])
    rows = start(classifier, len(ids), reading)
    found = explain(classifier, TEXT, method, reading=reading)
    close(found.scores, by_loop(method, maps(classifier.id, ids), rows), 1e-5)
    assert found.scores.sum() == pytest.approx(1, abs=1e-5)
    assert not found.signed
    assert found.completeness is None
    assert (found.cost.forward, found.cost.backward) == (1, 0)


@every_reading
def test_rollout_without_residual_equals_a_loop(classifier: Classifier, reading: str) -> None:
    ids = tuple(classifier.tokenizer(TEXT)["input_ids"])
    rows = start(classifier, len(ids), reading)
    found = explain(classifier, TEXT, "attention_rollout", residual=False, reading=reading).scores
    expected = by_loop("attention_rollout", maps(classifier.id, ids), rows, residual=False)
    close(found, expected, 1e-5)
    assert np.abs(expected - by_loop("attention_rollout", maps(classifier.id, ids), rows)).max() > 0.01


@pytest.mark.parametrize(
    ("method", "reading"),
    [("attention_last", "class_row"), ("attention_average", "received"), ("attention_rollout", "class_row")],
)
def test_what_is_read_by_default(classifier: Classifier, method: str, reading: str) -> None:
    found = explain(classifier, TEXT, method)
    assert found.request.parameters["reading"] == reading
    assert np.array_equal(found.scores, explain(classifier, TEXT, method, reading=reading).scores)


@every_method
def test_the_target_changes_nothing(encoder: Classifier, method: str) -> None:
    scores = [explain(encoder, TEXT, method, target=target, output="logit").scores for target in range(3)]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


@every_reading
@pytest.mark.parametrize("method", ["attention_last", "attention_average"])
def test_t5_is_read_where_its_decoder_reads_the_text(zoo: Zoo, method: str, reading: str) -> None:
    ids = tuple(zoo("t5").tokenizer(TEXT)["input_ids"])
    layers = maps(zoo("t5").id, ids, "cross_attentions")
    found = explain(zoo("t5"), TEXT, method, reading=reading)
    close(found.scores, by_loop(method, layers, start(zoo("t5"), len(ids), reading)), 1e-5)


def test_rollout_through_t5_is_refused_with_the_reason(zoo: Zoo) -> None:
    with pytest.raises(UnsupportedError, match="Attention rollout cannot run on a T5"):
        explain(zoo("t5"), TEXT, "attention_rollout")


# Closed forms --------------------------------------------------------------------------------------------------------


def combine(method: str, layers: np.ndarray, **parameters: bool) -> np.ndarray:
    found = get_method(method)
    return found.combine(layers, np.eye(layers.shape[-1]), parse(found, parameters))


def causal_uniform(n: int) -> np.ndarray:
    return np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]


def random_maps(layers: int, n: int, causal: bool = False) -> np.ndarray:
    drawn = np.random.default_rng(0).random((layers, n, n)) * (np.tril(np.ones((n, n))) if causal else 1)
    return drawn / drawn.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("residual", [True, False])
def test_rollout_of_layers_that_stay_in_place_stays_in_place(residual: bool) -> None:
    layers = np.stack([np.eye(5)] * 4)
    np.testing.assert_allclose(combine("attention_rollout", layers, residual=residual), np.eye(5), atol=1e-15)


def test_rollout_of_one_uniform_layer() -> None:
    found = combine("attention_rollout", np.full((1, 6, 6), 1 / 6))
    np.testing.assert_allclose(found, 0.5 * np.eye(6) + 0.5 / 6, atol=1e-15)


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_rows_of_rollout_sum_to_one_and_see_nothing_to_come(causal: bool, residual: bool) -> None:
    found = combine("attention_rollout", random_maps(4, 7, causal), residual=residual)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    assert (found >= 0).all()
    assert (np.triu(found, 1) == 0).all() == causal


def test_rollout_multiplies_the_upper_layer_from_the_left() -> None:
    lower, upper = random_maps(2, 4)
    np.testing.assert_allclose(combine("attention_rollout", np.stack([lower, upper]), residual=False), upper @ lower)


def test_last_and_average_take_the_last_and_the_average() -> None:
    layers = random_maps(3, 5)
    assert np.array_equal(combine("attention_last", layers), layers[2])
    np.testing.assert_allclose(combine("attention_average", layers), (layers[0] + layers[1] + layers[2]) / 3)


def without_queries(classifier: Classifier) -> Classifier:
    """The same model with queries of zero: every row reads all it may see alike."""
    model = copy.deepcopy(classifier.model.network)
    for name, parameter in model.named_parameters():
        if ".query." in name:
            parameter.zero_()
        elif ".c_attn." in name:  # query, key and value side by side
            parameter[..., : model.config.n_embd] = 0
    return with_network(classifier, model)


@every_reading
def test_a_model_that_reads_all_alike(encoder: Classifier, reading: str) -> None:
    for method in ("attention_last", "attention_average"):
        scores = explain(without_queries(encoder), TEXT, method, reading=reading).scores
        np.testing.assert_allclose(scores, 1 / len(scores), atol=1e-6)
    scores = explain(without_queries(encoder), TEXT, "attention_rollout").scores
    n, stays = len(scores), 0.5**3
    np.testing.assert_allclose(scores, stays * (np.arange(n) == 0) + (1 - stays) / n, atol=1e-6)


def test_a_decoder_that_reads_all_before_alike(decoder: Classifier) -> None:
    scores = explain(without_queries(decoder), TEXT, "attention_average").scores
    n = len(scores)
    expected = [sum(1 / j for j in range(i, n + 1)) / n for i in range(1, n + 1)]
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    last = explain(without_queries(decoder), TEXT, "attention_last").scores
    np.testing.assert_allclose(last, 1 / n, atol=1e-6)
    rollout = explain(without_queries(decoder), TEXT, "attention_rollout", residual=False).scores
    np.testing.assert_allclose(rollout, np.linalg.matrix_power(causal_uniform(n), 3)[-1], atol=1e-6)
