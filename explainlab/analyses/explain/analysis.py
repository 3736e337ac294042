"""Explain: which parts of a text speak for its prediction, and which against it? One analysis a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from explainlab.analyses.base import Analysis
from explainlab.analyses.explain.verdict import verdict
from explainlab.attribution import explain
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.method import BatchedMethod, Method, TextSize
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodSpec, member_versions, methods
from explainlab.declared import parse
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount, RunContext
from explainlab.reader import Reader
from explainlab.request import RECORD_VERSION, CompleteRequest, Kind, Output, Request, digest
from explainlab.result import Result

_MANY = 100
"""Tokens and layers: a method whose passes grow with either takes more than one here."""


class Explain(Analysis):
    """The attribution of one text by one ``method``; its id is the method's."""

    kind: Kind = "attribution"

    def __init__(self, method: Method) -> None:
        self.method = method
        self.id, self.label = method.id, method.label
        self.source, self.definition, self.version = method.source, method.definition, method.version
        self.Parameters = method.Parameters

    @classmethod
    def instances(cls) -> Sequence[Explain]:
        """An analysis for every method."""
        return [cls(method) for method in methods().values()]

    def default_output(self, parameters: Mapping[str, Any]) -> Output:
        """The method's own."""
        return self.method.default_output(parameters)

    def method_requests(self, parameters: Any) -> Sequence[MethodSpec]:
        """The methods that this one runs."""
        return self.method.members(parameters)

    def evaluations(self, parameters: Any) -> int:
        """Methods check what they cost themselves: 0."""
        return 0

    def passes(self, parameters: Any, text: TextSize, depth: int) -> PassCount:
        """The method's own."""
        return self.method.passes(parameters, text, depth)

    def adaptive(self, parameters: Any) -> bool:
        """As the method says."""
        return self.method.adaptive(parameters)

    def answer(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> Attribution:
        """The attribution; raises :class:`RequestError` for a data set."""
        return explain.answer_targets(classifier, [request], context)[0]

    def targets_together(self, request: Request) -> bool:
        """Where a text takes one pass."""
        parameters = self.parameters(request)
        return isinstance(self.method, BatchedMethod) and self.method.work(parameters, _MANY, _MANY) <= 1

    def answer_targets(
        self, classifier: Classifier, requests: Sequence[CompleteRequest], context: RunContext
    ) -> list[Result]:
        """See :meth:`Analysis.answer_targets`: in one batch."""
        return [*explain.answer_targets(classifier, requests, context)]

    def read(self, record: Mapping[str, Any]) -> Attribution:
        """See :meth:`Analysis.read`."""
        return Attribution.from_json(dict(record))

    def identity(self, request: CompleteRequest, reader: Reader) -> str:
        """See :meth:`Analysis.identity`."""
        body = {name: value for name, value in request.to_json("attribution").items() if name != "model"}
        versions = {"method_version": self.version, "record_version": RECORD_VERSION}
        read = data_digest(request.parameters, reader)
        members = member_versions(MethodSpec(self.id, parse(self, request.parameters)), reader)
        more = {"data_digest": read, "members": members}
        return digest({**body, **versions, **{name: value for name, value in more.items() if value}})

    def headline(self, result: Attribution) -> str:
        """The prediction, and the words that speak for it and against it."""
        return verdict(result)

    def lines(self, result: Attribution) -> list[str]:
        """See :meth:`Analysis.lines`: the class that is explained, and the scores as a table."""
        label = result.target.label
        table = result.to_frame()[["text", "score", "share", "rank"]].to_string(index=False)
        return [f"{self.id} for '{label}' ({result.prediction.probabilities[label]:.4f})", table, *result.notes]
