"""Attacks as the code of thesis 004 makes them, for comparison only: they follow no second derivative."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from explainlab.analyses.attack.maps import Maps
from explainlab.analyses.attack.search import THESIS_RADIUS, Attacked, Point, Run, Search, Values
from explainlab.analyses.attributions import text_seed
from explainlab.attribution.batch import Batch

TOLD = (
    "Attacked as the thesis' code does, for comparison only: it follows no second derivatives, so that the gradient "
    "map is not followed at all; it starts at random, moves and ranks special tokens too, holds the logit, and where "
    "constrained takes the last step whatever the model predicts there."
)


class HeldMaps(Maps):
    """Maps of the logit of the class that is predicted at the moved text, with their gradients held still.

    A score follows the moved text only where its embeddings are a factor of the score.
    """

    def backward(self, second: bool) -> int:
        """See :meth:`Maps.backward`; the loss is followed through one pass."""
        return super().backward(second=False) + second

    def _explained(self, batch: Batch, logits: Tensor, at_end: Tensor) -> Tensor:
        return logits.gather(1, at_end.argmax(dim=1, keepdim=True))[:, 0]

    def _derivative(self, explained: Tensor, at: Tensor, second: bool) -> Tensor:
        (gradient,) = torch.autograd.grad(explained, at, retain_graph=second)
        return gradient


class ReferenceSearch(Search):
    """The search of the thesis' code: a random start in [0, 1) at a radius of 2, clamped only inside the model.

    The loss is the mean share of the listed features, if constrained with the squared change of the logit. The code
    adds the explained logit itself to it by mistake where the map is a gradient, or one times the input. Unconstrained,
    the best step with the same class counts; constrained, the last one.
    """

    def attack(self, texts: Sequence[Attacked]) -> None:
        """See :meth:`Search.attack`; all runs of a text start in one direction."""
        for text in texts:
            drawn = np.random.default_rng(text_seed(text.subject)).random(text.moved_by.shape[1:])
            start = torch.from_numpy(drawn * self._movable(text)[:, None]).to(text.moved_by)
            text.moved_by = start * _radii(text.moved_by, [(text, list(range(len(text.runs))))]) / THESIS_RADIUS
        super().attack(texts)

    def _within(self, owners: Sequence[tuple[Attacked, list[int]]], moved_by: Tensor) -> Tensor:
        radii = _radii(moved_by, owners)
        return moved_by.clamp(-radii, radii)

    def _projected(self, moved_by: Tensor, radii: Tensor) -> Tensor:
        return moved_by

    def _lowered(self, losses: Tensor, values: Values) -> Tensor:
        if self._maps.method == "integrated_gradients":
            return losses.sum()
        return losses.sum() + values.logits.amax(dim=-1).sum()

    def _losses(self, owners: Sequence[tuple[Attacked, list[int]]], values: Values) -> Tensor:
        runs = [(text, text.runs[place]) for text, places in owners for place in places]
        classes = torch.tensor([text.subject.prediction.index for text, _ in runs], device=values.logits.device)
        now = values.logits.gather(1, classes[:, None])[:, 0]
        before = now.new_tensor([text.subject.original[text.subject.prediction.index] for text, _ in runs])
        weights = [self._settings.beta if run.goal.objective == "constrained" else 0.0 for _, run in runs]
        means = values.listed / values.listed.new_tensor([len(text.listed) for text, _ in runs])
        return means + now.new_tensor(weights) * (before - now).square()

    def _better(self, text: Attacked, run: Run, point: Point, predicted: int) -> bool:
        if run.goal.objective == "constrained":
            return True
        return predicted == text.subject.prediction.index and (run.failed or point.share < run.best.share)


def _radii(like: Tensor, owners: Sequence[tuple[Attacked, list[int]]]) -> Tensor:
    """Return [B, 1, 1]: the radius of every run."""
    return like.new_tensor([text.runs[place].goal.radius for text, places in owners for place in places])[:, None, None]
