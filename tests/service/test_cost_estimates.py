"""Cost estimates: passes as they are counted later, seconds from earlier jobs, or none."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import explainlab
from explainlab.analyses.registry import new_request
from explainlab.attribution.registry import get_method, methods
from explainlab.errors import ExplainLabError, TextError
from explainlab.reader import ANYBODY
from explainlab.request import CompleteRequest, Request
from explainlab.service.cost_estimates import CostEstimate, estimate_cost, estimate_costs, total, with_seconds
from explainlab.service.estimate import Pace
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.throughput import Paces
from explainlab.service.users import LOCAL
from tests.tiers import first, full

ENCODER, DECODER = "embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"
TEXT = "A stirring, unforgettable film about two sisters."
SLOW = ("rpi_sig", "llm_ranking")
"""Methods of thousands of passes, or without a model here."""


def asked(question: str = "occlusion", **fields: object) -> CompleteRequest:
    named = {"model": ENCODER, "text": TEXT, **fields}
    return resolve(new_request(question=question, **named)).request


def estimate_of(request: CompleteRequest) -> CostEstimate:
    estimate = estimate_cost(request, ANYBODY)
    assert estimate is not None
    return estimate


@pytest.mark.parametrize(
    ("model", "unit"),
    [
        (ENCODER, "token"),
        full(DECODER, "word", reason="runs every method: 8 s"),
        full(ENCODER, "word", reason="runs every method"),
        full(DECODER, "token", reason="runs every method"),
    ],
)
def test_an_estimate_has_the_passes_that_a_method_counts_or_at_most_those(model: str, unit: str) -> None:
    classifier = explainlab.load_model(model)
    exact = []
    for name, method in methods().items():
        if method.unsupported(classifier.architecture) or name in SLOW:
            continue
        parameters = {"samples": 3, "steps": 4} if name.startswith("rpi") else {}
        parameters |= {"steps": 4} if name == "sequential_integrated_gradients" else {}
        request = asked(name, model=model, unit=unit, parameters=parameters)
        estimate, cost = estimate_of(request), explainlab.explain(classifier, TEXT, name, unit=unit, **parameters).cost
        if estimate.exact:
            assert (estimate.forward, estimate.backward) == (cost.forward, cost.backward), name
            exact.append(name)
        else:
            assert estimate.forward >= cost.forward, name
            assert estimate.backward >= cost.backward, name
    assert {"gradient", "kernel_shap", "occlusion", "sequential_integrated_gradients"} <= set(exact)


@pytest.mark.parametrize(
    "rule",
    first(
        ["left", "gauss_legendre"],
        ["left", "midpoint", "right", "trapezoid", "gauss_legendre"],
        "sequential integrated gradients take a second",
    ),
)
def test_every_fixed_rule_has_its_passes(rule: str) -> None:
    encoder, parameters = explainlab.load_model(ENCODER), {"rule": rule, "steps": 5}
    for name in ("integrated_gradients", "sequential_integrated_gradients"):
        cost = explainlab.explain(encoder, TEXT, name, **parameters).cost
        estimate = estimate_of(asked(name, parameters=parameters))
        assert estimate.exact
        assert (estimate.forward, estimate.backward) == (cost.forward, cost.backward), name


def test_only_methods_that_end_early_or_leave_out_equal_inputs_are_not_exact() -> None:
    assert not estimate_of(asked("integrated_gradients")).exact
    assert not estimate_of(asked("lime")).exact
    assert estimate_of(asked("kernel_shap")).exact
    assert get_method("lime").deduplicates


def test_an_estimate_of_a_data_set_is_that_of_its_texts() -> None:
    parameters = {"rows": 7, "methods": ["gradient"], "metrics": ["comprehensiveness"]}
    estimate = estimate_of(asked("evaluation", text=None, data="embedded:sentiment", parameters=parameters))
    assert estimate.texts == 7
    assert not estimate.exact
    assert estimate.backward == pytest.approx(7)
    many = estimate_of(
        asked("evaluation", text=None, data="embedded:sentiment", parameters={**parameters, "rows": 10_000})
    )
    assert 7 < many.texts < 10_000, "no more than there are"


def test_all_rows_are_counted_and_a_few_read(tmp_path: Path) -> None:
    file = tmp_path / "many.csv"
    file.write_text("text,label\n" + "A film.,positive\n,negative\n" * 1_500)
    for parameters, texts in (({}, 1_500), ({"rows": 1_200}, 1_200), ({"rows": 1_000}, 1_000), ({"rows": 10}, 10)):
        estimate = estimate_of(asked("predictions", text=None, data=str(file), parameters=parameters))
        assert (estimate.texts, estimate.forward, estimate.backward) == (texts, pytest.approx(texts), 0)
    everything = {"sample": "all", "methods": ["gradient"], "metrics": ["comprehensiveness"]}
    assert estimate_of(asked("evaluation", text=None, data=str(file), parameters=everything)).texts == 1_500


@pytest.mark.parametrize(
    ("question", "parameters"),
    [("predictions", {}), ("masked_distribution", {"baselines": ["mask", "zero"], "ratios": [50]})],
)
def test_a_question_about_all_rows_has_the_passes_that_are_counted(question: str, parameters: dict) -> None:
    parameters = {"rows": 60, **parameters}
    estimate = estimate_of(asked(question, text=None, data="embedded:sentiment", parameters=parameters))
    cost = explainlab.study(explainlab.load_model(ENCODER), question, data="embedded:sentiment", **parameters).cost
    assert (round(estimate.forward), estimate.backward) == (cost.forward, cost.backward)


def test_passes_are_about_so_many_where_other_texts_stand_for_those_of_the_job() -> None:
    compared = {"methods": ["occlusion"], "metrics": ["comprehensiveness"], "rows": 20}
    make = partial(asked, "evaluation", text=None, data="embedded:sentiment")
    first, drawn, many = (
        estimate_of(make(parameters={**compared, **own}))
        for own in ({"sample": "first"}, {"sample": "random"}, {"sample": "first", "rows": 150})
    )
    assert first.forward == drawn.forward
    assert (first.about, drawn.about, many.about) == (False, True, True), "a hundred stand for all"


def test_what_drives_mistakes_takes_a_map_each() -> None:
    request = asked("mistake_drivers", text=None, data="embedded:sentiment")
    estimate = estimate_cost(request, ANYBODY, texts=12)
    assert estimate is not None
    assert (estimate.forward, estimate.backward) == (pytest.approx(12), pytest.approx(12))


def test_a_training_takes_its_epochs() -> None:
    parameters = {"seeds": 2, "settings": "epochs=3", "size": "tiny"}
    estimate = estimate_of(asked("training", model="bert", text=None, data="embedded:sentiment", parameters=parameters))
    assert estimate.backward == 2 * 3 * estimate.texts == 6 * 242
    assert estimate.words == "Takes at most 1,452 passes through the model for 242 texts."


def test_the_words_tell_what_is_known() -> None:
    estimate = CostEstimate(forward=1.0, backward=1.0, exact=True, work=8.0)
    assert estimate.words == "Takes 1 pass through the model."
    whole = replace(estimate, forward=2_340.2, exact=False, about=True, texts=20, seconds=12.3)
    assert whole.words == "Takes about 12 s: about 2,340 passes through the model for 20 texts."
    assert "2,340 forward, 1 of them with gradients" in whole.meaning
    assert replace(estimate, seconds=0.1).words == "Takes under 1 s: 1 pass through the model."


def test_what_is_not_known_has_no_plan() -> None:
    assert estimate_cost(asked(model="nobody/no-such-model"), ANYBODY) is None
    assert estimate_cost(asked("mistake_drivers", text=None, data="embedded:sentiment"), ANYBODY) is None, (
        "nobody knows how many are wrong"
    )
    assert estimate_cost(asked("synthetic_roar", model="", text=None), ANYBODY) is None


def test_a_text_that_cannot_be_read_is_refused_as_when_it_is_asked() -> None:
    for text in (" ", "\u200b" * 3, "a " * 20_000):
        with pytest.raises(TextError):
            estimate_cost(asked(text=text), ANYBODY)


def test_a_text_that_is_too_long_for_the_model_is_estimated_as_it_is_cut() -> None:
    estimate = estimate_of(asked(text="film " * 2_000))
    assert estimate.forward == explainlab.load_model(ENCODER).max_tokens - 2 + 1, (
        "every token but the special ones, and the text"
    )


def test_seconds_come_from_jobs_of_the_same_question_else_of_the_same_model_else_not_at_all() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), asked()
    estimate = estimate_of(request)
    assert with_seconds(estimate, request, paces).seconds is None
    paces.learn(asked("kernel_shap"), Pace(9.0, 3.0), Pace(0.5, 1.0, work=estimate.work))
    other = with_seconds(estimate, request, paces)
    assert (other.seconds, other.basis, other.runs) == (pytest.approx(0.5 * estimate.work), "model", 1)
    paces.learn(request, Pace(0.25, 1.0, work=estimate.work))
    own = with_seconds(estimate, asked(text="Another text."), paces)
    assert (own.seconds, own.basis, own.runs) == (pytest.approx(0.25 * estimate.work), "question", 1)


def test_how_many_passes_an_adaptive_method_needs_is_told_by_earlier_jobs() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), asked("integrated_gradients")
    estimate = estimate_of(request)
    paces.learn(asked("occlusion"), Pace(1.0, 1.0), Pace(1.0, 1.0))
    assert with_seconds(estimate, request, paces).seconds is None, "the most passes tell no time"
    paces.learn(request, Pace(0.5, 0.1))
    known = with_seconds(estimate, request, paces)
    assert known.about
    assert known.forward == pytest.approx(0.1 * estimate.forward)


@pytest.mark.parametrize("model", [ENCODER, DECODER])
def test_an_evaluation_takes_at_most_the_passes_that_its_estimate_tells_before_and_after_others(model: str) -> None:
    service = Service(Store("sqlite://"), "cpu")
    compared = {"methods": ["random", "gradient", "occlusion"], "metrics": ["comprehensiveness", "sufficiency"]}
    for text in (TEXT, "Dull, and too long by half."):
        request = asked("evaluation", model=model, text=text, parameters=compared)
        estimate = with_seconds(estimate_of(request), request, service.paces)
        job = service.submit(resolve(request))
        assert service.engine.wait(job, 60)
        assert job.result is not None
        assert job.result.cost.forward <= estimate.forward <= 1.3 * job.result.cost.forward
        assert estimate.words.startswith("Takes at most") or ": at most" in estimate.words


def test_a_job_teaches_the_estimate_of_the_next_one() -> None:
    service = Service(Store("sqlite://"), "cpu")
    job = service.submit(resolve(Request(model=ENCODER, text=TEXT, question="occlusion")))
    assert service.engine.wait(job, 60)
    request = asked(text="The film is long, but its ending is beautiful.")
    estimate = with_seconds(estimate_of(request), request, service.paces)
    assert estimate.basis == "question"
    assert estimate.seconds is not None
    assert estimate.seconds > 0


def test_estimates_are_told_together() -> None:
    paces, first, second = Paces(Store("sqlite://"), "cpu"), asked("gradient"), asked("occlusion")
    estimates = [estimate_of(first), estimate_of(second)]
    paces.learn(first, Pace(0.25, 1.0))
    both = total([with_seconds(estimates[0], first, paces), estimates[1]])
    assert both.seconds is None, "half of the time is not known"
    assert (both.forward, both.backward) == (
        estimates[0].forward + estimates[1].forward,
        estimates[0].backward + estimates[1].backward,
    )


def test_an_estimate_is_made_on_a_thread_of_its_own_and_kept() -> None:
    request = asked(text="A text that nobody has asked about.")
    found = estimate_costs([resolve(request)], LOCAL)
    assert found.answer() == (estimate_of(request),)
    assert estimate_costs([resolve(request)], LOCAL) is found
    with pytest.raises(ExplainLabError):
        estimate_costs([resolve(asked(text=" "))], LOCAL).answer()
