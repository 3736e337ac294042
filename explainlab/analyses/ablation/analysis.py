"""Methods with the same number of attributions: the value of choosing among many, method by method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.analyses import too_short
from explainlab.analyses.ablation.result import (
    CHOICES,
    AblationData,
    AblationRow,
    AblationText,
    Choice,
    MeanMethodChoices,
    MethodChoices,
    Summary,
)
from explainlab.analyses.attributions import attributions_of, output_of, own_warnings, text_seed
from explainlab.analyses.base import AnalysisResult, Report, Requirements, method_passes
from explainlab.analyses.candidates.choice import mean_selection, selection
from explainlab.analyses.candidates.result import Selection
from explainlab.analyses.evaluation.analysis import EVALUATIONS
from explainlab.analyses.parameters import (
    Methods,
    Outputs,
    PerturbingMetrics,
    Rows,
    Sample,
    Settings,
    method_requests,
    metric_requests,
)
from explainlab.analyses.records import MetricFacts, Passes, text_fields
from explainlab.analyses.significance import groups_of
from explainlab.analyses.summary import Measure, Number, spelled, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.wording import ahead_on_a_text, counted
from explainlab.attribution.method import Candidates, Method, TextSize
from explainlab.attribution.methods.randomized import BestOfMany
from explainlab.attribution.passes import fix_targets
from explainlab.attribution.random_maps import EmbeddingParameters
from explainlab.attribution.registry import MethodSpec, get_method
from explainlab.attribution.selection import at_random, evaluate_attributions, tells_apart
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.declared import parse
from explainlab.metrics.registry import MetricSpec, evaluation_passes, metric_ids
from explainlab.models.context import PassCount
from explainlab.request import Output

TABLE_6 = ["rpi", "rpi_g", "rpi_ig", "rpi_sig", "integrated_gradients", "sequential_integrated_gradients"]


class Ablation(TextAnalysis[AblationText, AblationData]):
    """All methods with the same number of attributions of a text; a method that no seed changes has only one.

    Each metric is reported as in :class:`explainlab.analyses.candidates.result.Selection`. A family of RPI has no more
    attributions for several layers: the first draws of each layer. The seeds are the text's own, as in
    :class:`explainlab.analyses.evaluation.analysis.Evaluation`.
    """

    class Parameters(declared.Parameters):
        methods: Methods = Field(TABLE_6, description="Method ids; random is always included.")
        samples: Candidates = Field(24, description="Maps of every method that depends on the seed.")
        metrics: PerturbingMetrics = Field(
            metric_ids("Perturbation"), description="Metrics, with options after colons: log_odds:k=10."
        )
        settings: Settings = Field({}, description="Parameters of the methods, by id.")
        rows: Rows = 100
        sample: Sample = "first"
        outputs: Outputs = "own"

    id = "ablation"
    label = "Methods with equal budgets"
    source = "Barkan et al. 2024 (paper 001), Table 6, with random maps of the same number beside them"
    definition = "by m: m(first map), mean m, best m of R maps, m of the map that is best by another metric"
    version = 4

    def requirements(self, parameters: Parameters) -> Requirements:
        return Requirements(
            methods=_methods(parameters),
            metrics=[request.metric for request in metric_requests(parameters.metrics)],
            gradients=EVALUATIONS * len(parameters.methods),
            count_passes=partial(_passes, parameters),
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[AblationText]:
        """See :meth:`TextAnalysis.of_texts`."""
        for own in _methods(parameters):
            get_method(own.method).require(subjects[0].classifier, own.parameters)
        fix_targets(subjects)  # a pass that is no method's
        batcher, parts, columns = subjects[0].batcher, len(parameters.methods) + 1, []
        for i, name in enumerate(parameters.methods):
            with batcher.span(i, i + 1, parts):
                columns.append(_drawn(subjects, name, parameters))
        bodies, before, whole = [], (parts - 1) * len(subjects), parts * len(subjects)
        for i, (subject, drawn) in enumerate(zip(subjects, zip(*columns, strict=True), strict=True)):
            with batcher.span(before + i, before + i + 1, whole):
                bodies.append(_body(subject, drawn, parameters))
        return bodies

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[AblationText], parameters: Parameters) -> AblationData:
        """See :meth:`TextAnalysis.of_rows`."""
        return AblationData(
            metrics=bodies[0].metrics,
            methods=[
                _mean(texts, [body.counted for body in bodies])
                for texts in zip(*(body.methods for body in bodies), strict=True)
            ],
            summary=Summary(n=len(bodies)),
            texts=[
                AblationRow(
                    row=row.number, text=row.text, text_pair=row.text_pair, methods=body.methods, counted=body.counted
                )
                for row, body in zip(rows, bodies, strict=True)
            ],
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines, _numbers)


def _methods(parameters: Ablation.Parameters) -> list[MethodSpec]:
    """Return the methods with all their parameters."""
    return method_requests(parameters.methods, parameters.settings)


def _passes(parameters: Ablation.Parameters, text: TextSize, depth: int) -> PassCount:
    """Return the passes of all maps of a text, and of all metrics of each."""
    judged = evaluation_passes(metric_requests(parameters.metrics), text.features)
    total = PassCount()
    for name in parameters.methods:
        method, maps = get_method(name), parameters.samples
        own = parse(method, {**parameters.settings.get(name, {}), **_samples(method, maps)})
        if isinstance(method, BestOfMany):
            total += method.drawn(own, text, depth)[1] + judged * maps
        else:
            total += (method_passes(MethodSpec(name, own), text, depth) + judged) * (maps if method.random else 1)
    return total


def _headline(result: AnalysisResult[AblationText | AblationData]) -> str:
    """Name the methods that the first metric tells apart, with a single attribution and with the best of all."""
    body = result.body
    metric, short = body.metrics[0], list[str]()
    if isinstance(body, AblationText):
        own = [{m.label: getattr(m.selection[metric.key], choice) for m in body.methods} for choice in CHOICES]
        alone, chosen = (ahead_on_a_text(values, metric.higher_is_better) for values in own)
        of = "on this text"
    else:
        n = body.summary.n
        of = f"over {counted(n, 'text')}"
        long_enough = len(body.long_enough(metric.key))
        short = too_short.left_out([(metric.asked, metric.label, long_enough)], n)
        if not long_enough:
            return " ".join(short)
        columns = ({m.label: body.values(m.method, metric.key, choice) for m in body.methods} for choice in CHOICES)
        alone, chosen = (groups_of(values, metric.higher_is_better, len(CHOICES)).words() for values in columns)
    said = f"By {metric.label} {of}, with their first maps {alone}; with the best of all their maps {chosen}."
    return " ".join([said, *short])


def _lines(result: AnalysisResult[AblationText | AblationData]) -> list[str]:
    """Return a line a method and metric: the first, the mean, the best by the metric itself, and the passes."""
    body = result.body
    rows = [
        {
            "method": method.method,
            "maps": method.maps,
            "metric": metric.label,
            "first": spelled(method.selection[metric.key].first),
            "mean": spelled(method.selection[metric.key].mean),
            "best": spelled(method.selection[metric.key].best),
            "passes": f"{method.cost.total:,.0f}",
        }
        for method in body.methods
        for metric in body.metrics
    ]
    return [table(rows)]


def _numbers(result: AnalysisResult[AblationData]) -> list[Number]:
    """Return by metric the first map of each method, and the best of all its maps."""
    body = result.body
    return [
        Number(
            _measure(metric, choice),
            getattr(own.selection[metric.key], choice),
            len(body.long_enough(metric.key)),
            own.method,
            own.label,
            body.values(own.method, metric.key, choice),
        )
        for metric in body.metrics
        for choice in CHOICES
        for own in body.methods
    ]


def _measure(metric: MetricFacts, choice: Choice) -> Measure:
    """Return the measure of a metric of the ``first`` or the ``best`` map."""
    return Measure(f"{metric.key}:{choice}", f"{metric.label} of the {choice} map", metric.higher_is_better)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The attributions of one text by one method, float64 [C, n_features], and the passes that they needed."""

    method: str
    scores: np.ndarray
    cost: Passes[int]


