"""The preset of the thesis' code against a plain loop of torch's own optimiser, and its caveats."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from explainlab import study
from explainlab.analyses.attack.analysis import TOLD, HeldMaps, ReferenceSearch
from explainlab.analyses.attack.maps import BASELINE, Method
from explainlab.analyses.attack.search import Attacked, Goal, Objective, Settings, normalised, top
from explainlab.analyses.attributions import text_seed
from explainlab.attribution.passes import read_originals
from explainlab.attribution.subject import Subject
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier
from explainlab.testing.exact import exact
from tests.conftest import Zoo

TEXT = "A funny film. It isn't good!"
STEPS, NODES, RADIUS = 3, 3, 0.5


def plain_map(classifier: Classifier, subject: Subject, method: Method, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the token scores [N] of the class predicted at ``x`` [1, N, d], and the logits, as the thesis' explainers.

    A gradient is a constant, and the sum that ``backward`` adds to a leaf stays there.
    """
    logits = classifier.logits(subject.inputs, x)[0]
    place = logits.argmax()
    if method != "integrated_gradients":
        (gradient,) = torch.autograd.grad(logits[place], x, retain_graph=True)
        logits[place].backward(retain_graph=True)
        return (gradient.norm(dim=-1) if method == "gradient" else (x * gradient).sum(dim=-1))[0], logits
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    start, total = subject.baseline(BASELINE), torch.zeros_like(x)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        at = (start + node * (x.detach() - start)).requires_grad_()
        (gradient,) = torch.autograd.grad(classifier.logits(subject.inputs, at)[0, place], at)
        total += weight * gradient
    return ((x - start) * total).sum(dim=-1)[0], logits


def slowly(classifier: Classifier, method: Method, objective: Objective, k: int) -> tuple[np.ndarray, list[int]]:
    """Return the scores at the end of the attack, and the listed features."""
    subject = Subject(classifier, classifier.encode(TEXT), output="logit")
    text = subject.embeddings[None]
    before, logits = plain_map(classifier, subject, method, text.clone().requires_grad_())
    predicted, said = int(logits.argmax()), logits.detach()
    before = before.detach().abs() / before.detach().abs().sum()
    listed = before.argsort(descending=True, stable=True)[:k]
    drawn = np.random.default_rng(text_seed(subject)).random(tuple(text.shape[1:])) * RADIUS / 2
    delta = torch.nn.Parameter(torch.from_numpy(drawn)[None].to(text))
    optimiser = torch.optim.Adam([delta], lr=0.1 * RADIUS / 2)
    best, lowest = before, np.inf
    for step in range(STEPS + 1):
        optimiser.zero_grad()
        scores, logits = plain_map(classifier, subject, method, text + delta.clamp(-RADIUS, RADIUS))
        shares = scores.abs() / scores.abs().sum()
        loss = shares[listed].mean()
        if objective == "constrained":
            loss = loss + (said[predicted] - logits[predicted]) ** 2
        if loss.requires_grad:
            loss.backward()
        kept = objective == "constrained" or (
            int(logits.argmax()) == predicted and float(shares[listed].sum()) < lowest
        )
        if step and kept:
            best, lowest = shares.detach(), float(shares[listed].sum())
        optimiser.step()
    return best.numpy(), listed.tolist()


@pytest.mark.parametrize("objective", ["unconstrained", "constrained"])
@pytest.mark.parametrize("method", ["gradient", "input_x_gradient", "integrated_gradients"])
def test_it_is_that_of_a_plain_loop(zoo: Zoo, method: Method, objective: Objective) -> None:
    settings = Settings(STEPS, learning_rate=0.1, beta=1.0, tolerance=0.01, surrogate=0.0, positions="all")
    with exact(zoo("bert")) as classifier:
        subject = Subject(classifier, classifier.encode(TEXT))
        read_originals([subject])
        search, among = ReferenceSearch([subject], HeldMaps(method, NODES), settings), np.arange(len(subject.encoding))
        (point,) = search.originals([subject])
        listed = top(normalised(point.scores, among), among, 30 * len(among) // 100)
        attacked = Attacked(subject, point, listed, [Goal(objective, str(RADIUS), RADIUS)], among)
        search.attack([attacked])
        expected, first = slowly(classifier, method, objective, len(listed))
    assert listed.tolist() == first
    (run,) = attacked.runs
    np.testing.assert_allclose(normalised(run.best.scores, among), expected, rtol=1e-6)
    if objective == "constrained":
        assert run.best.step == run.steps == STEPS, "the last step counts"


def test_it_says_what_it_is_and_has_the_thesis_radius(zoo: Zoo) -> None:
    result = study(zoo("bert"), "attack", TEXT, preset="reference", steps=1)
    parameters = result.request.parameters
    assert (parameters["epsilon"], parameters["positions"], parameters["steps"]) == (["2"], "all", 1)
    assert TOLD in result.body.caveats
    with pytest.raises(RequestError, match="surrogate"):
        study(zoo("bert"), "attack", TEXT, preset="reference", surrogate=30)
