"""The registry: every method declares itself fully, and what a request gets wrong is named with its remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explainlab import explain, methods
from explainlab.attribution import method
from explainlab.attribution.method import SPEEDS
from explainlab.attribution.methods.occlusion import Occlusion
from explainlab.attribution.registry import complete, describe_methods, get_method, parse_spec, swept
from explainlab.declared import ParameterSpec, parse, require_within
from explainlab.errors import RequestError
from explainlab.limits import Limits
from explainlab.models.context import Receivers, RunContext
from explainlab.models.model import Architecture
from explainlab.request import Request
from tests.conftest import loaded
from tests.failures import check_each

EVERY_PARAMETER = [(method, spec.name) for method in methods() for spec in get_method(method).parameter_specs()]


def spec(method: str, name: str) -> ParameterSpec:
    return next(spec for spec in get_method(method).parameter_specs() if spec.name == name)


def test_a_renamed_public_name_works_with_a_warning() -> None:
    with pytest.deprecated_call(match="TextSize"):
        assert method.Extent is method.TextSize


# Declarations --------------------------------------------------------------------------------------------------------


def test_methods_come_family_by_family() -> None:
    families = [method.family for method in methods().values()]
    order = ["Gradients", "Paths", "Perturbation", "Attention", "Decomposition", "Others", "Control"]
    assert families == sorted(families, key=order.index)
    assert set(families) == set(order)
    assert all(method.id == name for name, method in methods().items())


def test_a_method_says_all_about_itself() -> None:
    def check(method: str) -> None:
        found = get_method(method)
        assert all((found.label, found.source, found.definition, found.plain, found.good_for, type(found).__doc__))
        assert found.plain != (type(found).__doc__ or "").split("\n")[0]
        assert found.version >= 1
        assert set(found.needs) <= Architecture("any").capabilities.keys()
        assert found.is_signed(parse(found, {})) == found.signed

    check_each(check, methods())


def test_two_or_three_methods_are_to_start_with() -> None:
    assert [name for name, method in methods().items() if method.recommended] == [
        "integrated_gradients",
        "kernel_shap",
        "occlusion",
    ]


def test_a_method_from_elsewhere_is_explained_by_its_docstring() -> None:
    class Elsewhere(Occlusion):
        """The drop of the score
        when a unit is masked.

        By us.
        """

    assert Elsewhere.plain == "The drop of the score when a unit is masked."


@pytest.mark.full("20 methods with their usual parameters take ten seconds")
def test_the_speed_is_that_of_a_text() -> None:
    """Measured on a text of about as many tokens as the declared speeds are for, by methods that are quick enough."""

    def check(method: str) -> None:
        declared, spent = get_method(method), list[float]()
        model = loaded(f"embedded:{'gpt2-mini-ag-news' if 'causal decoder' in declared.needs else 'bert-mini-sst2'}")
        text = "The first act drags a little, but the ending is so beautiful that I forgave everything."
        result = explain(model, text, method, context=RunContext(progress=Receivers(spend=spent.append)))
        passes = sum(spent) / len(result.features)
        bounds = [0.0, *(most for most, _ in SPEEDS)]
        place = [words for _, words in SPEEDS].index(declared.speed())
        assert bounds[place] / 2 < passes <= bounds[place + 1] * 1.5

    quick = [name for name, method in methods().items() if method.speed() != SPEEDS[-1][1]]
    check_each(check, [method for method in quick if "language model" not in get_method(method).needs])


def test_the_records_of_the_contract() -> None:
    found = describe_methods()
    assert [body["id"] for body in found] == list(methods())
    keys = {"id", "label", "family", "source", "signed", "needs", "parameters", "plain", "speed"}
    assert all(keys <= body.keys() for body in found)
    assert json.loads(json.dumps(found, allow_nan=False))[0]["id"] == found[0]["id"]
    body = next(body for body in found if body["id"] == "integrated_gradients")
    assert body["signed"] is True
    assert body["needs"] == ["gradients"]
    assert [parameter["name"] for parameter in body["parameters"]] == [
        "rule",
        "steps",
        "tolerance",
        "max_steps",
        "baseline",
        "baseline_data",
    ]


def test_a_parameter_is_fit_for_a_form() -> None:
    def check(case: tuple[str, str]) -> None:
        found = spec(*case)
        assert found.help
        assert found.default in (found.choices or (found.default,))
        assert (found.kind == "choice") == bool(found.choices)
        if found.kind in ("integer", "number"):
            assert found.minimum is not None
            assert found.minimum <= found.default <= (float("inf") if found.maximum is None else found.maximum)

    check_each(check, EVERY_PARAMETER)


@pytest.mark.parametrize(
    ("method", "name", "expected"),
    [
        ("integrated_gradients", "steps", ("integer", 50, 1, 10_000)),
        ("gradient_shap", "noise", ("number", 0.0, 0, 100)),
        ("lime", "samples", ("integer", 200, 1, None)),
        ("attention_rollout", "residual", ("flag", True, None, None)),
        ("kernel_shap", "samples", ("text", "2n", None, None)),
        ("occlusion", "baseline_data", ("text", "", None, None)),
        ("gradient", "norm", ("choice", "l2", None, None)),
    ],
)
def test_kind_default_and_range(method: str, name: str, expected: tuple) -> None:
    found = spec(method, name)
    assert (found.kind, found.default, found.minimum, found.maximum) == expected


def test_the_choices_in_the_order_of_their_declaration() -> None:
    assert spec("gradient", "norm").choices == ("l2", "signed_sum", "one_hot")
    assert spec("deep_lift", "baseline").choices == ("mask", "pad", "unk", "zero", "max_entropy")


# Requests ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("integrated_gradient", "integrated_gradients"),
        ("gradients", "gradient"),
        ("kernelshap", "kernel_shap"),
        ("Deep_Lift", "deep_lift"),
        ("atention_rollout", "attention_rollout"),
    ],
)
def test_an_unknown_method_is_told_the_nearest(asked: str, near: str) -> None:
    with pytest.raises(RequestError, match=rf"no method '{asked}'\. Did you mean {near}( or \w+)?\?"):
        get_method(asked)


def test_a_method_like_no_other_is_told_all() -> None:
    with pytest.raises(RequestError) as caught:
        get_method("§§§")
    assert all(method in caught.value.remedy for method in methods())


def test_the_refusal_of_an_unknown_parameter_names_the_known_ones() -> None:
    def check(method: str) -> None:
        with pytest.raises(RequestError, match=f"{method} has no parameter 'temperature'") as caught:
            parse(get_method(method), {"temperature": 1})
        known = [name for of, name in EVERY_PARAMETER if of == method] or ["none"]
        assert str(caught.value).endswith(f": {', '.join(known)}.")

    check_each(check, methods())


def wrong_values(found: ParameterSpec) -> list[Any]:
    """Return values that the parameter must refuse."""
    wrong: list[Any] = [None, {}]
    wrong += [] if found.name == "layers" else [[1]]
    texts = {"", "nothing"} - {found.default}
    wrong += [] if found.name == "baseline_data" else sorted(texts)  # any text may name a file
    if found.kind in ("integer", "number"):
        wrong += [found.minimum - 1, float("nan"), float("inf"), "inf", "-1"]
        wrong += [] if found.maximum is None else [found.maximum + 1, str(found.maximum + 1)]
    return wrong + ([1.5, "1.5", 10**30] if found.kind == "integer" else [])


def test_a_value_out_of_range_is_refused() -> None:
    def check(case: tuple[str, str]) -> None:
        method, name = case
        for value in wrong_values(spec(method, name)):
            with pytest.raises(RequestError) as caught:
                require_within(get_method(method), parse(get_method(method), {name: value}), Limits())
            assert str(caught.value).startswith(f"{method}: {name} = {value!r} is not accepted.")
            assert "\n" not in str(caught.value)

    check_each(check, EVERY_PARAMETER)


@pytest.mark.parametrize(
    ("steps", "bound"), [(0, "greater than or equal to 1"), (10_001, "less than or equal to 10000")]
)
def test_the_range_is_named(steps: int, bound: str) -> None:
    with pytest.raises(RequestError, match=bound):
        parse(get_method("integrated_gradients"), {"steps": steps})


def test_values_may_come_as_text() -> None:
    def check(case: tuple[str, str]) -> None:
        method, name = case
        default = spec(method, name).default
        found = parse(get_method(method), {name: str(default)})
        assert found == parse(get_method(method), {})
        assert type(getattr(found, name)) is type(default)

    check_each(check, EVERY_PARAMETER)


def test_a_complete_request_names_every_parameter_in_its_own_type() -> None:
    request = complete(Request(model="m", text="t", question="integrated_gradients", parameters={"steps": "7"}))
    assert request.parameters == {
        "rule": "adaptive",
        "steps": 7,
        "tolerance": 0.01,
        "max_steps": 1024,
        "baseline": "mask",
        "baseline_data": "",
    }


# Written requests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "label"),
    [
        ("occlusion", "occlusion", "Occlusion"),
        (" kernel_shap : samples = 16n ", "kernel_shap:samples=16n", "KernelSHAP, 16n samples"),
        ("kernel_shap:samples=2n:paired=true", "kernel_shap", "KernelSHAP"),
        ("kernel_shap:paired=no", "kernel_shap:paired=False", "KernelSHAP, not paired"),
        (
            "occlusion:baseline=max_entropy:baseline_data=embedded:sentiment",
            "occlusion:baseline=max_entropy:baseline_data=embedded:sentiment",
            "Occlusion, baseline max_entropy, baseline data embedded:sentiment",
        ),
    ],
)
def test_a_method_is_written_with_what_is_not_usual(text: str, name: str, label: str) -> None:
    found = parse_spec(text)
    assert (found.name, found.label) == (name, label)
    assert parse_spec(found.name) == found


def test_a_bare_id_has_the_defaults() -> None:
    def check(method: str) -> None:
        found = parse_spec(method)
        assert (found.name, found.parameters) == (method, get_method(method).Parameters())

    check_each(check, methods())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("occlusoin", "'occlusoin'. Did you mean occlusion"),
        ("", "no method ''"),
        ("lime:samples", "no method 'lime:samples'"),
        ("lime:samples=", "'samples=' is not an option of lime"),
        ("lime:samples=5:samples=6", "the option samples twice"),
        ("lime:samples=0", "lime: samples = '0' is not accepted"),
        ("lime:steps=5", "lime has no parameter 'steps'"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(text: str, told: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_spec(text)
    assert told in str(caught.value)


def test_values_joined_by_plus_are_a_method_each() -> None:
    assert swept("rpi:steps=10+20") == ["rpi:steps=10", "rpi:steps=20"]
    assert swept("lime") == ["lime"]
    both = swept("integrated_gradients:rule=left+right:steps=5 + 10")
    assert [parse_spec(spec).name for spec in both] == [
        f"integrated_gradients:rule={rule}:steps={steps}" for rule in ("left", "right") for steps in (5, 10)
    ]
    members = "ensemble:members=lime+kernel_shap:samples=16n:normalise=sum+rank"
    assert swept(members) == [
        f"ensemble:members=lime+kernel_shap:samples=16n:normalise={name}" for name in ("sum", "rank")
    ]
    assert swept("occlusion:baseline_data=a+b.csv") == ["occlusion:baseline_data=a+b.csv"]
    many = "+".join(map(str, range(1, 12)))
    with pytest.raises(RequestError, match="stands for 121 methods"):
        swept(f"rpi:steps={many}:samples={many}")


@pytest.mark.parametrize("wrong", ["rpi:steps=10+x", "rpi:steps=10++20", "rpi:steps=+"])
def test_each_value_of_a_sweep_is_checked(wrong: str) -> None:
    with pytest.raises(RequestError):
        [parse_spec(spec) for spec in swept(wrong)]
