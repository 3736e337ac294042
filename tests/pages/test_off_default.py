"""Links whose parameters are not at their defaults: each opens, and its page asks what the link asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.analyses.registry import complete, get_analysis
from explainlab.app.entries import ShownBy, analysis_pages, entries, page_of
from explainlab.app.pages.explain.form import Choice, first_view
from explainlab.attribution.registry import methods
from explainlab.declared import ParameterSpec, specs
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.service import service as service_module
from explainlab.service.dispatcher import Dispatcher
from explainlab.service.limits import require_bounded
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.settings import ROOT, settings
from tests.pages.scripted import SECONDS, link_of, words

TYPED = [
    *(7, "embedded:sentiment", "7", "all", "sufficiency", "occlusion", "Which {units} of {text}?"),
    *([7, 9], ["right"], ["sufficiency"], ["occlusion"], ["0.2s"]),
    *({"lime": {"samples": 7}}, {"learning_rate": 1e-9, "epochs": 1000, "batch_size": 1, "warmup": 0.5}),
]
"""Values of parameters that are typed as text, the first that is accepted counts: a number before all others."""


def nowhere(answer: Any, ended: Any, help: Any, places: int, prefer: Any) -> Dispatcher:
    """Make an engine whose jobs may begin at no worker."""
    return Dispatcher(answer, ended, help, places, lambda _: ())


@pytest.fixture(scope="module")
def idle() -> Iterator[Service]:
    """The app's service while no worker can be had: whatever pages ask waits, so that a link costs no computation."""
    with (
        pytest.MonkeyPatch.context() as patch,
        Service(Store("sqlite://"), "cpu", engine=nowhere) as service,
    ):
        patch.setattr(service_module, "_service", lru_cache(maxsize=1)(lambda: service))
        yield service


def shown_questions() -> dict[str, Request]:
    """Return by id a request for each method, and for each study that a page opens with or has a button for."""
    asked = {name: Request(question=name, model=first_view().model, text="a fine film") for name in methods()}
    shown = [request for page in analysis_pages().values() for request in page.first().shown_requests()]
    return {request.question: request for request in shown} | asked


def others(spec: ParameterSpec, value: Any) -> list[Any]:
    """Return values beside ``value`` that the declaration suggests."""
    if spec.kind == "flag":
        return [not value]
    if spec.kind == "choice":
        return [choice for choice in spec.choices if choice != value]
    if spec.kind == "text":
        return TYPED
    return [] if value is None else [spec.maximum, spec.minimum, value + 1, value - 1, value / 2]


def changed(request: Request, spec: ParameterSpec) -> Request | None:
    """Return ``request`` with another value of a parameter; None where no page can show that."""
    before = complete(request).parameters
    for value in others(spec, before[spec.name]):
        with suppress(ExplainLabError):
            asked = Request(**{**dict(request), "parameters": {**request.parameters, spec.name: value}})
            require_bounded(complete(asked))
            if complete(asked).parameters[spec.name] != before[spec.name] and page_of(asked):
                return asked
    return None


def each_alone(request: Request) -> dict[str, Request]:
    """Return by parameter ``request`` with another value of it."""
    found = {spec.name: changed(request, spec) for spec in specs(get_analysis(request.question).Parameters)}
    return {name: asked for name, asked in found.items() if asked is not None}


def all_together(request: Request) -> Request:
    """Return ``request`` with other values of all parameters that go together."""
    for spec in specs(get_analysis(request.question).Parameters):
        request = changed(request, spec) or request
    return request


def together() -> Mapping[str, ShownBy]:
    """Return a link for each study, and one for all methods."""
    asked = {name: all_together(request) for name, request in shown_questions().items()}
    chosen = tuple(Choice(method=name, parameters=asked.pop(name).parameters) for name in methods())
    methods_view = first_view().model_copy(update={"methods": chosen})
    found = {name: page_of(request) for name, request in asked.items()}
    return {"methods": ShownBy(entries()[0], methods_view)} | {name: shown for name, shown in found.items() if shown}


def alone() -> Mapping[str, ShownBy]:
    """Return a link for each parameter of every method and study."""
    found = {
        f"{question}:{name}": page_of(asked)
        for question, request in shown_questions().items()
        for name, asked in each_alone(request).items()
    }
    return {name: shown for name, shown in found.items() if shown}


def problems(service: Service, shown: ShownBy) -> str:
    """Tell what goes wrong when a link is opened; nothing if its page shows it."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS)
    if shown.entry != entries()[0]:
        app.switch_page(shown.entry.path)
    link = app.query_params["r"] = link_of(shown.view)
    app.run()
    for job in service.engine.unfinished():
        for user in list(job.users):
            service.cancel(job.key, user)
    said = [*(error.value for error in app.exception), *(error.value for error in app.error)]
    if not said and "".join(app.query_params["r"]) != link:
        said.append("the page shows another view")
    if "controls have changed" in words(app.caption):
        said.append("the controls say something else")
    return "; ".join(said)


def test_links_open_with_other_parameters(idle: Service) -> None:
    found = {name: problems(idle, shown) for name, shown in together().items()}
    assert {name: problem for name, problem in found.items() if problem} == {}


def test_a_link_with_more_rows_than_are_allowed_by_now_is_refused_in_words(
    idle: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    (benchmark,) = (entry for entry in analysis_pages() if entry.url == "benchmark")
    view = analysis_pages()[benchmark].first().model_copy(update={"rows": 30})
    monkeypatch.setattr(settings(), "max_rows", 20)
    assert "30 rows are too many" in problems(idle, ShownBy(benchmark, view))


@pytest.mark.full("7 s: a page for each of 150 parameters")
def test_a_link_opens_with_each_parameter_off_its_default(idle: Service) -> None:
    opened = alone()
    of_methods = {f"{name}:{spec.name}" for name, method in methods().items() for spec in method.parameter_specs()}
    assert of_methods - opened.keys() == set(), "no other value is known"
    found = {name: problems(idle, shown) for name, shown in opened.items()}
    assert {name: problem for name, problem in found.items() if problem} == {}
