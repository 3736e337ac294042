"""Methods by metrics: how good the maps of each method are over a data set, with the random map always beside them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.explain import attribute
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import complete, get_method
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.declared import parse
from explainlab.metrics.judge import Case, Judgement, judge
from explainlab.metrics.registry import MetricRequest, get_metric, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.context import Relay, RunContext
from explainlab.request import Request, digest
from explainlab.studies.parameters import Metrics, listed, refused
from explainlab.studies.study import Study, described
from explainlab.studies.summary import interval

RANDOM = "random"
MOST_ROWS = 100_000
EVALUATIONS = 2_000
"""What one text may cost about, which decides how many are judged together."""


def _methods(names: list[str]) -> list[str]:
    if not names or len(set(names)) < len(names):
        raise PydanticCustomError("methods", "Give one or more methods, each once")
    for name in names:
        refused(lambda name=name: get_method(name))
    return names if RANDOM in names else [*names, RANDOM]


def _settings(settings: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Complete, so that equal questions have equal keys."""
    return {
        name: refused(lambda name=name, values=values: parse(get_method(name), values)).model_dump(mode="json")
        for name, values in settings.items()
    }


class Evaluation(Study):
    """Every method's map of every text, judged by every metric; means with 95% bootstrap intervals over the texts.

    ``settings`` holds the parameters of methods by id. A text's maps and their random choices come from a seed of its
    own, made of the request's and of the text, so that one random map is not judged again and again.
    """

    class Parameters(declared.Parameters):
        methods: Annotated[list[str], BeforeValidator(listed), AfterValidator(_methods)] = Field(
            ["integrated_gradients"], description="Method ids; random is always among them."
        )
        metrics: Metrics = Field(
            ["comprehensiveness", "sufficiency"], description="Metrics, options after colons: log_odds:k=10."
        )
        settings: Annotated[dict[str, dict[str, Any]], AfterValidator(_settings)] = Field(
            {}, description="Parameters of the methods, by id."
        )
        rows: int = Field(100, ge=1, le=MOST_ROWS, description="Texts of a data set.")

        @model_validator(mode="after")
        def _of_methods(self) -> Evaluation.Parameters:
            for name in self.settings:
                if name not in self.methods:
                    raise PydanticCustomError("settings", "{name} is not among the methods", {"name": name})
            return self

    id: ClassVar = "evaluation"
    label: ClassVar = "Evaluation"
    source: ClassVar = "Methods by metrics; the metrics' definitions name their papers"
    definition: ClassVar = "mean over texts of metric(method(text)), percentile bootstrap"
    labelled: ClassVar = True

    def stamp(self, parameters: Parameters) -> str:
        """The versions of all methods and metrics, and the data that methods read."""
        methods = [get_method(name) for name in parameters.methods]
        judges = [get_metric(parse_metric(name).metric) for name in parameters.metrics]
        read = [data_digest(values) for values in parameters.settings.values()]
        return digest([[f"{one.id} {one.version}" for one in (*methods, *judges)], read])

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[dict[str, Any]]:
        metrics = [parse_metric(name) for name in parameters.metrics]
        for name in parameters.methods:
            get_method(name).require(subjects[0].classifier)
        parts = len(subjects) * len(parameters.methods) + 1
        maps = [
            [
                _attribution(subject, name, parameters, _Share(subject.context, i * len(parameters.methods) + j, parts))
                for j, name in enumerate(parameters.methods)
            ]
            for i, subject in enumerate(subjects)
        ]
        cases = [_case(subject, found) for subject, found in zip(subjects, maps, strict=True)]
        batcher = Batcher(subjects[0].classifier, _Share(subjects[0].context, parts - 1, parts))
        judged = judge(cases, metrics, batcher)
        return [
            _body(subject, found, metrics, values)
            for subject, found, values in zip(subjects, maps, judged, strict=True)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[dict[str, Any]], parameters: Parameters) -> dict[str, Any]:
        table = [
            {
                "method": method,
                "metric": metric.metric,
                "preset": metric.parameters.preset,
                "asked": metric.name,
                "label": metric.label,
                "definition": metric.definition,
                "higher_is_better": metric.higher_is_better,
                **interval([body["values"][method][metric.name] for body in bodies]),
                "n": len(bodies),
                "counted": sum(body["counted"][metric.name] > 0 for body in bodies),
            }
            for method in parameters.methods
            for metric in map(parse_metric, parameters.metrics)
        ]
        cost = {
            method: {part: sum(body["costs"][method][part] for body in bodies) for part in ("forward", "backward")}
            for method in parameters.methods
        }
        texts = [
            {
                "row": row.number,
                "text": row.text,
                "label": row.label,
                "values": body["values"],
                "text_seed": body["text_seed"],
            }
            for row, body in zip(rows, bodies, strict=True)
        ]
        return {"n": len(bodies), "rows": table, "cost_by_method": cost, "texts": texts}

    def evaluations(self, parameters: Parameters) -> int:
        return EVALUATIONS


class _Share(Relay):
    """Tells the progress of one of ``parts`` equal parts of a piece of work."""

    SCALE = 1_000

    def __init__(self, context: RunContext, part: int, parts: int) -> None:
        super().__init__(context)
        self._part, self._parts = part, parts

    def report(self, done: int, total: int, phase: str) -> None:
        reached = self._part * self.SCALE + self.SCALE * done // max(1, total)
        self._context.report(reached, self._parts * self.SCALE, phase)


def _attribution(
    subject: Subject, method_id: str, parameters: Evaluation.Parameters, context: RunContext
) -> Attribution:
    method, settings = get_method(method_id), parameters.settings.get(method_id, {})
    encoding = subject.encoding
    request = complete(
        Request(
            model=subject.classifier.id,
            text=encoding.text,
            text_pair=encoding.text_pair,
            method=method_id,
            parameters=settings,
            target=subject.target.label,
            output=method.default_output(settings) if subject.output == "probability" else subject.output,
            unit=subject.unit,
            seed=text_seed(subject),
        )
    )
    result = attribute(subject.classifier, encoding, method, request, context)
    subject.forward += result.cost.forward
    subject.backward += result.cost.backward
    return result


def text_seed(subject: Subject) -> int:
    """The seed of a text: of the subject's seed and what the text says, whatever its place in the data."""
    said = f"{subject.encoding.text}\x00{subject.encoding.text_pair}"
    return int(np.random.SeedSequence([subject.seed, zlib.crc32(said.encode())]).generate_state(1)[0])


def _case(subject: Subject, maps: Sequence[Attribution]) -> Case:
    scores = np.stack([found.scores for found in maps])
    return Case(subject.encoding, subject.units, subject.original, subject.target.index, scores)


def _body(
    subject: Subject, maps: Sequence[Attribution], metrics: Sequence[MetricRequest], judged: Sequence[list[Judgement]]
) -> dict[str, Any]:
    names = [metric.name for metric in metrics]
    values = {
        found.request.method: {name: one.value for name, one in zip(names, row, strict=True)}
        for found, row in zip(maps, judged, strict=True)
    }
    return {
        **described(subject),
        "text_seed": text_seed(subject),
        "values": values,
        "counted": {name: one.counted for name, one in zip(names, judged[0], strict=True)},
        "scores": {found.request.method: found.scores.tolist() for found in maps},
        "costs": {found.request.method: asdict(found.cost) for found in maps},
        "warned": {found.request.method: list(found.warnings) for found in maps if found.warnings},
    }
