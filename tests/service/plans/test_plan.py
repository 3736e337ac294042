"""The estimate of a job: the passes of a later count, memory by shapes, seconds from earlier jobs or none."""

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
from explainlab.service.estimate import Pace
from explainlab.service.paces import Paces
from explainlab.service.plans.making import look, outlined, timed
from explainlab.service.plans.plan import Plan, together
from explainlab.service.plans.rehearsal import Place
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL
from tests.tiers import first, full

ENCODER, DECODER = "embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"
TEXT = "A stirring, unforgettable film about two sisters."
HERE = Place("cpu", 8 * 2**30)
SLOW = ("rpi_sig", "llm_ranking")
"""Methods of thousands of passes, or without a model here."""


def asked(question: str = "occlusion", **fields: object) -> CompleteRequest:
    named = {"model": ENCODER, "text": TEXT, **fields}
    return resolve(new_request(question=question, **named)).request


def plan_of(request: CompleteRequest, place: Place = HERE) -> Plan:
    plan = outlined(request, place, ANYBODY)
    assert plan is not None
    return plan


@pytest.mark.parametrize(
    ("model", "unit"),
    [
        (ENCODER, "token"),
        full(DECODER, "word", reason="runs every method: 8 s"),
        full(ENCODER, "word", reason="runs every method"),
        full(DECODER, "token", reason="runs every method"),
    ],
)
def test_a_plan_has_the_passes_that_a_method_counts_or_at_most_those(model: str, unit: str) -> None:
    classifier = explainlab.load_model(model)
    exact = []
    for name, method in methods().items():
        if method.unsupported(classifier.architecture) or name in SLOW:
            continue
        parameters = {"samples": 3, "steps": 4} if name.startswith("rpi") else {}
        parameters |= {"steps": 4} if name == "sequential_integrated_gradients" else {}
        request = asked(name, model=model, unit=unit, parameters=parameters)
        plan, cost = plan_of(request), explainlab.explain(classifier, TEXT, name, unit=unit, **parameters).cost
        if plan.exact:
            assert (plan.forward, plan.backward) == (cost.forward, cost.backward), name
            exact.append(name)
        else:
            assert plan.forward >= cost.forward, name
            assert plan.backward >= cost.backward, name
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
        plan = plan_of(asked(name, parameters=parameters))
        assert plan.exact
        assert (plan.forward, plan.backward) == (cost.forward, cost.backward), name


def test_only_methods_that_end_early_or_leave_out_equal_inputs_are_not_exact() -> None:
    assert not plan_of(asked("integrated_gradients")).exact
    assert not plan_of(asked("lime")).exact
    assert plan_of(asked("kernel_shap")).exact
    assert get_method("lime").deduplicates


def test_a_plan_of_a_data_set_is_that_of_its_texts() -> None:
    parameters = {"rows": 7, "methods": ["gradient"], "metrics": ["comprehensiveness"]}
    plan = plan_of(asked("evaluation", text=None, data="embedded:sentiment", parameters=parameters))
    assert plan.texts == 7
    assert not plan.exact
    assert plan.backward == pytest.approx(7)
    many = plan_of(asked("evaluation", text=None, data="embedded:sentiment", parameters={**parameters, "rows": 10_000}))
    assert 7 < many.texts < 10_000, "no more than there are"


def test_all_rows_are_counted_and_a_few_read(tmp_path: Path) -> None:
    file = tmp_path / "many.csv"
    file.write_text("text,label\n" + "A film.,positive\n,negative\n" * 1_500)
    for parameters, texts in (({}, 1_500), ({"rows": 1_200}, 1_200), ({"rows": 1_000}, 1_000), ({"rows": 10}, 10)):
        plan = plan_of(asked("predictions", text=None, data=str(file), parameters=parameters))
        assert (plan.texts, plan.forward, plan.backward) == (texts, pytest.approx(texts), 0)
    everything = {"sample": "all", "methods": ["gradient"], "metrics": ["comprehensiveness"]}
    assert plan_of(asked("evaluation", text=None, data=str(file), parameters=everything)).texts == 1_500


@pytest.mark.parametrize(
    ("question", "parameters"),
    [("predictions", {}), ("masked_distribution", {"baselines": ["mask", "zero"], "ratios": [50]})],
)
def test_a_question_about_all_rows_has_the_passes_that_are_counted(question: str, parameters: dict) -> None:
    parameters = {"rows": 60, **parameters}
    plan = plan_of(asked(question, text=None, data="embedded:sentiment", parameters=parameters))
    cost = explainlab.study(explainlab.load_model(ENCODER), question, data="embedded:sentiment", **parameters).cost
    assert (round(plan.forward), plan.backward) == (cost.forward, cost.backward)
    assert (plan.peak is None) == (question == "masked_distribution"), "it keeps the states of all texts"


def test_passes_are_about_so_many_where_other_texts_stand_for_those_of_the_job() -> None:
    compared = {"methods": ["occlusion"], "metrics": ["comprehensiveness"], "rows": 20}
    make = partial(asked, "evaluation", text=None, data="embedded:sentiment")
    first, drawn, many = (
        plan_of(make(parameters={**compared, **own}))
        for own in ({"sample": "first"}, {"sample": "random"}, {"sample": "first", "rows": 150})
    )
    assert first.forward == drawn.forward
    assert (first.about, drawn.about, many.about) == (False, True, True), "a hundred stand for all"


def test_what_drives_mistakes_takes_a_map_each() -> None:
    request = asked("mistake_drivers", text=None, data="embedded:sentiment")
    plan = outlined(request, HERE, ANYBODY, texts=12)
    assert plan is not None
    assert (plan.forward, plan.backward) == (pytest.approx(12), pytest.approx(12))


