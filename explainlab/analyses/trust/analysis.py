"""Whether a map can be trusted: what follows from it for the prediction, against random maps of the same text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import from_json

from explainlab import declared
from explainlab.analyses.attributions import attribution_of, text_seed
from explainlab.analyses.evaluation.analysis import EVALUATIONS, MOST_ROWS
from explainlab.analyses.records import described
from explainlab.analyses.summary import interval, spelled
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.explain import cut_warning
from explainlab.attribution.registry import get_method
from explainlab.attribution.selection import case_of
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.declared import parse
from explainlab.metrics import trust
from explainlab.metrics.registry import get_metric
from explainlab.models.batching import Batcher
from explainlab.reader import Reader
from explainlab.request import digest


def _read(settings: Any) -> Any:
    """Settings written as JSON, which is how a command line gives them."""
    return from_json(settings) if isinstance(settings, str) else settings


Body = dict[str, Any]


class Trust(TextAnalysis[Body, Body]):
    """One method's map by comprehensiveness and sufficiency, against 100 random maps of the same text.

    With the request's seed, unit, target and output the method and its ``settings`` give the very map that
    :func:`explainlab.explain` gives. The random maps come from a seed of the text's own, so that the map of the method
    ``random`` is none of them.
    """

    class Parameters(declared.Parameters):
        method: str = Field("integrated_gradients", description="Method id.")
        settings: Annotated[dict[str, Any], BeforeValidator(_read)] = Field(
            {}, description="Parameters of the method; on the command line as JSON."
        )
        rows: int = Field(100, ge=1, le=MOST_ROWS, description="Texts of a data set.")

        @field_validator("settings")
        @classmethod
        def _complete(cls, settings: dict[str, Any], known: ValidationInfo) -> dict[str, Any]:
            return parse(get_method(known.data["method"]), settings).model_dump(mode="json")

    id = "trust"
    label = "Comparison with random maps"
    source = "DeYoung et al. 2020, Eq. 1 and 2, each held against its distribution over random maps"
    definition = "share of random maps r with metric(r) worse than metric(φ), ties counted half"

    def fingerprint(self, parameters: Parameters, reader: Reader) -> str:
        """The versions of the method and of the metrics, and the data that the method reads."""
        judges = [get_method(parameters.method), get_metric("comprehensiveness"), get_metric("sufficiency")]
        return digest([[one.version for one in judges], data_digest(parameters.settings, reader)])

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[dict[str, Any]]:
        get_method(parameters.method).require(subjects[0].classifier)
        return [_body(subject, parameters, subjects[0].batcher) for subject in subjects]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[dict[str, Any]], parameters: Parameters) -> dict[str, Any]:
        judged = list(zip(*(body["metrics"] for body in bodies), strict=True))
        texts = [
            {
                "row": row.number,
                "text": row.text,
                "label": row.label,
                "metrics": [{name: one[name] for name in ("asked", "value", "beaten", "counted")} for one in found],
            }
            for row, found in zip(rows, (body["metrics"] for body in bodies), strict=True)
        ]
        return {"summary": {"n": len(bodies), "metrics": [_summary(column) for column in judged]}, "texts": texts}

    def evaluations(self, parameters: Parameters) -> int:
        return EVALUATIONS

    def lines(self, result: Any) -> list[str]:
        body = result.body
        """By every metric, how many random maps do worse, and what they reach."""
        if "summary" in body:
            told = body["summary"]
            means = [
                f"{one['label']}: {spelled(one['value'])}; beats {spelled(one['beaten'])}" for one in told["metrics"]
            ]
            return [f"Means of {told['n']} texts; beats: the share of random maps that do worse", *means]
        maps = body["random_maps"]
        return [
            f"{one['label']}: {one['value']:.4f}, better than {maps * one['beaten']:g} of {maps} random maps "
            f"(median {one['median']:.4f}, 5-95% {one['low']:.4f} to {one['high']:.4f})"
            for one in body["metrics"]
        ]


def _body(subject: Subject, parameters: Trust.Parameters, batcher: Batcher) -> dict[str, Any]:
    found = attribution_of(subject, parameters.method, parameters.settings, subject.output, subject.seed)
    subject.warnings += [warning for warning in found.warnings if warning not in cut_warning(subject.encoding)]
    before = batcher.passes
    (judged,) = trust.trust(case_of(subject, found.scores[None]), text_seed(subject), batcher)
    subject.forward += batcher.passes - before
    return {
        **described(subject),
        "method": parameters.method,
        "scores": found.scores.tolist(),
        "random_maps": trust.RANDOM_MAPS,
        "metrics": [_told(one, [feature.text for feature in subject.units.features]) for one in judged],
    }


def _told(one: trust.Trust, names: Sequence[str]) -> dict[str, Any]:
    """One metric of a map; ``names`` are the texts of the features."""
    steps = [{**asdict(step), "removed": [names[i] for i in step.removed]} for step in one.metric_result.steps]
    return {
        **one.metric.told,
        "value": one.metric_result.value,
        "counted": one.metric_result.counted,
        "beaten": one.beaten,
        "median": one.median,
        "low": one.low,
        "high": one.high,
        "steps": steps,
    }


def _summary(column: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One metric over all texts; ``counted`` is the number of those of which k% is a feature."""
    named = {name: column[0][name] for name in ("metric", "preset", "asked", "label", "definition", "higher_is_better")}
    return {
        **named,
        "beaten": interval([one["beaten"] for one in column]),
        "value": interval([one["value"] for one in column]),
        "counted": sum(one["counted"] > 0 for one in column),
    }
