"""Progressive inference: against one plain pass for every reading, closed forms, and KernelSHAP on a real decoder."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from tokenizers import processors
from torch import Tensor, nn
from transformers import PreTrainedConfig
from transformers.modeling_outputs import BaseModelOutput

from explainlab import Attribution, explain
from explainlab.attribution.explain import attribute
from explainlab.attribution.methods.progressive import (
    RESOLUTION,
    draws,
    optimized_masses,
    reading_weights,
    shapley_masses,
)
from explainlab.attribution.registry import complete, get_method
from explainlab.attribution.subject import Subject
from explainlab.declared import parse
from explainlab.errors import ModelError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.model import Architecture
from explainlab.models.transformer import DecoderModel
from explainlab.request import Request
from explainlab.text.prompt import Prompt
from tests.attribution.plain import Plain, close
from tests.conftest import Zoo, loaded
from tests.tiers import first
from tests.toys import LABELS, WIDTH, with_network
from tests.zoo import MAX_TOKENS

TEXT = "A funny film. It isn't good!"
BOTH = ("sp_pi", "mp_pi")

both = pytest.mark.parametrize("method", BOTH)
every_output = pytest.mark.parametrize("output", ["logit", "probability"])
every_unit = pytest.mark.parametrize("unit", ["token", "word", "sentence"])


DECODERS = ("gpt2", "llama", "mistral", "gpt2-mini-ag-news")


@pytest.fixture(scope="module", params=first(("gpt2", "llama"), DECODERS, "they differ in the token before the text"))
def model(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    """Decoders with and without a token before the text, random and trained."""
    return loaded("embedded:gpt2-mini-ag-news") if "-" in request.param else zoo(request.param)


@pytest.fixture(scope="module")
def plain(model: Classifier) -> Plain:
    return Plain(model.model.network.name_or_path, model.tokenizer)


def content(result: Attribution) -> np.ndarray:
    return result.scores[[not feature.special for feature in result.features]]


class Reader:
    """Explained scalars of a text by single plain passes over its beginnings."""

    def __init__(self, classifier: Classifier, plain: Plain, output: str, unit: str = "token") -> None:
        self.units = Subject(classifier, classifier.encode(TEXT), unit=unit).units
        self._scalar = plain.scalar(output, plain.predicted(TEXT))
        self._text, self._masked = plain.embed(plain.ids(TEXT)), plain.baseline(TEXT)

    def __call__(self, keep: np.ndarray, feature: int) -> float:
        """Return the prediction after ``feature`` (-1: before the first) with the features ``keep`` bool [n] of the
        text.
        """
        kept = torch.from_numpy(self.units.token_mask(keep[None]))[0, :, None]
        embeddings = torch.where(kept, self._text, self._masked)
        first = int(np.flatnonzero(self.units.membership == self.units.content[0])[0])
        last = int(np.flatnonzero(self.units.membership == self.units.content[feature])[-1])
        return float(self._scalar(embeddings[:, : first if feature < 0 else last + 1])[0])

    @property
    def n(self) -> int:
        return len(self.units.content)


# Single pass ----------------------------------------------------------------------------------------------------------


@every_unit
@every_output
def test_differences_of_passes_over_beginnings(model: Classifier, plain: Plain, unit: str, output: str) -> None:
    reader = Reader(model, plain, output, unit)
    text, nothing = np.ones(reader.n, dtype=bool), np.zeros(reader.n, dtype=bool)
    predictions = [reader(text, i) for i in range(reader.n)]
    start = reader(nothing, reader.n - 1)
    found = explain(model, TEXT, "sp_pi", unit=unit, output=output)
    close(content(found), np.diff(predictions, prepend=start))
    assert found.completeness.expected == pytest.approx(predictions[-1] - start, rel=1e-4, abs=1e-6)
    assert found.completeness.approximation_error < 1e-9
    assert found.cost.forward == 2
    zero = explain(model, TEXT, "sp_pi", unit=unit, output=output, start="zero")
    close(content(zero), np.diff(predictions, prepend=0))
    assert zero.cost.forward == 1


def test_the_prediction_before_the_first_feature(zoo: Zoo) -> None:
    classifier = zoo("llama")
    reader = Reader(classifier, Plain(classifier.id, classifier.tokenizer), "logit", "word")
    text = np.ones(reader.n, dtype=bool)
    found = explain(classifier, TEXT, "sp_pi", unit="word", start="prefix")
    close(content(found), np.diff([reader(text, i) for i in range(-1, reader.n)]))
    assert found.cost.forward == 1
    assert found.scores[0] == 0


def test_without_a_token_before_the_text_there_is_no_such_prediction(decoder: Classifier) -> None:
    with pytest.raises(UnsupportedError, match="start masked or zero"):
        explain(decoder, TEXT, "sp_pi", start="prefix")


def test_a_baseline_that_is_not_used_is_not_looked_at(decoder: Classifier) -> None:
    found = explain(decoder, TEXT, "sp_pi", start="zero", baseline="pad")
    assert np.array_equal(found.scores, explain(decoder, TEXT, "sp_pi", start="zero").scores)
    method = get_method("sp_pi")
    assert method.ineffective_parameters(parse(method, {"start": "zero"})) == {"baseline", "baseline_data"}
    assert not method.ineffective_parameters(parse(method, {}))


@pytest.mark.parametrize("start", ["masked", "zero"])
def test_later_tokens_change_no_earlier_score(decoder: Classifier, start: str) -> None:
    """The same number of tokens in another order: the fully masked text is the same."""
    texts = ("a good film story plot", "a good film plot story")
    first, second = (explain(decoder, text, "sp_pi", start=start, target=0) for text in texts)
    assert [f.text for f in first.features] != [f.text for f in second.features]
    same = [a.ids == b.ids for a, b in zip(first.features, second.features, strict=True)].index(False)
    assert same >= 3
    np.testing.assert_allclose(first.scores[:same], second.scores[:same], rtol=0, atol=1e-5)
    assert np.abs(first.scores[same:] - second.scores[same:]).max() > 1e-3


@both
def test_tokens_at_the_end_belong_to_the_last_feature(zoo: Zoo, method: str) -> None:
    classifier = zoo("llama")
    tokenizer = copy.deepcopy(classifier.tokenizer)
    names = ("<|begin_of_text|>", "<|end_of_text|>")
    around = processors.TemplateProcessing(
        single=f"{names[0]} $A {names[1]}",
        special_tokens=[(name, tokenizer.convert_tokens_to_ids(name)) for name in names],
    )
    tokenizer.backend_tokenizer.post_processor = processors.Sequence([processors.ByteLevel(), around])
    closed = replace(classifier, tokenizer=tokenizer)
    found = explain(closed, TEXT, method, unit="word")
    assert [f.special for f in found.features][-1]
    subject = Subject(closed, closed.encode(TEXT), output="logit")
    full, empty = subject.scalar(subject.original), subject.values(subject.baseline("mask")[None])[0]
    assert found.scores.sum() == pytest.approx(full - empty, abs=1e-5)
    assert found.scores[-1] == 0


# A decoder that adds --------------------------------------------------------------------------------------------------


class _Sums(nn.Module):
    """A backbone whose state at a position is the sum of all embeddings up to it, each times its position's weights."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(tokens, WIDTH)
        self.weight = nn.Parameter(torch.randn(MAX_TOKENS, WIDTH))

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None, use_cache: bool) -> BaseModelOutput:
        x = self.embeddings(input_ids)
        return BaseModelOutput(last_hidden_state=(x * self.weight[: x.shape[1]]).cumsum(dim=1))


