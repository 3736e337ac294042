"""The gradient along the path from baseline to text."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.parameters import Sample, Steps
from explainlab.analyses.path_gradients.result import (
    PathGradientsData,
    PathGradientsText,
    SampledPath,
    ShareSummary,
    TextShares,
)
from explainlab.analyses.records import text_fields
from explainlab.analyses.summary import interval
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.wording import leaders
from explainlab.attribution.method import BASELINE_HELP, Baseline, BaselineData
from explainlab.attribution.path import Path, evaluate
from explainlab.attribution.quadrature import Rule, nodes
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
        rows: int = Field(100, ge=1, le=100_000, description="Texts of a data set.")
        sample: Sample = "first"
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id = "path_gradients"
    label = "Path gradients"
    source = "Makino et al. (paper 000), Figure 4"
    version = 2
    TextBody = PathGradientsText
    DataBody = PathGradientsData
    definition = "g(α) = Σᵢ (xᵢ - x′ᵢ) · ∂F(x′ + α(x - x′))/∂xᵢ"

    def evaluations(self, parameters: Parameters) -> int:
        return len(_grid(parameters))

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

    def headline(self, result: AnalysisResult[PathGradientsText | PathGradientsData]) -> str:
        body = result.body
        if isinstance(body, PathGradientsData):
            shares = list(body.summary.share.values())[-1]
            means = [share.mean or 0.0 for share in shares]
            whose = f"of {body.summary.n:,} texts"
            if body.summary.n > 1 and len(leaders({str(i): share for i, share in enumerate(shares)})) > 1:
                return f"No part of the path clearly holds most of the gradient {whose}: the intervals overlap."
        else:
            finest = max(body.paths, key=lambda path: path.steps)
            means = _shares(finest.alphas, finest.total)
            whose = "of this text"
        bins, most = len(means), max(range(len(means)), key=means.__getitem__)
        part = f"from α = {most / bins:g} to {(most + 1) / bins:g}"
        return f"The largest part of the gradient {whose} lies {part}: {means[most]:.0%} of it."

    def lines(self, result: AnalysisResult[PathGradientsText | PathGradientsData]) -> list[str]:
        body = result.body
        if isinstance(body, PathGradientsText):
            short = body.model_dump(mode="json", include={"expected"})
        else:
            short = body.summary.model_dump(mode="json")
        return [json.dumps(short, indent=2, ensure_ascii=False)]


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
    """How much of the total |g| lies in each twentieth of the path."""
    where = np.clip(np.ceil(np.array(alphas) * BINS).astype(int) - 1, 0, BINS - 1)
    sizes = np.bincount(where, np.abs(total), minlength=BINS)
    shares: list[float] = (sizes / max(sizes.sum(), np.finfo(float).tiny)).tolist()
    return shares
