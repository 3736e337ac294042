"""The preset of the paper's code: its integrated gradients in closed form and by a slow loop; its warnings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from explainlab.analyses.registry import complete, new_request, request_key
from explainlab.analyses.roar.measures import CUT, TOLD, Measure
from explainlab.app.pages.roar.form import RoarView, shows
from explainlab.attribution.explain import outcomes_of
from explainlab.attribution.registry import parse_spec
from explainlab.attribution.subject import Subject
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier
from explainlab.reader import Reader
from tests.analyses.roar.grids import Watching, ask
from tests.attribution.plain import Plain, close
from tests.conftest import Zoo
from tests.toys import Linear, toy
from tests.zoo import tokenizer_of

TEXT = "A funny film. It isn't good!"
PATH = "integrated_gradients:rule=right:steps={steps}:baseline=zero"


def scores(classifier: Classifier, steps: int, weighted: bool) -> np.ndarray:
    """Return the scores of the second class's logit, float64 [tokens]."""
    request = parse_spec(PATH.format(steps=steps))
    subject = Subject(classifier, classifier.encode(TEXT), target=classifier.labels[1], output="logit")
    method = Measure(request, absolute=True, alpha_weighted=weighted).method
    return outcomes_of([subject], method, request.parameters)[0].scores


@pytest.mark.parametrize("steps", [1, 2, 50])
def test_of_a_linear_model_they_are_a_half_and_a_bit(steps: int) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        classifier = toy(Linear(), tokenizer_of("gpt2"))
    true = scores(classifier, steps, weighted=False)
    assert np.abs(true).max() > 0.1
    close(scores(classifier, steps, weighted=True), true * (steps + 1) / (2 * steps), 1e-6)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_they_are_those_of_a_loop_that_differentiates_by_the_text_itself(name: str, zoo: Zoo) -> None:
    """Differentiate F(x' + α (x - x')), summed over α, as one graph whose leaf is x, as the paper's code does."""
    classifier, steps = zoo(name), 7
    plain = Plain(classifier.id, classifier.tokenizer)
    text, start = plain.embed(plain.ids(TEXT)), plain.baseline(TEXT, "zero")
    leaf, total = text.clone().requires_grad_(), torch.zeros_like(text)
    for step in range(1, steps + 1):
        value = plain.scalar("logit", 1)(start + step / steps * (leaf - start)).sum()
        total += torch.autograd.grad(value, leaf)[0] / steps
    expected = ((text - start) * total).sum(dim=-1)[0]
    close(scores(classifier, steps, weighted=True), expected)
    assert np.abs(scores(classifier, steps, weighted=False) - expected.numpy()).max() > 0.1 * expected.abs().max()


def test_the_papers_code_has_a_key_of_its_own(files: dict[str, str]) -> None:
    def key(**given: str) -> str:
        parameters = {"test": files["test"], **given}
        request = complete(new_request(question="roar", model="bert", data=files["train"], parameters=parameters))
        return request_key(request, "model", Reader())

    assert key() == key(preset="paper") != key(preset="reference")


def test_it_cuts_faithfulness_and_takes_points_at_equal_distances(files: dict[str, str]) -> None:
    view = RoarView(source=files["train"], test=files["test"], preset="reference", clip=True)
    assert shows(view.request()) == view
    request = new_request(question="roar", model="bert", data=files["train"],
                          parameters={"test": files["test"], "preset": "reference"})  # fmt: skip
    assert complete(request).parameters["clip"] is True
    with pytest.raises(RequestError, match="rule=right"):
        complete(request.model_copy(update={"parameters": request.parameters | {"measures": "integrated_gradients"}}))


def test_only_what_differs_is_trained_and_it_is_told(files: dict[str, str], tmp_path: Path) -> None:
    context = Watching(tmp_path)
    asked = {"measures": "gradient+" + PATH.format(steps=3), "ratios": [0, 40, 100]}
    paper = ask(context, files, **asked)
    context.trained.clear()
    code = ask(context, files, preset="reference", **asked)
    assert len(context.trained) == 1
    assert (TOLD in code.warnings, TOLD in paper.warnings) == (True, False)
    assert "for comparison only" in TOLD
    context.trained.clear()
    plain = ask(context, files, preset="reference", **asked | {"measures": "gradient"})
    assert not context.trained
    assert plain.warnings == (CUT,)
