"""Where along the path from baseline to text the gradient lives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.analyses.parameters import Steps
from explainlab.analyses.records import described
from explainlab.analyses.summary import interval
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.adaptive import cancels
from explainlab.attribution.method import BASELINE_HELP, Baseline, BaselineData
from explainlab.attribution.path import Path, evaluate
from explainlab.attribution.quadrature import Rule, nodes
from explainlab.attribution.subject import Subject
from explainlab.data import Row

BINS = 20


Body = dict[str, Any]


class PathGradients(TextAnalysis[Body, Body]):
    """The derivative of F along the path at every point of a rule, in total and for every feature.

    Its mean over α is F(x) - F(x′), that of a feature its score. Step counts share their points.
    """

    class Parameters(declared.Parameters):
        steps: Steps = Field([270, 870], description="Step counts to compare, rising.")
        rule: Rule = Field("right", description="Where on the path the gradient is evaluated.")
        rows: int = Field(100, ge=1, le=100_000, description="Texts of a data set.")
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id = "path_gradients"
    label = "Path gradients"
    source = "Makino et al. (paper 000), Figure 4"
    version = 2
    definition = "g(α) = Σᵢ (xᵢ - x′ᵢ) · ∂F(x′ + α(x - x′))/∂xᵢ"

    def evaluations(self, parameters: Parameters) -> int:
        return len(_grid(parameters))

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[dict[str, Any]]:
        paths = [Path(subject, subject.baseline(parameters.baseline)) for subject in subjects]
        evaluate(paths, [_grid(parameters)] * len(paths))
        return [_body(path, parameters) for path in paths]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[dict[str, Any]], parameters: Parameters) -> dict[str, Any]:
        texts = [_text(row, body) for row, body in zip(rows, bodies, strict=True)]
        share = {
            str(steps): [interval([text["shares"][str(steps)][i] for text in texts]) for i in range(BINS)]
            for steps in parameters.steps
        }
        return {"texts": texts, "summary": {"n": len(texts), "bins": BINS, "share": share}}


def _grid(parameters: PathGradients.Parameters) -> np.ndarray:
    return np.unique(np.concatenate([nodes(parameters.rule, steps)[0] for steps in parameters.steps]))


def _body(path: Path, parameters: PathGradients.Parameters) -> dict[str, Any]:
    units = path.subject.units
    found = []
    for steps in parameters.steps:
        alphas, weights = nodes(parameters.rule, steps)
        slopes = path.slopes(alphas)
        found.append(
            {
                "steps": steps,
                "rule": parameters.rule,
                "alphas": alphas.tolist(),
                "total": slopes.sum(axis=1).tolist(),
                "per_feature": np.array([units.sum_tokens(row) for row in slopes]).T.tolist(),
            }
        )
    start, end = path.values(np.array([0.0, 1.0])).tolist()
    return {
        **described(path.subject),
        "start": start,
        "end": end,
        "expected": path.change,
        "cancels": cancels(path.change, weights @ slopes),  # by the finest of the rules
        "paths": found,
    }


def _text(row: Row, body: dict[str, Any]) -> dict[str, Any]:
    """``shares``: by step count, how much of the total |g| lies in each twentieth of the path."""
    return {
        "row": row.number,
        "text": row.text,
        "text_pair": row.text_pair,
        "label": row.label,
        "expected": body["expected"],
        "shares": {str(path["steps"]): _shares(path["alphas"], path["total"]) for path in body["paths"]},
    }


def _shares(alphas: list[float], total: list[float]) -> list[float]:
    where = np.clip(np.ceil(np.array(alphas) * BINS).astype(int) - 1, 0, BINS - 1)
    sizes = np.bincount(where, np.abs(total), minlength=BINS)
    return (sizes / max(sizes.sum(), np.finfo(float).tiny)).tolist()