class _Adding(nn.Module):
    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.base_model = _Sums(tokens)
        self.score = nn.Linear(WIDTH, len(LABELS))
        self.config = PreTrainedConfig(hidden_size=WIDTH, num_attention_heads=1, num_hidden_layers=1, pad_token_id=None)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.base_model.embeddings


@pytest.fixture
def adding(zoo: Zoo) -> Classifier:
    tokenizer = zoo("gpt2").tokenizer
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = _Adding(len(tokenizer)).eval().requires_grad_(False)
    model = DecoderModel(network, Architecture("Toy", pooling="last", causal=True), torch.device("cpu"))
    return Classifier("toy", "directory", "0" * 64, model, tokenizer, LABELS, MAX_TOKENS, pad_id=0)


@both
@every_unit
def test_a_decoder_that_adds_gives_every_feature_its_own_term(adding: Classifier, unit: str, method: str) -> None:
    encoding = adding.encode(TEXT)
    terms = adding.embed(torch.as_tensor(encoding.ids)) * adding.model.network.base_model.weight[: len(encoding)]
    own = (terms @ adding.model.network.score.weight[1]).double().numpy()
    found = explain(adding, TEXT, method, unit=unit, target=1, baseline="zero")
    close(found.scores, Subject(adding, encoding, unit=unit).units.sum_tokens(own), 1e-5)


