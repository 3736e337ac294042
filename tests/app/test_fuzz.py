"""Random requests, options and links are accepted within the limits or refused: nothing uncaught, quickly."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from functools import cache
from typing import Any, TypeVar

from hypothesis import example, given
from hypothesis import strategies as st

from explainlab.analyses.registry import analyses, complete, get_analysis, new_request, studies
from explainlab.app.entries import page_of
from explainlab.app.pages.activation import form as activation_view
from explainlab.app.pages.candidates import form as candidates_view
from explainlab.app.pages.errors import form as errors_view
from explainlab.app.pages.explain import form as explain_view
from explainlab.app.pages.integration import form as integration_view
from explainlab.app.view import AnalysisView
from explainlab.attribution.method import TextSize
from explainlab.attribution.registry import methods, parse_spec
from explainlab.declared import ParameterSpec, specs
from explainlab.errors import ExplainLabError
from explainlab.metrics.registry import evaluation_passes, metrics, parse_metric
from explainlab.request import Request, validated
from explainlab.service.limits import named_files, require_allowed, require_bounded
from explainlab.service.resolved import request_json, resolve, subject_key
from explainlab.settings import settings
from tests.fuzz import bounded, changed, inputs, steps, values

T = TypeVar("T")
VIEWS: list[AnalysisView] = [
    page.first_view() for page in (explain_view, activation_view, candidates_view, integration_view, errors_view)
]
DECLARED = {**methods(), **metrics(), **analyses()}
OPTIONS = sorted({name for owner in DECLARED.values() for name in owner.Parameters.model_fields})
PLAIN = [
    *("probability", "logit", "own", "token", "word", "mask", "pad", "zero", "right", "left", "all", "first", "random"),
    *("2n", "16n", "1:5:1", "10,20", "true", "none", "0.5", "rpi", "paper", "embedded:sentiment", "bfloat16"),
]
LARGE = [
    *("-200000000:5:1", "1:2000000000:1", "2000000000:1:-1", "1:5:0", "9" * 5_000 + "n", "1," * 200_000, "[" * 99_999),
    *("occlusion," * 20_000, ":" * 9_999, "=:" * 9_999, 10**12, -(10**400), 10**4_000, float("nan"), float("inf")),
    *([1] * 200_000, ["occlusion"] * 20_000, {"occlusion": {"seed": [0] * 200_000}}, "\ud800", "²", "１０", "١", "1_0"),
]  # fmt: skip


def deep(depth: int) -> Any:
    """Return a list in a list in a list."""
    nested: Any = []
    for _ in range(depth):
        nested = [nested]
    return nested


names = st.sampled_from(sorted(DECLARED)) | st.text(max_size=4)
small = st.sampled_from(PLAIN) | st.integers(-2, 40) | st.floats(-1, 2) | st.booleans() | values
scalars = small | st.sampled_from(LARGE) | st.integers() | st.floats() | st.text(max_size=20)
written = st.tuples(names, st.lists(st.tuples(st.sampled_from(OPTIONS), scalars), max_size=3)).map(
    lambda spec: ":".join(
        [
            spec[0],
            *(f"{name}={value:.99}" if isinstance(value, str) else f"{name}={value!r:.99}" for name, value in spec[1]),
        ]
    )
)
given_options = st.dictionaries(st.sampled_from(OPTIONS) | st.text(max_size=3), scalars, max_size=3)
anything = st.one_of(
    small,
    scalars,
    written,
    st.lists(written | scalars, max_size=4),
    st.lists(written, max_size=3).map(",".join),
    st.dictionaries(names, given_options | scalars, max_size=3),
    st.integers(1, 900).map(deep),
)


questions = st.sampled_from(sorted(analyses()))
kinds = st.sampled_from(["method", "study"])
subjects = st.sampled_from([{"text": "a film"}, {"text": "a film", "text_pair": "b"}, {"data": "embedded:sentiment"}])
fields_of_requests = st.sampled_from(sorted({*Request.model_fields, "study", "method"}))
changed_fields = st.one_of(st.just({}), st.just({}), st.dictionaries(fields_of_requests, anything, max_size=2))


@cache
def fitting(question: str) -> dict[str, Any]:
    """Return by parameter of an analysis values that mostly have its form; made once, as that takes long."""
    return {spec.name: _fitting(spec) for spec in specs(analyses()[question].Parameters)}


def _fitting(spec: ParameterSpec) -> Any:
    usual = st.sampled_from([spec.default, *spec.choices])
    low, high = int(spec.minimum or 0), int(spec.maximum or 60)
    return st.one_of(usual, st.integers(low, max(low, high)), small, anything)


@cache
def chosen_of(question: str) -> Any:
    """Return some names of its parameters."""
    return st.lists(st.sampled_from(sorted(fitting(question))), max_size=3, unique=True)


@st.composite
def records(draw: Any) -> dict[str, Any]:
    """Return a request as JSON: mostly a known question with options of it, and now and then something else."""
    question = draw(questions if draw(st.integers(0, 9)) else names)
    owner = analyses().get(question)
    name = ("study" if question in studies() else "method") if owner else draw(kinds)
    fields = {name: question, "model": "embedded:bert-mini-sst2", **draw(subjects)}
    if owner and fitting(question):
        fields["parameters"] = {name: draw(fitting(question)[name]) for name in draw(chosen_of(question))}
    else:
        fields["parameters"] = draw(given_options)
    return fields | draw(changed_fields)


def accepted(read: Callable[[], T]) -> T:
    """Return the result of ``read``, which must accept its input."""
    try:
        return read()
    except ExplainLabError as error:
        raise AssertionError(f"Refused: {error}") from error


def ask(request: Request) -> None:
    """Do all that pages and the service do with a request before it becomes a job."""
    whole = complete(request)
    require_allowed(whole)
    require_bounded(whole)
    list(named_files(whole))
    json.dumps(request_json(whole), allow_nan=False)
    subject_key(whole)
    analysis = get_analysis(whole.question)
    parameters = analysis.parameters(whole)
    needs = analysis.requirements(parameters)
    assert needs.gradients <= settings().max_evaluations
    assert needs.passes(TextSize(60, 60), 4).work >= 0
    assert needs.adaptive in (True, False)
    for method in needs.methods:
        assert accepted(lambda: parse_spec(method.name)) == method  # noqa: B023 (called at once)
        assert len(method.label) < 1_000
    if whole.data is None or whole.data.startswith("embedded:"):
        assert resolve(whole).key == resolve(whole).key
    shown = page_of(whole)
    if shown:
        look(shown.view)


def look(view: AnalysisView) -> None:
    """Use a view as a page does, and make its link."""
    body = json.loads(json.dumps(view.model_dump(mode="json"), allow_nan=False))
    assert accepted(lambda: validated(type(view), **body)) == view
    view.line()
    view.shown_requests()


def record(question: str, **fields: Any) -> dict[str, Any]:
    """Return one of :func:`records`."""
    asked = {} if "data" in fields else {"text": "a film"}
    return {
        "study" if question in studies() else "method": question,
        "model": "embedded:bert-mini-sst2",
        "parameters": {},
        **asked,
        **fields,
    }


# The examples are what 3,000 more inputs than these found: the lines that no input before them had reached.
@given(records())
@example(record("llm_ranking", parameters={"prompt": "1_0", "max_new_tokens": "[" * 99}))
@example(record("training", parameters={"settings": "predictions:rules=6:strategy=24"}))
@example(record("integrated_gradients", parameters={"baseline": "max_entropy", "baseline_data": "0.5"}))
@example(record("ensemble", parameters={"members": "random", "normalise": -29797673}))
@example(record("ensemble", parameters={"members": "", "normalise": None}))
@example(record("ablation", parameters={"outputs": "1_0", "methods": ""}))
@example(record("synthetic_roar", model="", data=None, parameters={"draws": 1_000, "rows": 1_000_000}))
@example(record("training", data="embedded:sentiment", parameters={"test_data": "gone"}))
@example(record("decompx", parameters={"biases": False}))
@example(record("globenc", model="\0"))
@example(record("trust", parameters={"settings": "\ud800"}))
@example(record("activation", data="embedded:sentiment"))
@inputs(250)
def test_requests_are_bounded_or_refused(record: dict[str, Any]) -> None:
    with bounded(), suppress(ExplainLabError):
        ask(Request.from_json(record))
    with bounded(), suppress(ExplainLabError):
        fields = {"question": record.get("study", record.get("method")), **record}
        ask(new_request(**{name: value for name, value in fields.items() if name not in ("study", "method")}))


@given(written | st.text(max_size=30))
@example("llm_ranking:alpha=-1.7976931348623157e+308")
@inputs(250)
def test_written_options_are_read_or_refused(text: str) -> None:
    with bounded(), suppress(ExplainLabError):
        request = parse_spec(text)
        assert accepted(lambda: parse_spec(request.name)) == request
        assert len(request.label) < 1_000
    with bounded(), suppress(ExplainLabError):
        metric = parse_metric(text)
        assert accepted(lambda: parse_metric(metric.name)) == metric
        assert len(metric.label) < 1_000
        evaluation_passes([metric], 60)


damage = st.lists(st.tuples(st.lists(st.integers(0, 40), min_size=1, max_size=4), st.just("set"), anything), max_size=3)


@given(st.sampled_from(VIEWS), damage, steps)
@inputs(250)
def test_links_open_or_are_refused(view: AnalysisView, first: list, second: list) -> None:
    body = deepcopy(view.model_dump(mode="json"))
    for path, change, value in [*first, *second[: len(first) % 2]]:
        changed(body, path, change, value)
    with bounded(), suppress(ExplainLabError):
        opened = validated(type(view), **body)
        requests = opened.requests()
        look(opened)
        for request in requests:
            ask(request)
