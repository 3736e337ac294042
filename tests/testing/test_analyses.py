"""Every analysis fulfils its contract, and the contract catches what is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from explainlab.analyses.base import AnalysisResult, Report, TrainsModels
from explainlab.analyses.data_analysis import DataAnalysis
from explainlab.analyses.integration import figures
from explainlab.analyses.integration.analysis import IntegrationError
from explainlab.analyses.integration.result import IntegrationErrorText
from explainlab.analyses.registry import get_analysis, studies
from explainlab.attribution.subject import Subject
from explainlab.figures.declared import StudyFigures
from explainlab.models.classifier import Classifier
from explainlab.models.context import Cache, NoCache, RunContext
from explainlab.reader import Reader
from explainlab.request import CompleteRequest
from explainlab.testing import check_analysis
from tests.conftest import Zoo

TEXT = "A funny film: the plot is good and the acting is great. It isn't bad!"
CHEAP: dict[str, dict[str, Any]] = {
    "ablation": {"methods": "occlusion,random", "samples": 2, "metrics": "log_odds"},
    "activation": {"methods": "occlusion"},
    "attack": {"epsilon": "0.1s", "steps": 2, "k": 50},
    "axioms": {"methods": "gradient", "positions": 1},
    "evaluation": {"methods": "occlusion", "metrics": "log_odds"},
    "integration_error": {"steps": "2,3", "rules": "right"},
    "masked_distribution": {"ratios": "50", "baselines": "mask"},
    "layer_randomisation": {"methods": "gradient", "draws": 1},
    "path_gradients": {"steps": "2"},
    "precision": {"methods": "gradient", "dtypes": "bfloat16"},
    "rpi_candidates": {"samples": 2, "steps": 2, "metrics": "log_odds"},
    "substitution": {"neighbours": 1, "k": 50},
    "trust": {"method": "occlusion"},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of three short texts with every label of the tiny models."""
    file: Path = tmp_path_factory.mktemp("data") / "texts.csv"
    rows = [(TEXT, 0, "[[2, 7]]"), ("a bad film", 1, "[]"), ("the plot is good", 2, "[[4, 8], [12, 16]]")]
    lines = ["text,label,rationale", *(f'{text},{label},"{rationale}"' for text, label, rationale in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


@pytest.fixture(scope="module")
def many(data: str) -> str:
    """A file of 42 texts: those of ``data`` again and again."""
    header, *rows = Path(data).read_text(encoding="utf-8").splitlines()
    file = Path(data).with_name("many.csv")
    file.write_text("\n".join([header, *rows * 14]) + "\n", encoding="utf-8")
    return str(file)


ASKED = sorted(name for name, study in studies().items() if not isinstance(study, TrainsModels))
"""Those of a classifier; the others have tests of their own."""


@pytest.mark.parametrize("name", ASKED)
def test_every_study_fulfils_the_contract(zoo: Zoo, data: str, many: str, name: str) -> None:
    classifier = zoo("gpt2" if name == "intermediate_predictions" else "bert")
    parameters = dict(CHEAP.get(name, {}))
    if name == "judged_map":
        parameters = {"scores": list(range(len(classifier.encode(TEXT)))), "metrics": "log_odds"}
    text = None if isinstance(get_analysis(name), DataAnalysis) else TEXT
    source = many if name == "masked_distribution" else data
    check_analysis(get_analysis(name), classifier, text=text, data=source, **parameters)


def test_a_method_fulfils_it_too(encoder: Classifier) -> None:
    check_analysis(get_analysis("occlusion"), encoder, text=TEXT, data=None)


# Broken analyses -----------------------------------------------------------------------------------------------------


class Unnamed(IntegrationError):
    """Without a label."""

    label = " "


class Untyped(IntegrationError):
    """Its body is a plain mapping."""

    bodies = (dict,)

    def of_texts(self, subjects: Sequence[Subject], parameters: Any) -> list[Any]:
        return [body.model_dump(mode="json") for body in super().of_texts(subjects, parameters)]


class _Changed(IntegrationError):
    def of_texts(self, subjects: Sequence[Subject], parameters: Any) -> list[IntegrationErrorText]:
        return [self.changed(subjects[0], body) for body in super().of_texts(subjects, parameters)]

    def changed(self, subject: Subject, body: IntegrationErrorText) -> IntegrationErrorText:
        raise NotImplementedError


class NotFinite(_Changed):
    """A number is no number."""

    def changed(self, subject: Subject, body: IntegrationErrorText) -> IntegrationErrorText:
        return body.model_copy(update={"start": float("nan")})


class Restless(_Changed):
    """Every answer is another."""

    numbers = count()

    def changed(self, subject: Subject, body: IntegrationErrorText) -> IntegrationErrorText:
        return body.model_copy(update={"start": float(next(self.numbers))})


class Dirty(_Changed):
    """A hook stays on the model."""

    def changed(self, subject: Subject, body: IntegrationErrorText) -> IntegrationErrorText:
        self.hook = subject.classifier.model.network.register_forward_hook(lambda *_: None)
        return body


class Misread(IntegrationError):
    """A number is lost when a result is read."""

    def read(self, record: Mapping[str, Any]) -> AnalysisResult[Any]:
        return super().read({**record, "start": 0.0})


class Trusting(IntegrationError):
    """Reads a record that says nothing of its cost."""

    def read(self, record: Mapping[str, Any]) -> AnalysisResult[Any]:
        return super().read({"cost": {"forward": 0, "backward": 0, "seconds": 0.0}, **record})


class Speechless(IntegrationError):
    """Without a headline."""

    def report(self, result: Any) -> Report:
        return replace(super().report(result), headline="")


class Vague(IntegrationError):
    """Its headline has no number."""

    def report(self, result: Any) -> Report:
        return replace(super().report(result), headline="The right rule is good.")


class OneKey(IntegrationError):
    """The parameters are no part of its key."""

    def key(self, request: CompleteRequest, model_digest: str, reader: Reader) -> str:
        plain = request.model_copy(update={"parameters": self.Parameters().model_dump(mode="json")})
        return super().key(plain, model_digest, reader)


class Quiet(IntegrationError):
    """Reports no progress, and cannot be stopped."""

    def run(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> AnalysisResult[Any]:
        return super().run(classifier, request, RunContext())


class Unfinished(IntegrationError):
    """Its progress ends too early."""

    def run(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> AnalysisResult[Any]:
        result = super().run(classifier, request, context)
        context.progress.report(1, 2, "rest")
        return result


class Forgetful(IntegrationError):
    """Keeps nothing of a data set."""

    def run(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> AnalysisResult[Any]:
        return super().run(classifier, request, replace(context, results=NoCache()))


class Deaf(IntegrationError):
    """Keeps what it does not recall."""

    def run(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> AnalysisResult[Any]:
        return super().run(classifier, request, replace(context, results=_NoRecall(context.results)))


class _NoRecall(NoCache):
    def __init__(self, cache: Cache) -> None:
        self.put_many = cache.put_many


@pytest.mark.parametrize(
    ("analysis", "message"),
    [
        (Unnamed, "declares: it has no label"),
        (Untyped, "a text, answers: the body is a dict, not a Record"),
        (NotFinite, "a text, answers: its JSON is not plain and finite"),
        (Restless, "a text, answers: a second run gives another result"),
        (Dirty, "a text, answers: a run leaves something behind on the model"),
        (Misread, "a text, answers: the result that is read from its JSON has another JSON"),
        (Trusting, "a text, answers: it reads a record that has no cost"),
        (Speechless, "a text, answers: it has no headline"),
        (Vague, "a text, answers: the headline has no number: The right rule is good."),
        (OneKey, "a text, keys: another parameters has the same key"),
        (Quiet, "a text, progress: no progress is reported"),
        (Unfinished, "a text, progress: the progress ends at 1 of 2"),
        (Forgetful, "a data set, goes_on: it keeps nothing"),
        (Deaf, "a data set, goes_on: a run that was stopped begins again"),
    ],
)
def test_a_broken_analysis_fails(
    encoder: Classifier, data: str, analysis: type[IntegrationError], message: str
) -> None:
    broken = analysis()
    try:
        with pytest.raises(AssertionError, match=f"integration_error of .*{message}"):
            check_analysis(broken, encoder, text=TEXT, data=data, **CHEAP["integration_error"])
    finally:
        if isinstance(broken, Dirty):
            broken.hook.remove()


def test_an_analysis_without_figures_fails(encoder: Classifier, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "FIGURES", StudyFigures())
    with pytest.raises(AssertionError, match="a text, draws: there is no chart"):
        check_analysis(IntegrationError(), encoder, text=TEXT, data=data, **CHEAP["integration_error"])


@pytest.mark.parametrize("source", ["text", "data"])
def test_an_analysis_that_answers_what_it_should_refuse_fails(encoder: Classifier, data: str, source: str) -> None:
    sources = {"text": TEXT, "data": data, source: None}
    with pytest.raises(AssertionError, match="refuses: it answers"):
        check_analysis(get_analysis("integration_error"), encoder, **sources, **CHEAP["integration_error"], rows=2)