# Many passes ----------------------------------------------------------------------------------------------------------


def by_loop(reader: Reader, passes: int, seed: int, distribution: str, weights: str) -> np.ndarray:
    """The regression with a row a reading, each from a pass of its own; the last score follows from the sum."""
    n = reader.n
    masses = {"shapley": shapley_masses, "optimized": optimized_masses}[distribution](n)
    keep = draws(masses, passes, seed)
    weighted = reading_weights(keep, masses, weights)
    start = reader(np.zeros(n, dtype=bool), n - 1)
    total = reader(np.ones(n, dtype=bool), n - 1) - start
    rows, values = [], []
    for r, i in _read(keep):
        held = (keep[r] & (np.arange(n) <= i)).astype(float)
        root = np.sqrt(weighted[r, i])
        rows.append(root * (held[:-1] - held[-1]))
        values.append(root * (reader(keep[r], i) - start - held[-1] * total))
    found = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0]
    return np.append(found, total - found.sum())


def _read(keep: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pass and feature of every reading but that of the full text."""
    for r, row in enumerate(keep):
        kept = np.flatnonzero(row).tolist()
        yield from ((r, i) for i in kept[: len(row) - 1])


@pytest.mark.parametrize(
    ("distribution", "weights"), [("shapley", "none"), ("optimized", "class"), ("optimized", "coalition")]
)
def test_equals_a_loop_of_single_readings(model: Classifier, plain: Plain, distribution: str, weights: str) -> None:
    reader = Reader(model, plain, "logit", "word")
    chosen = {"passes": 14, "distribution": distribution, "weights": weights}
    found = explain(model, TEXT, "mp_pi", unit="word", seed=7, **chosen)
    close(content(found), by_loop(reader, 14, 7, distribution, weights), 1e-3)
    assert found.completeness.approximation_error < 1e-9


def test_probabilities_by_a_loop_of_single_readings(decoder: Classifier) -> None:
    reader = Reader(decoder, Plain(decoder.id, decoder.tokenizer), "probability", "word")
    found = explain(decoder, TEXT, "mp_pi", unit="word", seed=1, output="probability")
    close(content(found), by_loop(reader, 2 * reader.n, 1, "shapley", "none"), 1e-3)


def test_equal_passes_are_run_once(decoder: Classifier) -> None:
    subject = Subject(decoder, decoder.encode(TEXT), unit="word")
    n = len(subject.units.content)
    for passes in (3, 2 * n, 200):
        distinct = {row.tobytes() for row in draws(shapley_masses(n), passes, seed=0)} - {np.ones(n, bool).tobytes()}
        assert explain(decoder, TEXT, "mp_pi", unit="word", passes=passes).cost.forward == len(distinct) + 2
    assert explain(decoder, TEXT, "mp_pi", unit="word").cost.forward <= 2 * n + 2


def test_seeds_differ(decoder: Classifier) -> None:
    first, second = (explain(decoder, TEXT, "mp_pi", seed=seed).scores for seed in (0, 1))
    assert np.abs(first - second).max() > 1e-4


def test_more_passes_come_nearer_to_kernel_shap() -> None:
    """Figure 5's comparison: the cosine with KernelSHAP at 16n samples, here the exact Shapley values or nearly so."""
    classifier = loaded("embedded:gpt2-mini-ag-news")
    texts = [
        "Oil prices rose sharply on Monday as supply fell",
        "The team won the final game of the season",
        "A new chip makes phones faster and cheaper",
    ]
    cosines: dict[float, list[float]] = {0.5: [], 2: [], 8: []}
    for text in texts:
        n = len(text.split())
        exact = explain(classifier, text, "kernel_shap", unit="word", output="logit", samples=16 * n).scores
        for share, seed in product(cosines, range(3)):
            ours = explain(classifier, text, "mp_pi", unit="word", passes=int(share * n), seed=seed).scores
            cosines[share].append(exact @ ours / np.linalg.norm(exact) / np.linalg.norm(ours))
    means = [np.mean(found) for found in cosines.values()]
    assert means == sorted(means)
    assert means[1] > 0.5


# Both -----------------------------------------------------------------------------------------------------------------


@both
@every_output
def test_one_feature_is_worth_what_its_absence_costs(model: Classifier, method: str, output: str) -> None:
    text = "film"
    subject = Subject(model, model.encode(text), output=output, unit="word")
    value = subject.scalar(subject.original) - subject.values(subject.baseline("mask")[None])[0]
    for chosen in ({}, {"distribution": "optimized", "weights": "coalition"} if method == "mp_pi" else {}):
        found = explain(model, text, method, unit="word", output=output, **chosen)
        assert content(found) == pytest.approx([value], abs=1e-5)
        assert found.cost.forward == 2


def _choices() -> list[tuple[str, dict[str, str]]]:
    return [
        (method, {spec.name: value})
        for method in BOTH
        for spec in get_method(method).parameter_specs()
        for value in spec.choices
        if value not in ("pad", "unk")
    ]


@pytest.mark.parametrize(("method", "chosen"), _choices())
def test_every_choice_on_a_padded_text(zoo: Zoo, method: str, chosen: dict[str, str]) -> None:
    classifier = zoo("llama")
    chosen = {**chosen, "baseline_data": "embedded:sentiment"}
    found = explain(classifier, TEXT, method, unit="word", **chosen)
    request = Request(model=classifier.id, text=TEXT, question=method, parameters=chosen, output="logit", unit="word")
    encoding = classifier.encode(TEXT)
    longer = encoding.padded(len(encoding) + 3, classifier.pad_id)
    close(attribute(classifier, longer, get_method(method), complete(request)).scores, found.scores, 1e-5)
    assert np.isfinite(found.scores).all()
    assert np.abs(found.scores).max() > 0


def test_a_coarse_distribution_is_told(decoder: Classifier) -> None:
    long = "film " * (RESOLUTION + 1)
    found = explain(decoder, long, "mp_pi", unit="word", passes=4, distribution="optimized")
    assert any(f"the {RESOLUTION + 1} features are too many" in warning for warning in found.warnings)
    assert not explain(decoder, long, "mp_pi", unit="word", passes=4).warnings
    assert not explain(decoder, "film " * 20, "mp_pi", unit="word", passes=4, distribution="optimized").warnings


@both
def test_a_prompt_that_asks_after_the_text_is_warned_of(decoder: Classifier, speaker: Zoo, method: str) -> None:
    asked = speaker("gpt2")
    words = "asks for the label words only at its end, after the text"
    assert any(words in warning for warning in explain(asked, TEXT, method).warnings)
    before = replace(asked, prompt=Prompt(("film: ", 0)))
    assert not any(words in warning for warning in explain(before, TEXT, method).warnings)
    assert not explain(decoder, TEXT, method).warnings


@both
def test_a_damaged_decoder_is_refused(decoder: Classifier, method: str) -> None:
    damaged = copy.deepcopy(decoder.model.network)
    damaged.score.weight[0, 0] = torch.nan
    with pytest.raises(ModelError, match=r"weight 'score\.weight' is not finite"):
        explain(with_network(decoder, damaged), TEXT, method)
