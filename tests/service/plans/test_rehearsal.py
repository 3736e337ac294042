"""The memory of a method by its rehearsal: what torch's own profiler sees in the method itself."""

from __future__ import annotations

import pytest

import explainlab
from explainlab.attribution.registry import methods
from explainlab.service.plans import rehearsal
from explainlab.service.plans.rehearsal import Place
from tests.models.test_footprint import measured
from tests.service.plans.test_plan import DECODER, ENCODER, asked, plan_of
from tests.tiers import first

TEXT = "A stirring film about two sisters who learn to forgive."
FEW = {"steps": 4}
CHEAP = {"rpi": {"samples": 12, **FEW}, "sequential_integrated_gradients": FEW, "discretized_integrated_gradients": FEW}
ENCODERS_OWN = ("alti", "globenc", "decompx")
FAMILIES = (
    "gradient",
    "lrp",
    "deep_lift",
    "integrated_gradients",
    "gradient_shap",
    "sequential_integrated_gradients",
    "discretized_integrated_gradients",
    "rpi",
    "rpi_ig",
    "kernel_shap",
    "lime",
    "occlusion",
    "sp_pi",
    "mp_pi",
    "attention_rollout",
    "gae",
    "ensemble",
    *ENCODERS_OWN,
)
EACH_KIND = ("gradient", "lrp", "integrated_gradients", "rpi", "kernel_shap", "occlusion", "sp_pi", "gae", "alti")
"""A method for each kind of pass; the first tier rehearses only these."""


@pytest.mark.parametrize("method", first(EACH_KIND, FAMILIES, "profiles a method again"))
def test_a_rehearsal_foresees_the_memory_of_a_method(method: str) -> None:
    model = ENCODER if method in ENCODERS_OWN else DECODER
    classifier = explainlab.load_model(model)
    parameters = CHEAP["rpi"] if method.startswith("rpi") else CHEAP.get(method, {})
    plan = plan_of(asked(method, model=model, text=TEXT, parameters=parameters))
    taken = measured(lambda: explainlab.explain(classifier, TEXT, method, **parameters))
    assert plan.peak == pytest.approx(taken, rel=0.2)


@pytest.mark.parametrize("rule", ["gauss_legendre", "left"])
def test_steps_of_a_fixed_rule_are_rehearsed_too(rule: str) -> None:
    """Both ends of the path are read before, only where they are unknown."""
    parameters = {"rule": rule, "steps": 40}
    plan = plan_of(asked("integrated_gradients", model=ENCODER, text=TEXT, parameters=parameters))
    classifier = explainlab.load_model(ENCODER)
    taken = measured(lambda: explainlab.explain(classifier, TEXT, "integrated_gradients", **parameters))
    assert plan.peak == pytest.approx(taken, rel=0.2)


def test_every_family_is_rehearsed() -> None:
    families = {method.family for method in methods().values()}
    assert {methods()[name].family for name in FAMILIES} | {"Control", "Others"} >= families


def test_texts_that_run_together_take_the_memory_of_a_full_batch() -> None:
    parameters = {"methods": ["attention_average"], "metrics": ["comprehensiveness"], "rows": 200}
    many = plan_of(asked("evaluation", text=None, data="embedded:sentiment", parameters=parameters))
    few = plan_of(asked("evaluation", text=None, data="embedded:sentiment", parameters={**parameters, "rows": 2}))
    assert many.batch > few.batch
    assert many.peak is not None
    assert few.peak is not None
    assert many.peak > few.peak


def test_texts_of_one_shape_are_rehearsed_once() -> None:
    rehearsal._rehearsed.cache_clear()
    first = asked("occlusion", text="A good film.", model=ENCODER)
    plans = [plan_of(first), plan_of(asked("occlusion", text="A bad play.", model=ENCODER))]
    assert rehearsal._rehearsed.cache_info().misses == 1
    assert plans[0] == plans[1]
    for other in (
        asked("occlusion", text="A good film!!", model=ENCODER),
        asked("occlusion", text="A good film.", model=DECODER),
        asked("kernel_shap", text="A good film.", model=ENCODER),
        asked("kernel_shap", text="A good film.", model=ENCODER, parameters={"samples": 64}),
    ):
        plan_of(other)
    assert rehearsal._rehearsed.cache_info().misses == 5
    assert plan_of(first, Place("cpu", free=1 << 24)).batch <= plans[0].batch
    assert rehearsal._rehearsed.cache_info().misses == 6
