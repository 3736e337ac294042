"""Integrated gradients along a path that stays close to words of the vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from explainlab import declared
from explainlab.attribution.method import (
    BASELINE_HELP,
    Baseline,
    BaselineData,
    Method,
    Outcome,
    TextSize,
    require_affordable,
)
from explainlab.attribution.subject import Subject
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount

Strategy = Literal["greedy", "maxcount"]
DISTANCES, CANDIDATES = 2**24, 2**20
"""Most numbers at once in the distances to all words, and in the embeddings of neighbours (few: they stay in cache)."""
ROWS = 2**14
"""Words of the vocabulary compared at once."""


TOO_FEW_ANCHORS = "This text needs more anchors: raise steps."


class DiscretizedIntegratedGradients(Method):
    """Gradients times steps along a path from the baseline to the text whose points lie near words.

    Sanyal & Ren's DIG = Σ_k ∂F(xᵏ)/∂x (xᵏ⁺¹ - xᵏ), k = 0 … m. All tokens move together, each on its own path: from the
    word itself over m anchors to the baseline, then reversed. An anchor is a near neighbour of the anchor before: the
    one moved least when made monotone (``greedy``), or with the most monotone dimensions (``maxcount``). Its point
    keeps the coordinates that lie between the last point and the baseline; the others move 1/m toward the baseline.

    As in the authors' code: anchors are compared with the raw anchor before them, but points are made monotone against
    the point before them (or paths would reverse); no anchor is the baseline or repeated; where none is left the path
    stays at the baseline; no midpoints are inserted (factor 0). Unlike it, and as in the paper: the class explained is
    fixed; the model adds positions and normalises once; scores are not divided by their norm.
    """

    class Parameters(declared.Parameters):
        steps: int = Field(30, ge=0, le=1_000, description="Anchor words on the path of every token.")
        strategy: Strategy = Field(
            "greedy",
            description=(
                "Which neighbour comes next: the one moved least, or the one with the most monotone dimensions."
            ),
        )
        neighbours: int = Field(500, ge=1, le=10_000, description="Nearest words among which an anchor is chosen.")
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "discretized_integrated_gradients"
    label: ClassVar = "Discretized integrated gradients"
    plain: ClassVar = (
        "Leads from a blanked-out text to the real one by way of other words, and adds up what each word contributes."
    )
    good_for: ClassVar = "Checking whether integrated gradients depends on its straight path."
    adds_up: ClassVar = True
    family: ClassVar = "Paths"
    source: ClassVar = "Sanyal & Ren 2021, definition of DIG; anchors as in their code"
    definition: ClassVar = "φᵢ = Σ_d Σ_k ∂F(xᵏ)/∂xᵢ · (xᵢᵏ⁺¹ - xᵢᵏ), x⁰ = x′, xᵐ⁺¹ = x, monotone, xᵏ near words"
    deduplicates: ClassVar = True
    needs: ClassVar = ("gradients",)

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        searched = -parameters.steps  # an anchor takes about as long as a gradient
        return PassCount(2) + PassCount.gradients(parameters.steps + 1, spare=searched)

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        require_affordable("one gradient more than steps", parameters.steps + 1, subject.classifier.limits)
        text, baseline = subject.embeddings, subject.baseline(parameters.baseline)
        start = subject.values(baseline[None])[0]
        moved = (text != baseline).any(dim=-1).nonzero()[:, 0]
        table = known_words(subject.classifier)
        vocabulary = Vocabulary(table, parameters.steps, parameters.neighbours, parameters.strategy)

        def check() -> None:
            subject.context.progress.spend(len(text))  # an anchor takes about as long as a gradient
            subject.batcher.check_cancelled()

        path = vocabulary.paths(subject.inputs.ids[0, moved], baseline[moved], check)

        def points(part: slice) -> Tensor:
            corners = path[part].to(text.dtype)
            return text.repeat(len(corners), 1, 1).index_copy(1, moved, corners)

        tokens = np.zeros(len(text))
        for part, _, gradient in subject.gradients(points, len(path) - 1 if len(moved) else 0):
            steps = path[part.start + 1 : part.stop + 1] - path[part]
            products = (gradient[:, moved].float() * steps).sum(dim=(0, 2))
            tokens[moved.cpu().numpy()] += products.cpu().double().numpy()
        expected = subject.scalar(subject.original) - start
        return Outcome(subject.units.sum_tokens(tokens), expected=float(expected), remedy=TOO_FEW_ANCHORS)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The words [V, d] for paths, and the choice of ``anchors`` among them."""

    table: Tensor
    anchors: int
    neighbours: int
    strategy: Strategy

    def paths(self, words: Tensor, goals: Tensor, check: Callable[[], None] = lambda: None) -> Tensor:
        """Return float32 [anchors + 2, T, d]: from ``goals`` [T, d] to ``words`` int64 [T], monotone in every
        dimension.

        ``check`` is called before every anchor and may raise.
        """
        goals = goals.float()
        seen, points = [words], [self.table[words].float()]
        for _ in range(self.anchors):
            check()
            seen.append(self._next(torch.stack(seen, dim=1), goals))
            points.append(self._monotone(seen[-1], points[-1], goals))
        return torch.stack([goals, *points[::-1]])

    def _monotone(self, anchor: Tensor, last: Tensor, goal: Tensor) -> Tensor:
        """Return float32 [T, d]: the points of the anchors, monotone between ``last`` and ``goal``; the goal for anchor
        -1.
        """
        low, high = torch.minimum(last, goal), torch.maximum(last, goal)
        word = self.table[anchor].float()
        point = torch.where((word < low) | (word > high), self._onward(last, goal).clamp(low, high), word)
        return torch.where(anchor[:, None] < 0, goal, point)

    def _onward(self, last: Tensor, goal: Tensor) -> Tensor:
        return last - (last - goal) / self.anchors

    def _next(self, seen: Tensor, goals: Tensor) -> Tensor:
        """Return int64 [T]: the anchor after ``seen`` int64 [T, s]; -1 if none is left, and from then on."""
        anchors = torch.full_like(seen[:, -1], -1)
        unfinished = (seen[:, -1] >= 0).nonzero()[:, 0]
        near = torch.cat(
            [self._near(part) for part in seen[unfinished, -1].split(max(1, DISTANCES // len(self.table)))]
        )
        size = max(1, CANDIDATES // max(1, near.shape[1] * self.table.shape[1]))
        for rows, words in zip(unfinished.split(size), near.split(size), strict=True):
            anchors[rows] = self._best(words, seen[rows], goals[rows, None])
        return anchors

    def _best(self, near: Tensor, seen: Tensor, goal: Tensor) -> Tensor:
        word, last = self.table[near].float(), self.table[seen[:, -1:]].float()
        outside = (word < torch.minimum(last, goal)) | (word > torch.maximum(last, goal))
        if self.strategy == "greedy":
            cost = (word - self._onward(last, goal)).mul_(outside).square_().sum(dim=-1)
        else:
            cost = outside.sum(dim=-1).float()
        row, column = (cost == 0).nonzero(as_tuple=True)  # only these can be the goal itself
        same = (word[row, column] == goal[row, 0]).all(dim=-1)
        cost[row[same], column[same]] = torch.inf
        cost[(near[..., None] == seen[:, None]).any(dim=-1)] = torch.inf
        best = near.gather(1, cost.argmin(dim=1, keepdim=True))[:, 0]
        return best.where(cost.isfinite().any(dim=1), -1)

    def _near(self, anchors: Tensor) -> Tensor:
        """Return int64 [T, neighbours]: the words nearest to each anchor, without itself, nearest first."""
        twice = 2 * self.table[anchors].float()
        products = torch.cat([twice @ rows.float().T for rows in self.table.split(ROWS)], dim=1)
        squared: Tensor = self._squares - products  # up to a constant
        distance = squared.scatter_(1, anchors[:, None], torch.inf)
        return distance.topk(min(self.neighbours, len(self.table) - 1), largest=False).indices

    @cached_property
    def _squares(self) -> Tensor:
        return torch.cat([rows.float().square().sum(dim=1) for rows in self.table.split(ROWS)])


def known_words(classifier: Classifier) -> Tensor:
    """Return [V, d]: the embeddings of the tokenizer's vocabulary; a table may have more rows, untrained."""
    last = max(classifier.tokenizer.get_vocab().values())
    return classifier.embed(torch.arange(last + 1, device=classifier.device))
