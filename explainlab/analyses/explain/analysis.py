"""Explain: which parts of a text speak for its prediction, and which against it? One analysis a method."""

from __future__ import annotations

from functools import partial
from typing import Any

from explainlab.analyses.base import Analysis, Report, Requirements
from explainlab.analyses.explain.verdict import verdict
from explainlab.attribution import explain
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.method import BatchedMethod, Method
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodSpec, member_versions
from explainlab.declared import parse
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.reader import Reader
from explainlab.request import RECORD_VERSION, CompleteRequest, Request, digest

_MANY = 100
"""Tokens and layers: a method whose passes grow with either takes more than one here."""


class Explain(Analysis):
    """The attribution of one text by one ``method``; its id is the method's."""

    bodies = (Attribution,)

    def __init__(self, method: Method) -> None:
        self.method = method
        self.id, self.label = method.id, method.label
        self.source, self.definition, self.version = method.source, method.definition, method.version
        self.Parameters = method.Parameters

    def requirements(self, parameters: Any) -> Requirements:
        """Return the needs of the method, which bounds its own cost: its gradients are 0 here."""
        return Requirements(
            gradients=0,
            methods=self.method.members(parameters),
            output=self.method.default_output(parameters.model_dump(mode="json")),
            count_passes=partial(self.method.passes, parameters),
            ends_early=self.method.adaptive(parameters),
        )

    def run(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> Attribution:
        """Return the attribution; raises :class:`RequestError` for a data set."""
        return explain.answer_targets(classifier, [request], context)[0]

    def targets_together(self, request: Request) -> bool:
        """Tell if requests that differ in their target alone are answered in one batch: where a text takes one pass."""
        parameters = self.parameters(request)
        return isinstance(self.method, BatchedMethod) and self.method.work(parameters, _MANY, _MANY) <= 1

    def identity(self, request: CompleteRequest, reader: Reader) -> str:
        """See :meth:`Analysis.identity`."""
        body = {name: value for name, value in request.to_json("attribution").items() if name != "model"}
        versions = {"method_version": self.version, "record_version": RECORD_VERSION}
        read = data_digest(request.parameters, reader)
        members = member_versions(MethodSpec(self.id, parse(self, request.parameters)), reader)
        more = {"data_digest": read, "members": members}
        return digest({**body, **versions, **{name: value for name, value in more.items() if value}})

    def report(self, result: Any) -> Report:
        return Report(result, verdict(result), _lines)


def _lines(result: Attribution) -> list[str]:
    """Return the class that is explained, and the scores as a table."""
    label = result.target.label
    head = f"{result.request.question} for '{label}' ({result.prediction.probabilities[label]:.4f})"
    table = result.to_frame()[["text", "score", "share", "rank"]].to_string(index=False)
    return [head, table, *result.notes]
