"""Nothing twice: analyses share attributions of texts and predictions for their versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explainlab
from explainlab.analyses.attributions import text_seed
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import complete, get_analysis
from explainlab.attribution.methods.gradients import InputXGradient
from explainlab.attribution.records import Attribution
from explainlab.attribution.subject import Subject
from explainlab.errors import ResourceError
from explainlab.models.classifier import Classifier
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL, User
from tests.metrics.test_evaluate import runs

TEXTS = ["a stirring funny film", "a dull film", "the plot is a mess", "a warm and funny story"]
METRICS = ["comprehensiveness:k=50", "sufficiency:k=50"]
Ask = Callable[..., tuple[Result, int]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    path.write_text("text,label\n" + "".join(f"{text},{i % 2}\n" for i, text in enumerate(TEXTS)), encoding="utf-8")
    return str(path)


@pytest.fixture
def service(database_url: str) -> Service:
    return Service(Store(database_url), "cpu")


@pytest.fixture
def classifier(service: Service, zoo_path: Callable[[str], Path]) -> Classifier:
    return service.workers[0].pool.get(str(zoo_path("bert")), "float32")


@pytest.fixture
def ask(service: Service, classifier: Classifier) -> Iterator[Ask]:
    """Return a function that answers a request and counts the passes that the model made for it."""
    with runs(classifier) as seen:

        def result(question: str, user: User = LOCAL, **fields: Any) -> tuple[Result, int]:
            before = len(seen)
            job = service.submit(resolve(Request(question=question, model=classifier.id, **fields), user))
            assert service.engine.wait(job, 60)
            assert job.result is not None, job.progress.error
            return job.result, len(seen) - before

        yield result


def evaluation(methods: list[str], metrics: list[str] = METRICS, **others: Any) -> dict[str, Any]:
    return {"methods": methods, "metrics": metrics, **others}


def values(result: Result) -> list[dict[str, dict[str, float]]]:
    assert isinstance(result, AnalysisResult)
    return [row.values for row in result.body.texts]


def test_another_method_runs_alone(ask: Ask, data: str) -> None:
    first, _ = ask("evaluation", data=data, parameters=evaluation(["occlusion"]))
    both, added = ask("evaluation", data=data, parameters=evaluation(["occlusion", "input_x_gradient"]))
    alone = Service(Store("sqlite://"), "cpu")
    request = Request(
        question="evaluation", model=both.request.model, data=data, parameters=evaluation(["input_x_gradient"])
    )
    with runs(alone.workers[0].pool.get(request.model, "float32")) as seen:
        alone.engine.wait(alone.submit(resolve(request)), 60)
    assert 0 < added < len(seen)  # the random attributions and the texts themselves are known
    for row, old in zip(values(both), values(first), strict=True):
        assert {name: row[name] for name in old} == old
    assert both.cost.forward > first.cost.forward


def test_a_metric_whose_texts_are_known_needs_no_pass(ask: Ask, data: str) -> None:
    steps = "aopc_comprehensiveness:bins=20+50"
    ask("evaluation", data=data, parameters=evaluation(["occlusion"], [steps]))
    known, passes = ask("evaluation", data=data, parameters=evaluation(["occlusion"], ["comprehensiveness:k=50"]))
    assert passes == 0
    fresh, passes = ask("evaluation", data=data, parameters=evaluation(["occlusion"], ["sufficiency:k=50"]))
    assert passes > 0
    assert known.cost.forward > 0
    assert values(fresh) != values(known)


def test_more_rows_run_the_new_ones(ask: Ask, data: str) -> None:
    parameters = evaluation(["occlusion"])
    half, _ = ask("evaluation", data=data, parameters={**parameters, "rows": 2})
    whole, rest = ask("evaluation", data=data, parameters={**parameters, "rows": 4})
    assert rest > 0
    assert values(whole)[:2] == values(half)
    together, none = ask("evaluation", data=data, parameters={**parameters, "rows": 3})
    assert none == 0
    assert values(together) == values(whole)[:3]


def test_another_analysis_finds_what_is_known(ask: Ask, data: str) -> None:
    areas = ["activation_auc", "inverse_activation_auc"]
    ask("evaluation", data=data, parameters=evaluation(["occlusion", "input_x_gradient"], areas))
    _, passes = ask("activation", data=data, parameters={"methods": ["occlusion", "input_x_gradient"]})
    assert passes == 0


def test_explain_and_the_studies_share_the_attribution_of_a_text(
    ask: Ask, service: Service, classifier: Classifier, data: str
) -> None:
    ask("evaluation", data=data, parameters=evaluation(["occlusion"]))
    seed = text_seed(Subject(classifier, classifier.encode(TEXTS[1])))
    explained = service.find(resolve(Request(question="occlusion", model=classifier.id, text=TEXTS[1], seed=seed)))
    assert explained is not None
    assert explained.request.text == TEXTS[1]
    text = "a story of a funny mess"
    ask("kernel_shap", text=text, seed=5)
    first, passes = ask("trust", text=text, seed=5, parameters={"method": "kernel_shap"})
    again, more = ask("trust", text=text, seed=6, parameters={"method": "kernel_shap"})
    assert isinstance(first, AnalysisResult)
    assert isinstance(again, AnalysisResult)
    assert passes < more + len(first.body.scores)
    assert first.body.scores != again.body.scores


def test_a_method_of_another_version_is_run_again_and_no_other(
    ask: Ask, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = evaluation(["occlusion", "input_x_gradient"])
    first, _ = ask("evaluation", data=data, parameters=chosen)
    monkeypatch.setattr(InputXGradient, "version", InputXGradient.version + 1)

    monkeypatch.setattr(get_analysis("input_x_gradient"), "version", InputXGradient.version)
    second, passes = ask("evaluation", data=data, parameters=chosen)
    assert passes == len(TEXTS)
    assert values(second) == values(first)


def test_what_a_run_remembers_is_everybodys_and_stays_while_anybody_has_it(
    ask: Ask, service: Service, data: str
) -> None:
    ann, bob = User("test#ann", "Ann"), User("test#bob", "Bob")
    ask("evaluation", ann, data=data, parameters=evaluation(["occlusion"]))
    _, passes = ask("evaluation", bob, data=data, parameters=evaluation(["occlusion"], [METRICS[0]]))
    assert passes == 0
    about = {part.about for part in service.store.held.parts() if part.owner == ann.id}
    for part in about:
        service.store.held.release(ann.id, part)
    _, passes = ask("evaluation", bob, data=data, parameters=evaluation(["occlusion"], [METRICS[1]]))
    assert passes == 0
    for part in about:
        service.store.held.release(bob.id, part)
    _, passes = ask("evaluation", bob, data=data, parameters=evaluation(["occlusion"], METRICS[::-1]))
    assert passes > 0


def test_a_run_without_a_store_remembers_for_itself(
    service: Service, classifier: Classifier, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = complete(
        Request(question="evaluation", model=classifier.id, data=data, parameters=evaluation(["occlusion"]))
    )
    whole = service.run(resolve(request))

    def fail(*_: object, **__: object) -> None:
        raise ResourceError("The store is away.", "Wait.")

    away = Service(Store("sqlite://"), "cpu")
    for name in ("records", "notes", "keep_notes", "put_records"):
        monkeypatch.setattr(away.store, name, fail)
    alone = away.run(resolve(request))
    assert values(alone) == values(whole)


def test_an_ensemble_takes_members_that_are_stored(ask: Ask, classifier: Classifier) -> None:
    parameters = {"members": "occlusion+gradient+lime:samples=20"}
    ask("lime", text=TEXTS[0], parameters={"samples": 20})
    ask("occlusion", text=TEXTS[0])
    ask("gradient", text=TEXTS[0])
    found, passes = ask("ensemble", text=TEXTS[0], parameters=parameters)
    alone = explainlab.explain(classifier, TEXTS[0], "ensemble", **parameters)
    assert passes == 1, "the text itself"
    assert isinstance(found, Attribution)
    np.testing.assert_array_equal(found.scores, alone.scores)
    np.testing.assert_array_equal(found.spread, alone.spread)
    assert (found.cost.forward, found.cost.backward) == (alone.cost.forward, alone.cost.backward)
    assert found.target == alone.target
    assert found.warnings == alone.warnings
