"""Methods by metrics: how good the maps of each method are over a data set, with the random map always beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.analyses.attributions import attributions_of, text_seed
from explainlab.analyses.parameters import Methods, Metrics, Settings, listed
from explainlab.analyses.records import described
from explainlab.analyses.summary import interval, spelled, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.given import given_name, read_given
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import get_method
from explainlab.attribution.selection import evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row, source_digest
from explainlab.metrics.evaluate import MetricResult
from explainlab.metrics.registry import MetricRequest, get_metric, parse_metric
from explainlab.reader import Reader
from explainlab.request import digest

MOST_ROWS = 100_000
EVALUATIONS = 2_000
"""What one text may cost about, which decides how many are judged together."""


Body = dict[str, Any]


class Evaluation(TextAnalysis[Body, Body]):
    """Every method's map of every text, judged by every metric; means with 95% bootstrap intervals over the texts.

    ``settings`` holds the parameters of methods by id; ``attributions`` are files of maps made elsewhere (see
    :class:`explainlab.attribution.given.GivenMap`), judged beside them under their files' names. A text's maps and
    their random choices come from a seed of its own, made of the request's and of the text, so that one random map is
    not judged again and again.
    """

    class Parameters(declared.Parameters):
        methods: Methods = Field(["integrated_gradients"], description="Method ids; random is always among them.")
        metrics: Metrics = Field(
            ["comprehensiveness", "sufficiency"], description="Metrics, options after colons: log_odds:k=10."
        )
        settings: Settings = Field({}, description="Parameters of the methods, by id.")
        attributions: Annotated[list[str], BeforeValidator(listed)] = Field(
            [], description="JSON files of attributions made elsewhere."
        )
        rows: int = Field(100, ge=1, le=MOST_ROWS, description="Texts of a data set.")

        @property
        def names(self) -> list[str]:
            """What is judged: the methods, then the files."""
            return [*self.methods, *map(given_name, self.attributions)]

        @model_validator(mode="after")
        def _of_methods(self) -> Evaluation.Parameters:
            for name in self.settings:
                if name not in self.methods:
                    raise PydanticCustomError("settings", "{name} is not among the methods", {"name": name})
            if len(set(self.names)) < len(self.names):
                raise PydanticCustomError("names", "Two of {names} have one name", {"names": ", ".join(self.names)})
            return self

    id = "evaluation"
    label = "Evaluation"
    source = "Methods by metrics; the metrics' definitions name their papers"
    definition = "mean over texts of metric(method(text)), percentile bootstrap"
    labelled = True

    def fingerprint(self, parameters: Parameters, reader: Reader) -> str:
        """The versions of all methods and metrics, and the data that methods read."""
        methods = [get_method(name) for name in parameters.methods]
        judges = [get_metric(parse_metric(name).metric) for name in parameters.metrics]
        read = [data_digest(values, reader) for values in parameters.settings.values()]
        read += [source_digest(path, reader) for path in parameters.attributions]
        return digest([[f"{one.id} {one.version}" for one in (*methods, *judges)], read])

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[dict[str, Any]]:
        metrics = [parse_metric(name) for name in parameters.metrics]
        others = [_made_elsewhere(subject, parameters) for subject in subjects]
        maps, rest = attributions_of(
            subjects, [(name, parameters.settings.get(name, {})) for name in parameters.methods]
        )
        scores = [np.stack([*(one.scores for one in found), *given]) for found, given in zip(maps, others, strict=True)]
        batcher = subjects[0].batcher
        batcher.context = rest
        judged = evaluate_attributions(subjects, scores, metrics, batcher)
        return [
            _body(subject, found, dict(zip(parameters.names, rows, strict=True)), metrics, values)
            for subject, found, rows, values in zip(subjects, maps, scores, judged, strict=True)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[dict[str, Any]], parameters: Parameters) -> dict[str, Any]:
        table = [
            {
                "method": method,
                **metric.told,
                **interval([body["values"][method][metric.name] for body in bodies]),
                "n": len(bodies),
                "counted": sum(body["counted"][metric.name] > 0 for body in bodies),
            }
            for method in parameters.names
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

    def lines(self, result: Any) -> list[str]:
        body = result.body
        """A line a method and metric: the value of a text, or the mean of n texts with its interval."""
        if "values" in body:
            return [table([{"method": method, **values} for method, values in body["values"].items()])]
        rows = [{"method": one["method"], "metric": one["label"], "mean": spelled(one)} for one in body["rows"]]
        return [table(rows), f"n = {body['n']}"]


def _made_elsewhere(subject: Subject, parameters: Evaluation.Parameters) -> list[np.ndarray]:
    files = map(read_given, parameters.attributions)
    return [file.scores(subject.encoding.text, subject.encoding.text_pair, subject.units.features) for file in files]


def _body(
    subject: Subject,
    maps: Sequence[Attribution],
    scores: dict[str, np.ndarray],
    metrics: Sequence[MetricRequest],
    judged: Sequence[list[MetricResult]],
) -> dict[str, Any]:
    """``maps`` are our own; ``scores`` float64 [n_features] are those of all that is judged, by name."""
    names = [metric.name for metric in metrics]
    values = {
        judged_name: {name: one.value for name, one in zip(names, row, strict=True)}
        for judged_name, row in zip(scores, judged, strict=True)
    }
    return {
        **described(subject),
        "text_seed": text_seed(subject),
        "values": values,
        "counted": {name: one.counted for name, one in zip(names, judged[0], strict=True)},
        "scores": {name: one.tolist() for name, one in scores.items()},
        "costs": {found.request.question: asdict(found.cost) for found in maps},
        "warned": {found.request.question: list(found.warnings) for found in maps if found.warnings},
    }
