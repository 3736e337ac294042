"""What the table of a data set needs of each text: a few numbers, since there may be very many texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explainlab.analyses.evaluation.result import EvaluationText, Values
from explainlab.metrics.agreement import rank_correlations, sign_conflicts
from explainlab.text.rationale import Absence


@dataclass(frozen=True, slots=True, eq=False)
class TextFacts:
    """The numbers of a text, for N methods and files, 2 N or fewer names with controls, M metrics, P pairs of methods.

    ``values`` float64 [names, M], NaN where undefined. ``selects`` bool [M]: whether anything is selected. ``tau`` and
    ``conflicts`` float64 [P]: Kendall's tau and the share of conflicting signs of every pair. ``passes`` int64
    [methods, 2]: forward and backward. ``silent`` and ``negative`` bool [N]: whether all scores are 0, or any is below
    it. ``features`` counts those that are not special; ``undefined``: why there is no rationale.
    """

    values: np.ndarray
    selects: np.ndarray
    tau: np.ndarray
    conflicts: np.ndarray
    passes: np.ndarray
    silent: np.ndarray
    negative: np.ndarray
    features: int
    predicted: str
    text_seed: int
    undefined: Absence | None

    @classmethod
    def of(cls, body: EvaluationText) -> TextFacts:
        """Those of a text's result."""
        content = np.array([not feature.special for feature in body.features])
        scores = np.array(list(body.scores.values()), dtype=np.float64)
        first, second = np.triu_indices(len(scores), 1)
        maps = scores[:, content]
        return cls(
            values=np.array([list(row.values()) for row in body.values.values()], dtype=np.float64),
            selects=np.array([count > 0 for count in body.counted.values()]),
            tau=rank_correlations(maps)[first, second] if len(first) else np.empty(0),
            conflicts=sign_conflicts(maps)[first, second] if len(first) else np.empty(0),
            passes=np.array([(cost.forward, cost.backward) for cost in body.costs.values()], dtype=np.int64),
            silent=np.array([not row.any() for row in scores]),
            negative=np.array([(row < 0).any() for row in scores]),
            features=int(content.sum()),
            predicted=body.prediction.label,
            text_seed=body.text_seed,
            undefined=body.undefined,
        )

    def named(self, names: list[str], metrics: list[str]) -> Values:
        """The values by name and metric."""
        table = [[None if value != value else value for value in row] for row in self.values.tolist()]
        return {name: dict(zip(metrics, row, strict=True)) for name, row in zip(names, table, strict=True)}