def test_a_training_takes_its_epochs() -> None:
    parameters = {"seeds": 2, "settings": "epochs=3", "size": "tiny"}
    plan = plan_of(asked("training", model="bert", text=None, data="embedded:sentiment", parameters=parameters))
    assert plan.backward == 2 * 3 * plan.texts == 6 * 242
    assert plan.peak is None
    assert plan.words == "Takes at most 1,452 passes through the model for 242 texts."


def test_the_words_tell_what_is_known() -> None:
    plan = Plan(forward=1.0, backward=1.0, exact=True, work=8.0)
    assert plan.words == "Takes 1 pass through the model."
    whole = replace(plan, forward=2_340.2, exact=False, about=True, texts=20, seconds=12.3, peak=180_000_000)
    assert whole.words == "Takes about 12 s, 180 MB: about 2,340 passes through the model for 20 texts."
    assert "2,340 forward, 1 of them with gradients" in whole.meaning
    assert replace(plan, seconds=0.1).words == "Takes under 1 s: 1 pass through the model."


def test_what_is_not_known_has_no_plan() -> None:
    assert outlined(asked(model="nobody/no-such-model"), HERE, ANYBODY) is None
    assert outlined(asked("mistake_drivers", text=None, data="embedded:sentiment"), HERE, ANYBODY) is None, (
        "nobody knows how many are wrong"
    )
    assert outlined(asked("synthetic_roar", model="", text=None), HERE, ANYBODY) is None
    assert outlined(asked(), Place("cuda", None), ANYBODY) is None, "the memory of the device is not known yet"


def test_a_text_that_cannot_be_read_is_refused_as_when_it_is_asked() -> None:
    for text in (" ", "\u200b" * 3, "a " * 20_000):
        with pytest.raises(TextError):
            outlined(asked(text=text), HERE, ANYBODY)


def test_a_text_that_is_too_long_for_the_model_is_planned_as_it_is_cut() -> None:
    plan = plan_of(asked(text="film " * 2_000))
    assert plan.forward == explainlab.load_model(ENCODER).max_tokens - 2 + 1, (
        "every token but the special ones, and the text"
    )
    assert plan.batch >= 1


def test_seconds_come_from_jobs_of_the_same_question_else_of_the_same_model_else_not_at_all() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), asked()
    plan = plan_of(request)
    assert timed(plan, request, paces).seconds is None
    paces.learn(asked("kernel_shap"), Pace(9.0, 3.0), Pace(0.5, 1.0, work=plan.work))
    other = timed(plan, request, paces)
    assert (other.seconds, other.basis, other.runs) == (pytest.approx(0.5 * plan.work), "model", 1)
    paces.learn(request, Pace(0.25, 1.0, work=plan.work))
    own = timed(plan, asked(text="Another text."), paces)
    assert (own.seconds, own.basis, own.runs) == (pytest.approx(0.25 * plan.work), "question", 1)


def test_how_many_passes_an_adaptive_method_needs_is_told_by_earlier_jobs() -> None:
    paces, request = Paces(Store("sqlite://"), "cpu"), asked("integrated_gradients")
    plan = plan_of(request)
    paces.learn(asked("occlusion"), Pace(1.0, 1.0), Pace(1.0, 1.0))
    assert timed(plan, request, paces).seconds is None, "the most passes tell no time"
    paces.learn(request, Pace(0.5, 0.1))
    known = timed(plan, request, paces)
    assert known.about
    assert known.forward == pytest.approx(0.1 * plan.forward)


@pytest.mark.parametrize("model", [ENCODER, DECODER])
def test_an_evaluation_takes_at_most_the_passes_that_its_plan_tells_before_and_after_others(model: str) -> None:
    service = Service(Store("sqlite://"), "cpu")
    compared = {"methods": ["random", "gradient", "occlusion"], "metrics": ["comprehensiveness", "sufficiency"]}
    for text in (TEXT, "Dull, and too long by half."):
        request = asked("evaluation", model=model, text=text, parameters=compared)
        plan = timed(plan_of(request), request, service.paces)
        job = service.submit(resolve(request))
        assert service.engine.wait(job, 60)
        assert job.result is not None
        assert job.result.cost.forward <= plan.forward <= 1.3 * job.result.cost.forward
        assert plan.words.startswith("Takes at most") or ": at most" in plan.words


def test_a_job_teaches_the_plan_of_the_next_one() -> None:
    service = Service(Store("sqlite://"), "cpu")
    job = service.submit(resolve(Request(model=ENCODER, text=TEXT, question="occlusion")))
    assert service.engine.wait(job, 60)
    request = asked(text="The film is long, but its ending is beautiful.")
    plan = timed(plan_of(request), request, service.paces)
    assert plan.basis == "question"
    assert plan.seconds is not None
    assert plan.seconds > 0


def test_plans_are_told_together() -> None:
    paces, first, second = Paces(Store("sqlite://"), "cpu"), asked("gradient"), asked("occlusion")
    plans = [plan_of(first), plan_of(second)]
    paces.learn(first, Pace(0.25, 1.0))
    both = together([timed(plans[0], first, paces), plans[1]])
    assert both.seconds is None, "half of the time is not known"
    assert both.passes == plans[0].passes + plans[1].passes
    assert both.peak == max(plan.peak for plan in plans)


def test_a_plan_is_made_on_a_thread_of_its_own_and_kept() -> None:
    request = asked(text="A text that nobody has asked about.")
    found = look([resolve(request)], HERE, LOCAL)
    assert found.answer() == (plan_of(request),)
    assert look([resolve(request)], HERE, LOCAL) is found
    with pytest.raises(ExplainLabError):
        look([resolve(asked(text=" "))], HERE, LOCAL).answer()
