"""The contract of methods catches what is broken: each broken method fails the check that is meant for it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from explainlab.attribution.method import Method, Outcome
from explainlab.attribution.methods.occlusion import Occlusion
from explainlab.attribution.registry import get_method
from explainlab.attribution.subject import Subject
from explainlab.declared import Parameters
from explainlab.models.classifier import Classifier
from explainlab.testing import check_method
from tests.conftest import Zoo, loaded


class _Broken(Method):
    """The logit without each token; subclasses break one promise each."""

    id: ClassVar = "occlusion"
    label: ClassVar = "Broken"
    family: ClassVar = "Perturbation"
    source: ClassVar = "-"
    definition: ClassVar = "-"
    Parameters: ClassVar = Occlusion.Parameters

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        return self.changed(subject, Occlusion().attribute(subject, parameters).scores)

    def changed(self, subject: Subject, scores: np.ndarray) -> Outcome:
        return Outcome(scores)


class NotFinite(_Broken):
    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        outcome = super().attribute(subject, parameters)
        return Outcome(outcome.scores[:-1])


class Drawn(_Broken):
    def changed(self, subject: Subject, scores: np.ndarray) -> Outcome:
        return Outcome(scores + np.random.default_rng(subject.seed).normal(size=len(scores)))


class NotCounted(_Broken):
    def changed(self, subject: Subject, scores: np.ndarray) -> Outcome:
        subject.classifier.logits(subject.inputs)
        return Outcome(scores)


class Dirty(_Broken):
    def changed(self, subject: Subject, scores: np.ndarray) -> Outcome:
        subject.classifier.model.network.register_forward_hook(lambda *_: None)
        return Outcome(scores)


class ReadsPadding(_Broken):
    def changed(self, subject: Subject, scores: np.ndarray) -> Outcome:
        return Outcome(scores * len(subject.encoding))


class Unsigned(_Broken):
    signed: ClassVar = False


class Tokens(_Broken):
    """One score a token, whatever the unit."""

    def changed(self, subject: Subject, scores: np.ndarray) -> Outcome:
        return Outcome(scores if subject.unit == "token" else np.resize(scores, len(subject.encoding)))


class Unstoppable(_Broken):
    def changed(self, subject: Subject, scores: np.ndarray) -> Outcome:
        subject.context.progress.report(1, 2, "")
        return Outcome(scores)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (NotFinite, "answers: the scores have the shape"),
        (Drawn, "answers: a second run gives other scores"),
        (NotCounted, "costs: the cost is reported as"),
        (Dirty, "answers: a run leaves something behind on the model"),
        (ReadsPadding, "batches: the scores of the padded text in smaller batches: differs"),
        (Unsigned, "answers: a method without sign has a negative score"),
        (Tokens, "units: there is not a score for each word"),
        (Unstoppable, "progress: the progress does not reach its total"),
    ],
)
def test_a_broken_method_fails(method: type[Method], message: str) -> None:
    classifier = loaded("embedded:bert-mini-sst2")
    with pytest.raises(AssertionError, match=f"occlusion on embedded:bert-mini-sst2, {message}"):
        check_method(method(), classifier)


def test_a_method_that_runs_where_it_says_that_it_cannot_fails(encoder: Classifier) -> None:
    class Bold(_Broken):
        needs: ClassVar = ("causal decoder",)

        @classmethod
        def require(cls, classifier: Classifier) -> None:
            pass

    with pytest.raises(AssertionError, match="refuses: it runs"):
        check_method(Bold(), encoder)


def test_a_method_passes_on_a_real_model_and_with_a_prompt(speaker: Zoo) -> None:
    check_method(get_method("input_x_gradient"), loaded("embedded:bert-mini-sst2"))
    check_method(get_method("occlusion"), speaker("gpt2"))
