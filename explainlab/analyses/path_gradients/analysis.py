"""The gradient along the path from baseline to text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.analyses.base import AnalysisResult, Report, Requirements
from explainlab.analyses.parameters import Rows, Sample, Steps
from explainlab.analyses.path_gradients.result import (
    PathGradientsData,
    PathGradientsText,
    SampledPath,
    ShareSummary,
    TextShares,
    mean_verdict,
    verdict,
)
from explainlab.analyses.records import text_fields
from explainlab.analyses.summary import interval, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.wording import counted
from explainlab.attribution.method import BASELINE_HELP, Baseline, BaselineData
from explainlab.attribution.path import Path, Rule, evaluate, nodes
from explainlab.attribution.records import cancels
from explainlab.attribution.subject import Subject
from explainlab.data import Row

BINS = 20


class PathGradients(TextAnalysis[PathGradientsText, PathGradientsData]):
    """The derivative of F along the path at every point of a rule, in total and for every feature.

    Its mean over α is F(x) - F(x′), that of a feature its score. Step counts share their points.
    """

    class Parameters(declared.Parameters):
        steps: Steps = Field([270, 870], description="Step counts to compare, rising.")
        rule: Rule = Field("right", description="Where on the path the gradient is evaluated.")
        rows: Rows = 100
        sample: Sample = "first"
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id = "path_gradients"
    label = "Path gradients"
    source = "Makino et al. (paper 000), Figure 4"
    version = 2
    definition = "g(α) = Σᵢ (xᵢ - x′ᵢ) · ∂F(x′ + α(x - x′))/∂xᵢ"

    def requirements(self, parameters: Parameters) -> Requirements:
        return Requirements(gradients=len(_grid(parameters)))

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[PathGradientsText]:
        paths = [Path(subject, subject.baseline(parameters.baseline)) for subject in subjects]
        evaluate(paths, [_grid(parameters)] * len(paths))
        return [_body(path, parameters) for path in paths]

    def of_rows(
        self, rows: Sequence[Row], bodies: Sequence[PathGradientsText], parameters: Parameters
    ) -> PathGradientsData:
        texts = [_text(row, body) for row, body in zip(rows, bodies, strict=True)]
        share = {
            str(steps): [interval([text.shares[str(steps)][i] for text in texts]) for i in range(BINS)]
            for steps in parameters.steps
        }
        return PathGradientsData(texts=texts, summary=ShareSummary(n=len(texts), bins=BINS, share=share))

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines)


def _headline(result: AnalysisResult[PathGradientsText | PathGradientsData]) -> str:
    body = result.body
    if isinstance(body, PathGradientsData):
        return mean_verdict(body.summary)
    finest = max(body.paths, key=lambda path: path.steps)
    return verdict(_shares(finest.alphas, finest.total))


def _lines(result: AnalysisResult[PathGradientsText | PathGradientsData]) -> list[str]:
    """Return by step count the sum of the gradient; of a data set, the share of it in each part of the path."""
    body = result.body
    if isinstance(body, PathGradientsData):
        return _lines_of_data(body.summary)
    rows = [{"steps": path.steps, "rule": path.rule, "sum": f"{_sum(path):.4f}"} for path in body.paths]
    return [table(rows), f"The sum should be {body.expected:.4f}, the change of the output along the path."]


def _grid(parameters: PathGradients.Parameters) -> np.ndarray:
    return np.unique(np.concatenate([nodes(parameters.rule, steps)[0] for steps in parameters.steps]))


def _body(path: Path, parameters: PathGradients.Parameters) -> PathGradientsText:
    units = path.subject.units
    paths = []
    for steps in parameters.steps:
        alphas, weights = nodes(parameters.rule, steps)
        slopes = path.slopes(alphas)
        sampled = SampledPath(
            steps=steps,
            rule=parameters.rule,
            alphas=alphas.tolist(),
            total=slopes.sum(axis=1).tolist(),
            per_feature=np.array([units.sum_tokens(row) for row in slopes]).T.tolist(),
        )
        paths.append(sampled)
    start, end = path.values(np.array([0.0, 1.0])).tolist()
    return PathGradientsText(
        **text_fields(path.subject),
        start=start,
        end=end,
        expected=path.change,
        cancels=cancels(path.change, float(np.abs(weights @ slopes).sum())),  # by the finest of the rules
        paths=paths,
    )


def _text(row: Row, body: PathGradientsText) -> TextShares:
    return TextShares(
        row=row.number,
        text=row.text,
        text_pair=row.text_pair,
        label=row.label,
        expected=body.expected,
        shares={str(path.steps): _shares(path.alphas, path.total) for path in body.paths},
    )


def _shares(alphas: Sequence[float], total: Sequence[float]) -> list[float]:
    """Return the share of the total |g| in each twentieth of the path."""
    where = np.clip(np.ceil(np.array(alphas) * BINS).astype(int) - 1, 0, BINS - 1)
    sizes = np.bincount(where, np.abs(total), minlength=BINS)
    shares: list[float] = (sizes / max(sizes.sum(), np.finfo(float).tiny)).tolist()
    return shares


def _sum(path: SampledPath) -> float:
    """Return the mean of the gradient by the rule, which equals the sum of the scores."""
    return float(np.dot(nodes(path.rule, path.steps)[1], path.total))


def _lines_of_data(summary: ShareSummary) -> list[str]:
    rows = [
        {
            "from": f"{i / summary.bins:g}",
            "to": f"{(i + 1) / summary.bins:g}",
            **{f"{int(steps):,} steps": str(shares[i]) for steps, shares in summary.share.items()},
        }
        for i in range(summary.bins)
    ]
    return [f"Mean share of the gradient in each part of the path, {counted(summary.n, 'text')}", table(rows)]