def _drawn(subjects: Sequence[Subject], method_id: str, parameters: Ablation.Parameters) -> list[_Drawn]:
    """Return the method's attributions of every text."""
    before = [(subject.forward, subject.backward) for subject in subjects]
    scores = _scores(subjects, method_id, parameters)
    return [
        _Drawn(method_id, rows, Passes[int](forward=subject.forward - forward, backward=subject.backward - backward))
        for subject, rows, (forward, backward) in zip(subjects, scores, before, strict=True)
    ]


def _body(subject: Subject, drawn: Sequence[_Drawn], parameters: Ablation.Parameters) -> AblationText:
    metrics = metric_requests(parameters.metrics)
    scores = [own.scores for own in drawn]
    ends = np.cumsum([len(rows) for rows in scores])[:-1]
    (evaluated,) = evaluate_attributions([subject], [np.concatenate(scores)], metrics, subject.batcher)
    values = np.split(np.array([[result.value for result in row] for row in evaluated]), ends)
    return AblationText(
        **text_fields(subject),
        metrics=[MetricFacts(**request.facts) for request in metrics],
        methods=[
            MethodChoices(
                method=own.method,
                label=get_method(own.method).label,
                maps=len(own.scores),
                cost=own.cost,
                selection=_selection(columns, metrics),
            )
            for own, columns in zip(drawn, values, strict=True)
        ],
        counted={request.key: max(row[i].counted for row in evaluated) for i, request in enumerate(metrics)},
    )


