"""The error of Integrated Gradients by rule and number of steps, and the steps that a text needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.analyses.base import ADAPTIVE, AnalysisResult, Report, Requirements
from explainlab.analyses.integration.result import (
    Adaptive,
    AdaptiveMeans,
    AdaptiveStage,
    Doubling,
    DoublingStage,
    ErrorMean,
    ErrorSummary,
    IntegrationErrorData,
    IntegrationErrorText,
    RuleRow,
    TextErrors,
    within,
)
from explainlab.analyses.integration.verdict import data_verdict, rule_name, text_verdict
from explainlab.analyses.parameters import Rows, Rules, Sample, Steps
from explainlab.analyses.records import as_interval, text_fields
from explainlab.analyses.summary import Measure, Number, interval, quartiles, spelled, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.wording import counted
from explainlab.attribution.method import BASELINE_HELP, Baseline, BaselineData
from explainlab.attribution.methods.paths import CANCELLING, IntegratedGradients
from explainlab.attribution.path import Path, Refinement, Rule, evaluate, nodes, refine
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.models.context import PassCount

MOST_DOUBLED = 1024
WITHIN = 1000
_WITHIN = Measure("within_1000", f"Texts for which {WITHIN:,} steps are enough", True, ".1%")


class IntegrationError(TextAnalysis[IntegrationErrorText, IntegrationErrorData]):
    """The approximation error of every rule at every step count, from shared gradients.

    The ideal step of a rule is its first step count with an error of at most ``tolerance``. Beside the fixed rules: the
    adaptive rule's errors by round, and the right Riemann sum with its steps doubled until the tolerance is reached, as
    the paper's discussion proposes; the cost of that schedule counts every gradient of every step count.
    """

    class Parameters(declared.Parameters):
        rules: Rules = Field(
            ["right", "left", "midpoint", "trapezoid", "gauss_legendre"], description=", ".join(get_args(Rule))
        )
        steps: Steps = Field(
            [10, 20, 30, 50, 70, 100, 140, 200, 300, 500, 1000],
            description="Step counts, rising; 10:1000:10 is the paper's grid.",
        )
        tolerance: float = Field(0.05, ge=1e-6, le=1, description="Error at which a step count is enough.")
        rows: Rows = 100
        sample: Sample = "first"
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id = "integration_error"
    label = "Integration error"
    source = "Makino et al. (paper 000), Figures 1 and 5, Table 4"
    definition = "AE = |Σᵢ φᵢ - (F(x) - F(x′))| / |F(x) - F(x′)|"

    def requirements(self, parameters: Parameters) -> Requirements:
        plain = [(rule, steps) for rule, steps in _settings(parameters) if rule != "gauss_legendre"]
        gradients = len(_points(plain)) + (sum(parameters.steps) if "gauss_legendre" in parameters.rules else 0)
        most = PassCount.gradients(gradients + 2 * ADAPTIVE)  # beside the fixed rules, the adaptive one and doubling
        return Requirements(gradients=gradients, count_passes=lambda text, depth: most, ends_early=True)

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[IntegrationErrorText]:
        paths = [Path(subject, subject.baseline(parameters.baseline)) for subject in subjects]
        adaptive = IntegratedGradients.Parameters()
        refinements = [Refinement(path, adaptive.tolerance, adaptive.max_steps) for path in paths]
        refine(refinements)
        grid = _grid(parameters)
        evaluate(paths, [grid] * len(paths))
        relative = [p for p, r in zip(paths, refinements, strict=True) if not r.cancels]
        doubled = dict(zip(map(id, relative), _double(relative, parameters.tolerance), strict=True))
        return [_body(p, r, parameters, doubled.get(id(p))) for p, r in zip(paths, refinements, strict=True)]

    def of_rows(
        self, rows: Sequence[Row], bodies: Sequence[IntegrationErrorText], parameters: Parameters
    ) -> IntegrationErrorData:
        texts = [_text(row, body) for row, body in zip(rows, bodies, strict=True)]
        return IntegrationErrorData(texts=texts, summary=_summary(texts, parameters))

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines, _numbers)


def _headline(result: AnalysisResult[IntegrationErrorText | IntegrationErrorData]) -> str:
    """Say the steps that two rules need, and the evaluations that the adaptive rule took."""
    body = result.body
    return text_verdict(body) if isinstance(body, IntegrationErrorText) else data_verdict(body)


def _lines(result: AnalysisResult[IntegrationErrorText | IntegrationErrorData]) -> list[str]:
    """Return the error of every rule at every step count, or its mean; the steps that are enough; the adaptive rule."""
    body = result.body
    if isinstance(body, IntegrationErrorText):
        last = body.adaptive.trace[-1]
        errors = [
            {"rule": row.rule, "steps": row.steps, "error": spelled(as_interval(row.approximation_error))}
            for row in body.rows
        ]
        enough = [{"rule": rule, "enough": steps or "none"} for rule, steps in body.ideal_steps.items()]
        spent = f"adaptive: {last.evaluations} evaluations, error {spelled(as_interval(last.approximation_error))}"
        return [table(enough), spent, table(errors)]
    summary = body.summary
    means = [
        {"rule": rule, "steps": steps, "mean error": spelled(mean)}
        for rule, by_steps in summary.mean.items()
        for steps, mean in by_steps.items()
    ]
    counts = [{"rule": rule, **by_steps} for rule, by_steps in summary.ideal_steps.items()]
    spent = f"adaptive: {spelled(summary.adaptive.evaluations)} evaluations"
    return [f"Texts by the steps that are enough, n = {summary.n}", table(counts), spent, table(means)]


def _numbers(result: AnalysisResult[IntegrationErrorData]) -> list[Number]:
    """Return the mean error of every rule at every step count, and the share of texts within 1,000 steps."""
    summary = result.body.summary
    steps = dict.fromkeys(count for means in summary.mean.values() for count in means)
    errors = [
        Number(_mean_error(int(count)), as_interval(means[count]), summary.n, rule, rule_name(rule))
        for count in steps
        for rule, means in summary.mean.items()
    ]
    shares = {rule: as_interval(n / summary.n if summary.n else None) for rule, n in summary.within_1000.items()}
    return [*errors, *(Number(_WITHIN, share, summary.n, rule, rule_name(rule)) for rule, share in shares.items())]


def _mean_error(steps: int) -> Measure:
    return Measure(f"error_{steps}", f"Mean error at {counted(steps, 'step')}", False, ",.2%")


def _grid(parameters: IntegrationError.Parameters) -> np.ndarray:
    """Return float64: every point that a rule needs at some step count, once."""
    return _points(list(_settings(parameters)))


def _points(settings: Sequence[tuple[Rule, int]]) -> np.ndarray:
    return np.unique(np.concatenate([nodes(rule, steps)[0] for rule, steps in settings] or [np.empty(0)]))


def _settings(parameters: IntegrationError.Parameters) -> Iterator[tuple[Rule, int]]:
    return ((rule, steps) for rule in parameters.rules for steps in parameters.steps)


def _error(total: float, change: float) -> float:
    return abs(total - change) / abs(change)


def _double(paths: Sequence[Path], tolerance: float) -> list[Doubling]:
    """Run the doubling schedule of every path; its points run together, and known ones do not run again."""
    schedules: list[list[DoublingStage]] = [[] for _ in paths]
    going, steps = list(range(len(paths))), 1
    while going and steps <= MOST_DOUBLED:
        alphas, weights = nodes("right", steps)
        evaluate([paths[i] for i in going], [alphas] * len(going))
        for i in going:
            error = _error(float((weights @ paths[i].slopes(alphas)).sum()), paths[i].change)
            schedules[i].append(DoublingStage(steps=steps, approximation_error=error))
        going = [i for i in going if not within(schedules[i][-1].approximation_error, tolerance)]
        steps *= 2
    return [
        Doubling(
            schedule=schedule,
            evaluations=sum(stage.steps for stage in schedule),
            steps=None if i in going else schedule[-1].steps,
        )
        for i, schedule in enumerate(schedules)
    ]


def _body(
    path: Path, refinement: Refinement, parameters: IntegrationError.Parameters, doubling: Doubling | None
) -> IntegrationErrorText:
    units, change = path.subject.units, path.change
    start, end = path.values(np.array([0.0, 1.0])).tolist()
    rows = []
    for rule, steps in _settings(parameters):
        alphas, weights = nodes(rule, steps)
        scores = units.sum_tokens(weights @ path.slopes(alphas))
        error = None if doubling is None else _error(float(scores.sum()), change)
        row = RuleRow(
            rule=rule, steps=steps, evaluations=len(alphas), approximation_error=error, scores=scores.tolist()
        )
        rows.append(row)
    if doubling is None:
        size = float(np.abs(refinement.scores).sum())
        path.subject.warnings.append(CANCELLING.format(change=change, size=size))
    return IntegrationErrorText(
        **text_fields(path.subject),
        start=start,
        end=end,
        expected=change,
        cancels=doubling is None,
        rows=rows,
        ideal_steps={rule: _ideal(rows, rule, parameters.tolerance) for rule in parameters.rules},
        adaptive=Adaptive(
            trace=[AdaptiveStage(**vars(stage)) for stage in refinement.trace],
            scores=units.sum_tokens(refinement.scores).tolist(),
            errors=units.sum_tokens(refinement.errors).tolist(),
            alphas=refinement.wanted.tolist(),
        ),
        doubling=doubling,
    )


def _ideal(rows: Sequence[RuleRow], rule: Rule, tolerance: float) -> int | None:
    """Return the first step count of ``rule`` within the tolerance."""
    enough = (row.steps for row in rows if row.rule == rule and within(row.approximation_error, tolerance))
    return next(enough, None)


def _text(row: Row, body: IntegrationErrorText) -> TextErrors:
    errors: dict[Rule, dict[str, float | None]] = {}
    for setting in body.rows:
        errors.setdefault(setting.rule, {})[str(setting.steps)] = setting.approximation_error
    return TextErrors(
        row=row.number,
        text=row.text,
        text_pair=row.text_pair,
        label=row.label,
        expected=body.expected,
        cancels=body.cancels,
        errors=errors,
        ideal_steps=body.ideal_steps,
        adaptive=body.adaptive.trace[-1],
    )


def _summary(texts: Sequence[TextErrors], parameters: IntegrationError.Parameters) -> ErrorSummary:
    """Return the summary over the texts whose scores do not cancel."""
    relative = [text for text in texts if not text.cancels]
    mean: dict[Rule, dict[str, ErrorMean]] = {rule: {} for rule in parameters.rules}
    for rule, steps in _settings(parameters):
        errors = _known(text.errors[rule][str(steps)] for text in relative)
        mean[rule][str(steps)] = ErrorMean(**interval(errors).model_dump(), **quartiles(errors).model_dump())
    ideal = {rule: [text.ideal_steps[rule] for text in relative] for rule in parameters.rules}
    return ErrorSummary(
        n=len(relative),
        cancelled=len(texts) - len(relative),
        mean=mean,
        ideal_steps={rule: _counted(steps, parameters.steps) for rule, steps in ideal.items()},
        within_1000={rule: sum(n is not None and n <= WITHIN for n in steps) for rule, steps in ideal.items()},
        adaptive=AdaptiveMeans(
            evaluations=interval([text.adaptive.evaluations for text in relative]),
            approximation_error=interval(_known(t.adaptive.approximation_error for t in relative)),
        ),
    )


def _known(errors: Iterable[float | None]) -> list[float]:
    return [error for error in errors if error is not None]


def _counted(ideal: Sequence[int | None], steps: Sequence[int]) -> dict[str, int]:
    return {str(n): ideal.count(n) for n in steps} | {"none": ideal.count(None)}
