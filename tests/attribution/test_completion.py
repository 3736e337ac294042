"""Every method on language models with a prompt: the text is explained, the prompt stays, and a slow loop agrees."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from explainlab import Attribution, explain, methods
from explainlab.attribution.explain import attribute
from explainlab.attribution.methods.randomized import Rpi
from explainlab.attribution.random_maps import UNDRAWN, AttentionMaps
from explainlab.attribution.registry import complete, get_method
from explainlab.attribution.subject import Subject
from explainlab.declared import parse
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Inputs
from explainlab.models.loading import load_model
from explainlab.models.prompting import Template, save_template
from explainlab.request import Request
from explainlab.testing import traces
from tests.attribution.drawn import candidates
from tests.attribution.methods.test_randomized import SEED, STEPS, TIMESTEPS, share
from tests.attribution.plain import close
from tests.attribution.test_contract import CHEAP
from tests.conftest import Zoo
from tests.failures import check_each
from tests.tiers import first

TEXT = "A funny film. It isn't good!"
STORY = Template(
    name="methods",
    text="Once upon a time, {text} Timmy was very",
    labels={"glad": " happy", "grown": " big"},
)
NOT_A_DECODERS = {"llm_ranking", "alti", "decompx", "globenc"}
EVERY = sorted(set(methods()) - NOT_A_DECODERS)
"""All but the method that puts a question of its own, too long for the tiny models."""
PATHS = (
    "integrated_gradients",
    "sequential_integrated_gradients",
    "discretized_integrated_gradients",
    "gradient_shap",
    "deep_lift",
    "rpi_ig",
    "rpi_sig",
)
"""Methods whose paths lie in the word embeddings."""


@pytest.fixture(
    scope="module", params=first(("gpt2",), ("gpt2", "llama", "stories260k"), "every method takes many seconds")
)
def classifier(request: pytest.FixtureRequest, speaker: Zoo) -> Classifier:
    """Two tiny random language models, and a real one that is skipped where it is missing."""
    if request.param != "stories260k":
        return speaker(request.param)
    path: Path = request.getfixturevalue("shared_models") / request.param
    save_template(STORY)
    return load_model(f"completion:{STORY.name}:{path}", device="cpu")


def _cheap(method: str) -> dict[str, Any]:
    taken = get_method(method).Parameters.model_fields
    few = {"samples": 2, "steps": 3} if method.startswith("rpi") else {}
    return {name: value for name, value in {**CHEAP, **few}.items() if name in taken}


@cache
def _first(classifier: Classifier, method: str) -> Attribution:
    return explain(classifier, TEXT, method, **_cheap(method))


def test_the_text_is_explained(classifier: Classifier) -> None:
    encoding = classifier.encode(TEXT)

    def check(method: str) -> None:
        before, result = traces(classifier), _first(classifier, method)
        own = [feature for feature in result.features if not feature.special]
        assert len(result.features) == len(encoding)
        assert "".join(feature.text for feature in own).replace(" ", "") == TEXT.replace(" ", "")
        assert [TEXT[feature.start : feature.end] for feature in own] == [feature.text for feature in own]
        assert [feature.prompt for feature in result.features] == [said is not None for said in encoding.prompt]
        assert all(feature.special for feature in result.features if feature.prompt)
        assert np.isfinite(result.scores).all()
        assert np.abs(result.scores[encoding.content]).max() > 0
        assert traces(classifier) == before

    check_each(check, EVERY)


def test_the_prompt_scores_nothing_where_a_method_leaves_it_as_it_is(classifier: Classifier) -> None:
    def check(method: str) -> None:
        result = _first(classifier, method)
        special = [feature.special for feature in result.features]
        assert np.abs(result.scores[special]).max() <= 1e-12

    check_each(check, [m for m in EVERY if get_method(m).family == "Perturbation" or m in PATHS])


def test_padding_changes_no_score(classifier: Classifier) -> None:
    encoding = classifier.encode(TEXT)
    longer = encoding.padded(len(encoding) + 3, classifier.pad_id)

    def check(name: str) -> None:
        method, parameters = get_method(name), _cheap(name)
        output = method.default_output(parameters)
        if {"rule", "steps"} <= method.Parameters.model_fields.keys():
            parameters["rule"] = "gauss_legendre"
        request = complete(Request(model=classifier.id, text=TEXT, question=name, parameters=parameters, output=output))
        found = attribute(classifier, encoding, method, request).scores
        padded = attribute(classifier, longer, method, request).scores
        np.testing.assert_allclose(padded, found, rtol=0, atol=2e-5 * np.abs(found).max() + 1e-7)

    check_each(check, EVERY)


def test_no_pass_changes_the_prompt(classifier: Classifier) -> None:
    """A method may replace any word embedding of the text; the prompt has its own."""
    encoding = classifier.encode(TEXT)
    special = torch.from_numpy(encoding.special)
    own = classifier.embed(torch.from_numpy(encoding.ids))[special]
    seen: list[Tensor] = []

    class Look(Classifier):
        def logits(self, inputs: Inputs, embeddings: Tensor | None = None, *rest: object) -> Tensor:
            if embeddings is not None:
                seen.append(embeddings.detach()[..., special, :])
            return super().logits(inputs, embeddings, *rest)

    watched = Look(**{field.name: getattr(classifier, field.name) for field in fields(classifier)})
    for method in EVERY:
        explain(watched, TEXT, method, **_cheap(method))
    assert sum(len(states) for states in seen) > 100
    assert all(torch.equal(states, own.expand_as(states)) for states in seen)


# By transformers alone -----------------------------------------------------------------------------------------------


class Plain:
    """A prompted language model as transformers alone runs it: one text at a time, the head over the vocabulary."""

    def __init__(self, classifier: Classifier) -> None:
        path = classifier.id.split(":", 2)[2]
        self.model = AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager", dtype=torch.float32)
        self.model.eval().requires_grad_(False)
        self.encoding = classifier.encode(TEXT)
        self.embeddings = self.model.get_input_embeddings().weight[torch.from_numpy(self.encoding.ids)][None]
        weight = self.model.get_output_embeddings().weight
        rows = [int((weight == row).all(dim=1).nonzero()[0]) for row in classifier.model.network.score.weight]
        self.answers = rows
        self.filler = self.model.get_input_embeddings().weight[classifier.filler_id("mask")]

    def probabilities(self, embeddings: Tensor) -> Tensor:
        return self.model(inputs_embeds=embeddings).logits[0, -1, self.answers].softmax(dim=-1)

    @property
    def target(self) -> int:
        return int(self.probabilities(self.embeddings).argmax())


@pytest.fixture(scope="module")
def plain(classifier: Classifier) -> Plain:
    return Plain(classifier)


def test_occlusion_by_hand(classifier: Classifier, plain: Plain) -> None:
    whole = plain.probabilities(plain.embeddings)[plain.target]
    expected = np.zeros(len(plain.encoding))
    for token in np.flatnonzero(plain.encoding.content):
        without = plain.embeddings.clone()
        without[0, token] = plain.filler
        expected[token] = float(whole - plain.probabilities(without)[plain.target])
    close(explain(classifier, TEXT, "occlusion").scores, expected)


def test_integrated_gradients_by_hand(classifier: Classifier, plain: Plain) -> None:
    content = torch.from_numpy(plain.encoding.content)
    baseline = torch.where(content[:, None], plain.filler, plain.embeddings)
    total = torch.zeros_like(plain.embeddings)
    for step in range(1, 6):
        point = (baseline + step / 5 * (plain.embeddings - baseline)).requires_grad_()
        value = plain.probabilities(point)[plain.target]
        total += torch.autograd.grad(value, point)[0] / 5
    expected = ((plain.embeddings - baseline) * total).sum(dim=-1)[0]
    found = explain(classifier, TEXT, "integrated_gradients", rule="right", steps=5)
    close(found.scores, expected)
    change = plain.probabilities(plain.embeddings) - plain.probabilities(baseline)
    assert found.completeness.expected == pytest.approx(float(change[plain.target]), abs=1e-5)


def test_attention_by_hand(classifier: Classifier, plain: Plain) -> None:
    """The last row: that of the prompt's end, over the text's span."""
    maps = plain.model(inputs_embeds=plain.embeddings, output_attentions=True).attentions
    close(explain(classifier, TEXT, "attention_last").scores, maps[-1][0].mean(dim=0)[-1])


# RPI -----------------------------------------------------------------------------------------------------------------


def _baseline(attention: np.ndarray, span: np.ndarray, layer: int, draw: int, preset: str) -> np.ndarray:
    """[heads, N, N]: noise in the rows of the text; elsewhere none (paper), or the attention in its place."""
    heads, n, _ = attention.shape
    rng = np.random.default_rng([SEED, layer, draw])
    uniform = rng.random()
    left = share(int(uniform * TIMESTEPS) + 1 if preset == "paper" else TIMESTEPS)
    spread = (1 - left) ** (0.5 if preset == "paper" else 1)
    found = np.zeros_like(attention)
    for row in [n - 1, *range(n - 1)]:  # drawn from the row that is read on, around the end
        for head in range(heads):
            noise = rng.standard_normal(n)
            if preset == "paper":
                noise[attention[head, row] == 0] = 0
            if not span[row]:
                noise = attention[head, row] if preset == "reference" else np.zeros(n)
            found[head, row] = left**0.5 * attention[head, row] + spread * noise
    return found


@pytest.mark.parametrize("preset", ["paper", "reference"])
@pytest.mark.parametrize("layer", [1, 3])
def test_rpi_randomises_the_rows_of_the_text(speaker: Zoo, preset: str, layer: int) -> None:
    """One path point and one whole pass at a time (methods.md 2: noise only on query rows of the input span)."""
    for name in ("gpt2", "mistral"):
        classifier = speaker(name)
        encoding = classifier.encode(TEXT)
        inputs = classifier.inputs([encoding])
        output = "logit" if preset == "reference" else "probability"
        parameters = parse(
            Rpi, {"samples": 2, "steps": STEPS, "timesteps": TIMESTEPS, "preset": preset, "layers": layer}
        )
        found = candidates(Subject(classifier, encoding, seed=SEED, output=output), parameters)
        target = int(classifier.logits(inputs).argmax())
        a = classifier.attention_maps(inputs)[0][layer - 1][0].double().numpy()
        for candidate in found:
            b = _baseline(a, encoding.content, layer, candidate.draw, preset)
            nodes = range(1 if preset == "paper" else 0, STEPS + 1)
            total = sum(
                _slope(classifier, inputs, layer, b + j / STEPS * (a - b), output, target) * (b + j / STEPS * (a - b))
                for j in nodes
            )
            mean = ((a - b if preset == "paper" else a) * total / len(nodes)).mean(axis=0)
            close(candidate.scores, mean[-1], 1e-5)


def _slope(classifier: Classifier, inputs, layer: int, point: np.ndarray, output: str, target: int) -> np.ndarray:
    """The gradient [heads, N, N] in a pass of the whole model with one layer's attention replaced."""
    at = torch.from_numpy(point).float()[None].requires_grad_()

    def replace(call: int, _: nn.Module, own: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return (at if call == layer - 1 else own), values

    with classifier.model.tapped(replace):
        logits = classifier.logits(inputs)
    value = (logits.softmax(dim=-1) if output == "probability" else logits)[0, target]
    return torch.autograd.grad(value, at)[0][0].double().numpy()


def test_the_reference_keeps_a_little_more_than_the_attention(speaker: Zoo) -> None:
    """At t = T = 500 the rows outside the text are 1.073 A, as in the authors' code."""
    classifier = speaker("llama")
    subject = Subject(classifier, classifier.encode(TEXT), seed=SEED, output="logit")
    maps = AttentionMaps(subject, parse(Rpi, {"preset": "reference", "layers": "1", "samples": 1}), product=True)
    drawn = maps._baselines([maps.draw(1, 0)])[0].double().numpy()
    attention = maps.replay.attention(1).double().numpy()
    span = subject.encoding.content
    close(drawn[:, ~span], 1.0731 * attention[:, ~span], 1e-4)
    assert np.abs(drawn[:, span] - attention[:, span]).min(axis=(0, 2)).max() > 0


def test_a_last_layer_that_no_noise_reaches_is_told(speaker: Zoo) -> None:
    for layers, told in (("last", True), ("-2", False), ("all", True)):
        result = explain(speaker("llama"), TEXT, "rpi", samples=1, steps=2, layers=layers)
        assert (UNDRAWN in result.warnings) == told
    assert UNDRAWN not in explain(speaker("llama"), TEXT, "rpi_ig", samples=1, steps=2).warnings
