"""Randomized path-integration: slow loops over whole passes, closed forms, nested draws, paths of the embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explainlab import explain
from explainlab.attribution.diffusion import Draw, kept
from explainlab.attribution.methods.randomized import Rpi
from explainlab.attribution.random_maps import AttentionMaps, AttentionParameters
from explainlab.attribution.registry import get_method
from explainlab.attribution.subject import Subject
from explainlab.declared import parse
from explainlab.errors import RequestError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.context import FORWARD, Receivers, RunContext
from tests.attribution.drawn import candidates
from tests.attribution.linear import attention_only, slope
from tests.attribution.plain import Plain, close, gradient
from tests.conftest import Zoo
from tests.tiers import full

TEXT = "A funny film. It isn't good!"
SEED = 7
SAMPLES, STEPS, TIMESTEPS = 2, 3, 40

every_preset = pytest.mark.parametrize("preset", ["paper", "reference"])
either_product = pytest.mark.parametrize("product", [True, False])


def subject(classifier: Classifier, text: str = TEXT, **options: Any) -> Subject:
    return Subject(classifier, classifier.encode(text), **{"seed": SEED, **options})


def asked(**values: Any) -> AttentionParameters:
    return parse(Rpi, {"samples": SAMPLES, "steps": STEPS, "timesteps": TIMESTEPS, **values})


# The definition, written out ------------------------------------------------------------------------------------------


def share(timestep: int, timesteps: int = TIMESTEPS) -> float:
    """ᾱ_t."""
    product = 1.0
    for t in range(timestep + 1):
        product *= 1 - (1e-4 + (0.02 - 1e-4) * t / timesteps)
    return product if timestep else 1.0


def baseline(attention: np.ndarray, layer: int, draw: int, preset: str, first: int = 0) -> tuple[int, np.ndarray]:
    """Timestep and baseline [heads, N, N] of one draw; noise is drawn from row ``first`` on, around the end."""
    heads, n, _ = attention.shape
    rng = np.random.default_rng([SEED, layer, draw])
    uniform = rng.random()
    timestep = int(uniform * TIMESTEPS) + 1 if preset == "paper" else TIMESTEPS
    noise = np.zeros_like(attention)
    for row in range(n):
        for head in range(heads):
            noise[head, (first + row) % n] = rng.standard_normal(n)
    if preset == "paper":
        noise[attention == 0] = 0
    variance = 1 - share(timestep)
    return timestep, np.sqrt(share(timestep)) * attention + (variance**0.5 if preset == "paper" else variance) * noise


def whole_pass(classifier: Classifier, layer: int, point: Tensor, output: str, target: int) -> Tensor:
    """The gradient [heads, N, N] of the explained scalar in a pass of the whole model with one layer's attention."""
    point = point[None].float().requires_grad_()

    def replace(call: int, _: nn.Module, own: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return (point if call == layer - 1 else own), values

    with classifier.model.tapped(replace):
        logits = classifier.logits(classifier.inputs([classifier.encode(TEXT)]))
    value = (logits.softmax(dim=-1) if output == "probability" else logits)[0, target]
    return torch.autograd.grad(value, point)[0][0]


def by_loop(classifier: Classifier, layer: int, draw: int, preset: str, product: bool, output: str) -> np.ndarray:
    """The map [N], one path point and one whole pass at a time."""
    inputs = classifier.inputs([classifier.encode(TEXT)])
    target = int(classifier.logits(inputs).argmax())
    a = classifier.attention_maps(inputs)[0][layer - 1][0].double().numpy()
    n = a.shape[-1]
    pooling = classifier.architecture.pooling
    b = baseline(a, layer, draw, preset, first=n - 1 if pooling == "last" else 0)[1]
    nodes = range(1 if preset == "paper" else 0, STEPS + 1)
    total = np.zeros_like(a)
    for j in nodes:
        v = b + j / STEPS * (a - b)
        one = whole_pass(classifier, layer, torch.from_numpy(v), output, target).double().numpy()
        total += one * v if product else one
    mean = ((a - b if preset == "paper" else a) * total / len(nodes)).mean(axis=0)
    return {"first": mean[0], "last": mean[-1], "mean": mean.mean(axis=0)}[pooling]


@pytest.mark.parametrize("layer", [1, 2, 3])
@pytest.mark.parametrize("name", ["bert", "gpt2"])
@every_preset
@either_product
def test_equals_a_loop_over_whole_passes(zoo: Zoo, name: str, layer: int, preset: str, product: bool) -> None:
    output = "logit" if preset == "reference" else "probability"
    found = candidates(subject(zoo(name), output=output), asked(preset=preset, layers=layer), product)
    assert [(c.layer, c.draw) for c in found] == [(layer, 0), (layer, 1)]
    for candidate in found:
        close(candidate.scores, by_loop(zoo(name), layer, candidate.draw, preset, product, output), 1e-5)


@pytest.mark.parametrize("name", ["mistral", "modernbert", "modernbert-mean", "albert"])
@every_preset
def test_equals_a_loop_on_other_architectures(zoo: Zoo, name: str, preset: str) -> None:
    for candidate in candidates(subject(zoo(name)), asked(preset=preset, layers="2,3", samples=1)):
        expected = by_loop(zoo(name), candidate.layer, 0, preset, True, "probability")
        close(candidate.scores, expected, 1e-5)


def test_many_batches_equal_one(encoder: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = asked(layers="all", samples=3)
    expected = candidates(subject(encoder), parameters)
    small = subject(encoder)
    monkeypatch.setattr(small.batcher, "_fit", {True: 2, False: 2})
    for found, wanted in zip(candidates(small, parameters), expected, strict=True):
        close(found.scores, wanted.scores, 1e-5)


def test_passes_are_counted(encoder: Classifier) -> None:
    for preset, nodes in (("paper", STEPS), ("reference", STEPS + 1)):
        one = subject(encoder)
        candidates(one, asked(preset=preset, layers="1,3"))
        assert (one.forward, one.backward) == (1 + 2 * SAMPLES * nodes, 2 * SAMPLES * nodes)


@pytest.mark.parametrize("name", ["bert", "gpt2", "modernbert-mean"])
@every_preset
def test_padding_is_neither_drawn_nor_read(zoo: Zoo, name: str, preset: str) -> None:
    classifier, parameters = zoo(name), asked(preset=preset, layers="all")
    encoding = classifier.encode(TEXT)
    longer = Subject(classifier, encoding.padded(len(encoding) + 4, classifier.pad_id), seed=SEED)
    for found, expected in zip(
        candidates(longer, parameters), candidates(subject(classifier), parameters), strict=True
    ):
        close(found.scores, expected.scores, 1e-5)


# Closed forms --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def linear(zoo: Zoo) -> Classifier:
    return attention_only(zoo("gpt2").tokenizer)


def closed(classifier: Classifier, target: int) -> tuple[np.ndarray, np.ndarray]:
    """The last layer's attention and the gradient of a logit with respect to it, both [heads, N, N]."""
    inputs = classifier.inputs([classifier.encode(TEXT)])
    attention = classifier.attention_maps(inputs)[0][-1][0]
    return attention.double().numpy(), slope(classifier, inputs.ids, target).double().numpy()


def test_the_toys_slope_is_right(linear: Classifier) -> None:
    a, steep = closed(linear, 0)
    found = whole_pass(linear, 2, torch.from_numpy(a), "logit", 0).double().numpy()
    close(found, steep, 1e-5)


@either_product
def test_the_closed_form_of_the_code(linear: Classifier, product: bool) -> None:
    a, steep = closed(linear, 1)
    found = candidates(subject(linear, output="logit", target="1"), asked(preset="reference", layers="last"), product)
    for candidate in found:
        b = baseline(a, 2, candidate.draw, "reference")[1]
        assert candidate.timestep == TIMESTEPS
        close(candidate.scores, (a * steep * ((a + b) / 2 if product else 1)).mean(axis=0)[0], 1e-5)


@either_product
def test_the_closed_form_of_the_paper(linear: Classifier, product: bool) -> None:
    a, steep = closed(linear, 1)
    for candidate in candidates(subject(linear, output="logit", target="1"), asked(), product):
        timestep, b = baseline(a, 2, candidate.draw, "paper")
        assert candidate.timestep == timestep
        mean = b + (STEPS + 1) / (2 * STEPS) * (a - b)
        close(candidate.scores, ((a - b) * steep * (mean if product else 1)).mean(axis=0)[0], 1e-5)


def test_without_diffusion_the_baseline_is_the_attention(encoder: Classifier) -> None:
    one = subject(encoder)
    for preset, still in (("paper", True), ("reference", False)):
        maps = AttentionMaps(one, asked(preset=preset), product=True)
        assert (np.abs(maps.tokens([Draw(3, 0, 0)])).max() == 0) == still


def test_the_schedule() -> None:
    found = kept(500)
    assert found.shape == (501,)
    assert found[0] == 1
    assert (np.diff(found) < 0).all()
    assert found[500] == pytest.approx(0.00629, abs=5e-6)
    assert kept(TIMESTEPS)[17] == pytest.approx(share(17), rel=1e-12)


# Draws ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["random", "adaptive"])
@every_preset
def test_the_first_draws_of_more_are_the_fewer(encoder: Classifier, search: str, preset: str) -> None:
    few, more = (
        candidates(subject(encoder), asked(search=search, preset=preset, samples=samples, layers="last"))
        for samples in (8, 14)
    )
    assert (len(few), len(more)) == (8, 14)
    for small, large in zip(few, more, strict=False):
        assert (small.layer, small.draw, small.timestep) == (large.layer, large.draw, large.timestep)
        close(small.scores, large.scores, 1e-6)


def test_layers_are_drawn_apart(decoder: Classifier) -> None:
    alone = candidates(subject(decoder), asked(layers="2"))
    among = [c for c in candidates(subject(decoder), asked(layers="all")) if c.layer == 2]
    assert [c.timestep for c in alone] == [c.timestep for c in among]
    for first, second in zip(alone, among, strict=True):
        close(first.scores, second.scores, 1e-6)


def test_timesteps_are_uniform(encoder: Classifier) -> None:
    maps = AttentionMaps(subject(encoder), asked(timesteps=4), product=True)
    drawn = [maps.draw(3, number).timestep for number in range(400)]
    counts = np.bincount(drawn, minlength=5)
    assert counts[0] == 0
    assert counts[1:].min() > 70
    assert {maps.draw(3, number, 0.25, 0.5).timestep for number in range(50)} == {2}


# Parameters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layers", "expected"), [("last", [3]), ("all", [1, 2, 3]), ([1, 3], [1, 3]), ("-1,1", [1, 3]), (2, [2])]
)
def test_layers_by_name_and_number(encoder: Classifier, layers: object, expected: list[int]) -> None:
    found = candidates(subject(encoder), asked(layers=layers, samples=1))
    assert [candidate.layer for candidate in found] == expected


@pytest.mark.parametrize("layers", ["4", "1,4", "-4"])
def test_a_layer_beyond_the_model_is_told_those_there_are(encoder: Classifier, layers: str) -> None:
    with pytest.raises(RequestError, match=r"no layer -?4\. .* 1 to 3"):
        candidates(subject(encoder), asked(layers=layers))


@pytest.mark.parametrize(
    "wrong",
    [{"samples": 0}, {"steps": 0}, {"timesteps": 0}]
    + [{"layers": value} for value in ("0", "first", "", "1,,2", "1,1", "last,1", [], None, True, 1.5)],
    ids=str,
)
def test_what_is_out_of_range_is_named(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(RequestError, match=rf"rpi: {name} = .* is not accepted"):
        asked(**wrong)


def test_layers_that_share_their_weights_can_be_chosen(zoo: Zoo) -> None:
    """ALBERT has one module of three layers."""
    layers = {"samples": 1, "steps": 1, "layers": "3"}
    found, last = (explain(zoo("albert"), TEXT, "rpi", **{**layers, **other}) for other in ({}, {"layers": "last"}))
    np.testing.assert_array_equal(found.scores, last.scores)
    with pytest.raises(RequestError, match="Its layers are 1 to 3"):
        explain(zoo("albert"), TEXT, "rpi", **{**layers, "layers": "4"})


def test_the_recorded_pass_is_a_forward_pass(encoder: Classifier) -> None:
    spent: list[float] = []
    context = RunContext(progress=Receivers(spend=spent.append))
    AttentionMaps(subject(encoder, context=context), asked(), product=True)
    assert sum(spent) == pytest.approx(FORWARD * len(encoder.encode(TEXT)))


def test_more_passes_than_allowed_are_refused(encoder: Classifier) -> None:
    for method, too_many in (("rpi", 2_001), ("rpi_ig", 2_001), ("rpi_sig", 300)):
        with pytest.raises(RequestError, match=r"limit is 200,000; .* max_evaluations"):
            explain(encoder, TEXT, method, samples=too_many, steps=100)


def test_the_reference_has_defaults_of_its_own(encoder: Classifier) -> None:
    chosen = {"samples": 1, "steps": 1}
    found = explain(encoder, TEXT, "rpi", preset="reference", **chosen).request
    assert (found.parameters["layers"], found.output) == ("-3", "logit")
    named = explain(encoder, TEXT, "rpi", preset="reference", layers="last", output="probability", **chosen).request
    assert (named.parameters["layers"], named.output) == ("last", "probability")
    paper = explain(encoder, TEXT, "rpi_g", **chosen).request
    assert (paper.parameters["layers"], paper.output) == ("last", "probability")


@pytest.mark.parametrize("name", ["deberta", "t5"])
@pytest.mark.parametrize("method", ["rpi", "rpi_g"])
def test_attention_that_cannot_be_replaced_is_refused(zoo: Zoo, name: str, method: str) -> None:
    with pytest.raises(UnsupportedError, match="not replaced"):
        explain(zoo(name), TEXT, method)


@pytest.mark.parametrize("method", ["rpi", "rpi_g", "rpi_ig", "rpi_sig"])
def test_words_are_sums_of_tokens(encoder: Classifier, method: str) -> None:
    cheap = {"samples": 1, "steps": 2, "seed": SEED}
    tokens, words = (explain(encoder, TEXT, method, unit=unit, **cheap) for unit in ("token", "word"))
    assert words.scores.shape == (len(words.features),) != tokens.scores.shape
    ends = [feature.end for feature in words.features]
    for i, feature in enumerate(words.features):
        if not feature.special:
            inside = [feature.start <= token.start and token.end <= ends[i] for token in tokens.features]
            own = [not token.special and held for token, held in zip(tokens.features, inside, strict=True)]
            assert words.scores[i] == pytest.approx(tokens.scores[own].sum(), abs=1e-12)


# Random baselines of the word embeddings ------------------------------------------------------------------------------


def embedded(plain: Plain, content: np.ndarray, draw: int) -> Tensor:
    """The text [1, N, d] whose own tokens are at the baseline of one draw."""
    rng = np.random.default_rng([SEED, 0, draw])
    left = share(int(rng.random() * TIMESTEPS) + 1)
    start = plain.baseline(TEXT).double()
    noise = torch.from_numpy(rng.standard_normal((int(content.sum()), start.shape[-1])))
    start[:, content] = left**0.5 * start[:, content] + (1 - left) ** 0.5 * noise
    return start.float()


@pytest.mark.parametrize("name", ["bert", "gpt2", full("deberta", reason="a case takes three seconds")])
@pytest.mark.parametrize("method", ["rpi_ig", "rpi_sig"])
def test_paths_of_the_embeddings_equal_a_loop(zoo: Zoo, name: str, method: str) -> None:
    classifier = zoo(name)
    plain = Plain(classifier.id, classifier.tokenizer)
    end, content = plain.embed(plain.ids(TEXT)), ~plain.special(TEXT).numpy()
    scalar = plain.scalar("probability", plain.predicted(TEXT))
    parameters = parse(get_method(method), {"samples": SAMPLES, "steps": STEPS, "timesteps": TIMESTEPS})
    maps = get_method(method).maps(subject(classifier), parameters)
    found = maps.candidates([maps.draw(0, number) for number in range(SAMPLES)])
    for candidate in found:
        start, expected = embedded(plain, content, candidate.draw), np.zeros(len(content))
        for token in np.flatnonzero(content):
            line = start if method == "rpi_ig" else end.clone()
            line[:, token] = start[:, token]
            for j in range(1, STEPS + 1):
                one = gradient(scalar, line + j / STEPS * (end - line))[0, token]
                expected[token] += float(one @ (end - line)[0, token]) / STEPS
        close(candidate.scores, expected)
