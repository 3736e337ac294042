"""The registry: every method declares itself fully, and what a request gets wrong is named with its remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explainlab import explain, methods
from explainlab.attribution.method import SPEEDS
from explainlab.attribution.methods.occlusion import Occlusion
from explainlab.attribution.registry import complete, describe_methods, get_method, methods_table, parse_method, swept
from explainlab.declared import ParameterSpec, parse, require_within
from explainlab.errors import RequestError
from explainlab.limits import Limits
from explainlab.models.architectures import Architecture
from explainlab.models.context import RunContext
from explainlab.request import Request
from tests.conftest import loaded

every_method = pytest.mark.parametrize("method", methods())
every_parameter = pytest.mark.parametrize(
    ("method", "spec"),
    [(method, spec) for method in methods() for spec in get_method(method).parameter_specs()],
    ids=lambda value: value.name if isinstance(value, ParameterSpec) else value,
)


def spec(method: str, name: str) -> ParameterSpec:
    return next(spec for spec in get_method(method).parameter_specs() if spec.name == name)


# Declarations --------------------------------------------------------------------------------------------------------


def test_methods_come_family_by_family() -> None:
    families = [method.family for method in methods().values()]
    order = ["Gradients", "Paths", "Perturbation", "Attention", "Decomposition", "Others", "Control"]
    assert families == sorted(families, key=order.index)
    assert set(families) == set(order)
    assert all(method.id == name for name, method in methods().items())


@every_method
def test_a_method_says_all_about_itself(method: str) -> None:
    found = get_method(method)
    assert all((found.label, found.source, found.definition, type(found).__doc__))
    assert found.version >= 1
    capabilities = Architecture("any").capabilities
    assert set(found.needs) <= capabilities.keys()
    assert found.is_signed(parse(found, {})) == found.signed


@every_method
def test_a_method_speaks_to_every_reader(method: str) -> None:
    declared = get_method(method)
    for sentence in (declared.plain, declared.good_for):
        assert sentence.endswith(".")
        assert 20 < len(sentence) < 120
        assert not set(sentence) & set("φ∂Σ_")
    assert declared.plain != (type(declared).__doc__ or "").split("\n")[0]


def test_two_or_three_methods_are_to_start_with() -> None:
    assert [name for name, method in methods().items() if method.start] == [
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


class Spent(RunContext):
    """Adds up the work of a run."""

    work = 0.0

    def spend(self, work: float) -> None:
        self.work += work


@every_method
def test_the_speed_is_what_a_text_takes(method: str) -> None:
    """Measured on a text of about as many tokens as speeds are told for."""
    declared, context = get_method(method), Spent()
    if declared.speed() == SPEEDS[-1][1] or "language model" in declared.needs:
        pytest.skip("too slow to measure here, or no embedded model runs it")
    model = loaded(f"embedded:{'gpt2-mini-ag-news' if 'causal decoder' in declared.needs else 'bert-mini-sst2'}")
    text = "The first act drags a little, but the ending is so beautiful that I forgave everything."
    result = explain(model, text, method, context=context)
    passes = context.work / len(result.features)
    bounds = [0.0, *(most for most, _ in SPEEDS)]
    place = [words for _, words in SPEEDS].index(declared.speed())
    assert bounds[place] / 2 < passes <= bounds[place + 1] * 1.5


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


@every_parameter
def test_a_parameter_is_fit_for_a_form(method: str, spec: ParameterSpec) -> None:
    assert spec.help.endswith(".")
    assert spec.default in (spec.choices or (spec.default,))
    assert (spec.kind == "choice") == bool(spec.choices)
    if spec.kind in ("integer", "number"):
        assert spec.minimum is not None
        assert spec.minimum <= spec.default <= (float("inf") if spec.maximum is None else spec.maximum)


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


def test_the_table_has_a_row_a_method() -> None:
    head, rule, *rows = methods_table()
    assert [row.split("`")[1] for row in rows] == list(methods())
    assert {line.replace("\\|", "").count("|") for line in (head, rule, *rows)} == {6}
    assert any("`baseline` (mask), `baseline_data` (empty)" in row for row in rows)


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
    with pytest.raises(RequestError, match=rf"There is no method '{asked}'\. Did you mean {near}( or \w+)?\?"):
        get_method(asked)


def test_a_method_like_no_other_is_told_all() -> None:
    with pytest.raises(RequestError) as caught:
        get_method("§§§")
    assert all(method in caught.value.remedy for method in methods())


@every_method
def test_an_unknown_parameter_is_told_the_known_ones(method: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(get_method(method), {"temperature": 1})
    known = ", ".join(spec.name for spec in get_method(method).parameter_specs()) or "none"
    assert str(caught.value) == f"{method} has no parameter 'temperature'. Its parameters: {known}."


@every_parameter
def test_what_is_out_of_range_is_refused(method: str, spec: ParameterSpec) -> None:
    wrong: list[Any] = [None, {}]
    wrong += [] if spec.name == "layers" else [[1]]
    texts = {"", "nothing"} - {spec.default}
    wrong += [] if spec.name == "baseline_data" else sorted(texts)  # any text may name a file
    if spec.kind in ("integer", "number"):
        wrong += [spec.minimum - 1, float("nan"), float("inf"), "inf", "-1"]
        wrong += [] if spec.maximum is None else [spec.maximum + 1, str(spec.maximum + 1)]
    if spec.kind == "integer":
        wrong += [1.5, "1.5", 10**30]
    for value in wrong:
        with pytest.raises(RequestError) as caught:
            require_within(get_method(method), parse(get_method(method), {spec.name: value}), Limits())
        assert str(caught.value).startswith(f"{method}: {spec.name} = {value!r} is not accepted.")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (0, "integrated_gradients: steps = 0 is not accepted. Input should be greater than or equal to 1."),
        (10_001, "integrated_gradients: steps = 10001 is not accepted. Input should be less than or equal to 10000."),
    ],
)
def test_the_range_is_named(steps: int, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(get_method("integrated_gradients"), {"steps": steps})
    assert str(caught.value) == message


@every_parameter
def test_values_may_come_as_text(method: str, spec: ParameterSpec) -> None:
    found = parse(get_method(method), {spec.name: str(spec.default)})
    assert found == parse(get_method(method), {})
    assert type(getattr(found, spec.name)) is type(spec.default)


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
    found = parse_method(text)
    assert (found.name, found.label) == (name, label)
    assert parse_method(found.name) == found


@every_method
def test_a_bare_id_has_the_defaults(method: str) -> None:
    found = parse_method(method)
    assert (found.name, found.parameters) == (method, get_method(method).Parameters())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("occlusoin", "There is no method 'occlusoin'. Did you mean occlusion"),
        ("", "There is no method ''"),
        ("lime:samples", "There is no method 'lime:samples'"),
        ("lime:samples=", "'samples=' is not an option of lime. Write options as :name=value."),
        ("lime:samples=5:samples=6", "lime has the option samples twice. Give it once."),
        ("lime:samples=0", "lime: samples = '0' is not accepted"),
        ("lime:steps=5", "lime has no parameter 'steps'"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(text: str, told: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_method(text)
    assert told in str(caught.value)


def test_values_joined_by_plus_are_a_method_each() -> None:
    assert swept("rpi:steps=10+20") == ["rpi:steps=10", "rpi:steps=20"]
    assert swept("lime") == ["lime"]
    both = swept("integrated_gradients:rule=left+right:steps=5 + 10")
    assert [parse_method(spec).name for spec in both] == [
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
        [parse_method(spec) for spec in swept(wrong)]
