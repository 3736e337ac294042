"""All analyses, found by importing the folders beside this file; and the requests and results of each."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from reprlib import repr as quote
from typing import Any

import explainlab.analyses as package
from explainlab import data
from explainlab.analyses.base import Analysis, Requirements, TrainsModels
from explainlab.analyses.explain.analysis import Explain
from explainlab.attribution import explain
from explainlab.attribution.explain import dtype_of
from explainlab.attribution.registry import get_method, methods
from explainlab.declared import installed, lookup, require_within, skip
from explainlab.errors import RequestError
from explainlab.limits import Limits
from explainlab.models.classifier import Classifier
from explainlab.models.context import Body, Cache, RunContext, sharded
from explainlab.reader import ANYBODY, Reader
from explainlab.request import CompleteRequest, Kind, Request, digest, validated
from explainlab.result import Result

_SETS = "sets"
"""The one folder that is no analysis."""


@cache
def analyses() -> dict[str, Analysis]:
    """Return every analysis by id: the methods, each as a question, then the studies, also those installed."""
    for module in pkgutil.iter_modules(package.__path__):
        if module.ispkg and module.name != _SETS:
            importlib.import_module(f"{package.__name__}.{module.name}.analysis")
    listed: list[Analysis] = [Explain(method) for method in methods().values()]
    listed += [cls() for cls in _concrete(Analysis) if cls is not Explain]
    known = {analysis.id for analysis in listed}
    for name, cls in installed("analyses").items():
        if not (isinstance(cls, type) and issubclass(cls, Analysis)):
            skip("analyses", name, "it is no Analysis")
        elif cls.id in known:
            skip("analyses", name, "there is one with its id")
        else:
            listed.append(cls())
    return {analysis.id: analysis for analysis in sorted(listed, key=lambda a: (not isinstance(a, Explain), a.id))}


def studies() -> dict[str, Analysis]:
    """Return every analysis but the methods, by id."""
    return {name: analysis for name, analysis in analyses().items() if not isinstance(analysis, Explain)}


def get_analysis(question: str) -> Analysis:
    """Return the analysis with this id; raises :class:`RequestError` with the nearest names."""
    return lookup("method or study", question, analyses())


def get_study(study_id: str) -> Analysis:
    """Return the study with this id; raises :class:`RequestError` with the nearest names."""
    return lookup("study", study_id, studies())


def named_base(
    question: str, model: str | None, parameters: Mapping[str, Any], remedy: str = "Name one."
) -> tuple[str, dict[str, Any]]:
    """Return the model of a request for ``question``, and its parameters without ``base``, the model to train.

    The model is empty for a self-contained study. Raises :class:`RequestError` where both ``model`` and ``base`` name
    one, or none does and one is needed; ``remedy`` says how to name it.
    """
    analysis, rest = get_analysis(question), dict(parameters)
    if analysis.self_contained:
        analysis.require_source(model is not None)
        return "", rest
    if isinstance(analysis, TrainsModels):
        base = rest.pop("base", None)
        if base and model:
            raise RequestError(f"{question} has the model {quote(model)} and base = {quote(base)}.", "Name one.")
        model = model or base
        remedy = "Say what to begin with: base = an architecture, or the id of a model."
    if not model:
        raise RequestError(f"{question} needs a model.", remedy)
    return model, rest


def kind_of(request: Request) -> Kind:
    """Return how JSON names the question of ``request``: a method's answer is an attribution, any other a study's."""
    return "attribution" if isinstance(get_analysis(request.question), Explain) else "study"


def new_request(*, output: str | None = None, **fields: Any) -> Request:
    """Make a request with these ``fields`` and today's defaults: a random sample of a data set, if it names no rows.

    ``output`` is the output that all methods explain (None: the question's, and each method's own). Requests read
    from the store, a link or a file do not pass here, as they are explicit. Raises as
    :func:`explainlab.request.validated`.
    """
    request = validated(Request, **fields, **({} if output is None else {"output": output}))
    analysis = get_analysis(request.question)
    known, today = analysis.Parameters.model_fields, {}
    if request.data is not None and "sample" in known:
        today["sample"] = "random"
    if output == "probability" and "outputs" in known:
        today["outputs"] = "all"
    update: dict[str, Any] = {"parameters": {**today, **request.parameters}}
    if output is None:
        with suppress(RequestError):  # :func:`complete` refuses such parameters with the reason
            update["output"] = requirements(request).output
    return request.model_copy(update=update)


def complete(request: Request) -> CompleteRequest:
    """Return the same request with every parameter of its question filled in; raises :class:`RequestError`."""
    return get_analysis(request.question).complete(request)


def identity(request: CompleteRequest, reader: Reader = ANYBODY) -> str:
    """Return the digest of all that decides the result of ``request`` but its model: :meth:`Analysis.identity`."""
    return get_analysis(request.question).identity(request, reader)


def request_key(request: CompleteRequest, model_digest: str, reader: Reader = ANYBODY) -> str:
    """Return the store's key of a complete request, whose data are read as ``reader``."""
    return get_analysis(request.question).key(request, model_digest, reader)