def _scores(subjects: Sequence[Subject], method_id: str, parameters: Ablation.Parameters) -> list[np.ndarray]:
    """Return float64 [C, n_features] for every text: the method's first ``samples`` attributions, or its only one."""
    method, settings = get_method(method_id), parameters.settings.get(method_id, {})
    own = parse(method, settings)
    counts = [parameters.samples if method.is_random(subject, own) else 1 for subject in subjects]
    if isinstance(method, BestOfMany):
        output, scores = output_of(subjects[0].output, method_id, settings, parameters.outputs), []
        for i, (subject, count) in enumerate(zip(subjects, counts, strict=True)):
            with subject.batcher.span(i, i + 1, len(subjects)):
                scores.append(_first_draws(subject, method, {**settings, "samples": count}, output))
        return scores
    repeated = [subject for subject, count in zip(subjects, counts, strict=True) for _ in range(count)]
    seeds = [
        seed for subject, count in zip(subjects, counts, strict=True) for seed in _seeds(text_seed(subject), count)
    ]
    chosen = [(method_id, settings)]
    made = [own for (own,) in attributions_of(repeated, chosen, outputs=parameters.outputs, seeds=seeds)]
    results = [made[end - count : end] for end, count in zip(np.cumsum(counts), counts, strict=True)]
    for subject, own_results in zip(subjects, results, strict=True):
        _warn(subject, method, [warning for result in own_results for warning in result.warnings])
    return [np.stack([result.scores for result in own_results]) for own_results in results]


def _warn(subject: Subject, method: Method, warnings: Sequence[str]) -> None:
    """Add the warnings of ``method`` to those of the text."""
    subject.warnings += [f"{method.label}: {warning}" for warning in own_warnings(subject, warnings)]


def _samples(method: Method, samples: int) -> dict[str, int]:
    """Return the parameter that makes a ``method`` draw ``samples`` maps itself; empty for other methods."""
    return {"samples": samples} if isinstance(method, BestOfMany) else {}


def _seeds(first: int, count: int) -> list[int]:
    return [first, *map(int, np.random.SeedSequence(first).generate_state(count - 1))]


def _first_draws(subject: Subject, method: BestOfMany, settings: Mapping[str, Any], output: Output) -> np.ndarray:
    """Return float64 [samples, n_features]: the first draw of every layer from the top down, then each second one."""
    parameters = parse(method, settings)
    assert isinstance(parameters, EmbeddingParameters)
    own = subject.again(output=output, seed=text_seed(subject), baseline_data="")
    candidates = at_random(method.maps(own, parameters), parameters.samples)
    first = sorted(candidates, key=lambda candidate: (candidate.draw, -candidate.layer))[: parameters.samples]
    subject.forward += own.forward
    subject.backward += own.backward
    _warn(subject, method, own.warnings)
    return np.stack([candidate.scores for candidate in first])


def _selection(values: np.ndarray, metrics: Sequence[MetricSpec]) -> dict[str, Selection]:
    """Return the selection by every metric, from ``values`` float64 [C, metrics]."""
    columns = {request.key: values[:, i] for i, request in enumerate(metrics)}
    signs = {request.key: 1 if request.higher_is_better else -1 for request in metrics}
    merits = {key: sign * columns[key] for key, sign in signs.items()}
    choices = {key: int(own.argmax()) if tells_apart(own) else None for key, own in merits.items()}
    return {key: selection(columns, choices, key, [other for other in columns if other != key]) for key in columns}


def _mean(texts: Sequence[MethodChoices], features: Sequence[Mapping[str, int]]) -> MeanMethodChoices:
    """Return one method over all ``texts``; ``features`` are the counts of its features by metric (its key)."""
    first = texts[0]
    return MeanMethodChoices(
        method=first.method,
        label=first.label,
        maps=max(text.maps for text in texts),
        cost=Passes[float](
            forward=float(np.mean([text.cost.forward for text in texts])),
            backward=float(np.mean([text.cost.backward for text in texts])),
        ),
        selection=mean_selection([text.selection for text in texts], features),
    )