class RoundedCache:
    """A part of ``cache`` for results whose products of matrices torch rounds to the format ``rounded``."""

    def __init__(self, cache: Cache, rounded: str) -> None:
        self._cache, self._rounded = cache, rounded

    def get_many(self, keys: Collection[str]) -> dict[str, Body]:
        """See :class:`Cache`."""
        own = {self._key(key): key for key in keys}
        return {own[key]: body for key, body in self._cache.get_many(own).items()}

    def put_many(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        """See :class:`Cache`."""
        self._cache.put_many({self._key(key): body for key, body in bodies.items()}, renew)

    def _key(self, key: str) -> str:
        return digest([key, self._rounded])


def with_keys(context: RunContext, classifier: Classifier) -> RunContext:
    """Return a context like ``context`` in which every question to ``classifier`` has its key.

    Results for products that torch rounds have caches apart from those of exact results.
    """
    reader, rounded = context.reader, classifier.rounds_to
    if dtype_of(classifier) is not None:
        context = replace(context, key_of=lambda request: request_key(request, classifier.digest, reader))
    if not rounded:
        return context
    return replace(context, cache=RoundedCache(context.cache, rounded), results=RoundedCache(context.results, rounded))


def answer(classifier: Classifier, request: Request, context: RunContext | None = None) -> Result:
    """Return the result of ``request`` by its loaded ``classifier``; raises the errors of :mod:`explainlab.errors`.

    A ``context`` may serve another run, which then finds the results stored by this one; it grows with the texts.
    """
    return answer_targets(classifier, [complete(request)], context or sharded())[0]


def answer_alone(request: CompleteRequest, context: RunContext, device: str, limits: Limits) -> Result | None:
    """Answer ``request`` as :func:`answer` does, without a loaded classifier; None where it needs one."""
    analysis = get_analysis(request.question)
    if not isinstance(analysis, TrainsModels):
        return None
    require_bounded(request, limits)
    return analysis.train(request, context, device)


def known_digest(request: Request) -> str | None:
    """Return the identity of the model that ``request`` names; None for one that is not on this machine."""
    return get_analysis(request.question).known_digest(request.model)


def model_digest(request: Request) -> str:
    """Return the identity of the model that ``request`` names, which is fetched if it is not on this machine."""
    return get_analysis(request.question).model_digest(request.model)


def answer_targets(classifier: Classifier, requests: Sequence[CompleteRequest], context: RunContext) -> list[Result]:
    """Answer ``requests`` that differ in their target alone, as :func:`answer` does."""
    require_bounded(requests[0], classifier.limits)
    if requests[0].data is not None:
        importlib.import_module("scipy.stats")  # takes as long as many passes: before the job's pace is measured
    known = with_keys(context, classifier)
    if targets_together(requests[0]):
        return [*explain.answer_targets(classifier, requests, known)]
    return [get_analysis(one.question).run(classifier, one, known) for one in requests]


def targets_together(request: Request) -> bool:
    """Tell if one batch answers requests that differ from ``request`` in their target alone."""
    analysis = get_analysis(request.question)
    return isinstance(analysis, Explain) and analysis.targets_together(request)


def read_result(record: Mapping[str, Any]) -> Result:
    """Return the result whose JSON is ``record``.

    Raises :class:`RequestError` for an unknown question, :class:`ValueError` or :class:`KeyError` for another form.
    """
    known = get_study(record["study"]) if "study" in record else get_analysis(get_method(record["method"]).id)
    result: Result = known.read(record)
    return result


def requirements(request: Request) -> Requirements:
    """Return the needs of the answer to ``request``."""
    analysis = get_analysis(request.question)
    return analysis.requirements(analysis.parameters(request))


def require_bounded(request: Request, limits: Limits) -> None:
    """Raise :class:`RequestError` if ``request``, a method that it names, or a text's cost is beyond ``limits``."""
    analysis = get_analysis(request.question)
    parameters = analysis.parameters(request)
    require_within(analysis, parameters, limits)
    needs = analysis.requirements(parameters)
    for method in needs.methods:
        for run in (method, *get_method(method.method).members(method.parameters)):
            require_within(get_method(run.method), run.parameters, limits)
    cost = needs.gradients
    if cost > limits.max_evaluations:
        problem, remedy = f"This study needs {cost:,} gradients for each text.", "Choose fewer steps or rules."
        if analysis.self_contained:
            problem, remedy = f"This study is as much work as {cost:,} gradients.", "Ask for less."
        raise RequestError(problem, f"{remedy} {limits.words('max_evaluations')}")


def require_columns(request: CompleteRequest, reader: Reader) -> None:
    """Raise :class:`DataError` if the data set of ``request`` lacks a column; no more than its beginning is read."""
    if request.data is not None:
        needs = requirements(request)
        labelled = needs.needs_labels(request.target, request.columns, request.classes) or data.leaves_out(
            request.classes
        )
        data.require_columns(request.data, request.columns, labelled, needs.extra_columns, reader)


def _concrete(base: type[Any]) -> Iterator[type[Analysis]]:
    for cls in base.__subclasses__():
        if cls.__module__.startswith(f"{package.__name__}.") and cls.__module__.endswith(".analysis"):
            yield cls
        yield from _concrete(cls)
