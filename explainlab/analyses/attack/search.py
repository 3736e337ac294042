"""The search for a small change of a text's word embeddings that drives its map away.

A run is one attack: a text, an objective and a radius. All runs of all texts take their steps together, in batches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from explainlab.analyses.attack.maps import Maps, Reading, memberships, second_derivatives
from explainlab.attribution.batch import Batch, stream
from explainlab.attribution.subject import Subject


def normalised(scores: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return float64 [n_features]: |score| of the features ``among`` (int64, by place) as a share of their sum, else 0.

    NaN for a map that is 0 everywhere.
    """
    sizes = np.abs(scores[among])
    total = sizes.sum()
    shares = np.zeros(len(scores))
    shares[among] = sizes / total if total else np.nan
    return shares


def top(shares: np.ndarray, among: np.ndarray, k: int) -> np.ndarray:
    """Return int64 [k]: the features ``among`` with the largest ``shares`` [n_features], the largest first.

    Among equal ones, the first in the text comes first.
    """
    chosen: np.ndarray = among[np.argsort(-shares[among], kind="stable")[:k]]
    return chosen


def rank_change(before: np.ndarray, after: np.ndarray) -> float:
    """Return the share of places at which two ordered top lists of equal length differ."""
    return float(np.mean(before != after))


def top_k_sum_change(before: np.ndarray, after: np.ndarray, listed: np.ndarray) -> float:
    """Return Σ before - after over the features ``listed`` [k] of two normalised maps [n_features]."""
    return float((before[listed] - after[listed]).sum())


Objective = Literal["unconstrained", "constrained"]
Ending = Literal["steps", "settled", "not_finite", "zero_radius"]
Positions = Literal["content", "all"]

SECOND = 2
"""The cost of a pass with second derivatives, in time and memory, in passes with first ones."""
KEPT_EVERY = 10
"""Steps between two points of a trajectory."""
THESIS_RADIUS = 2.0
"""The radius at which the learning rate is as given."""
_MOMENTS, _EPSILON = (0.9, 0.999), 1e-8
_HALVED_AFTER = (200, 400)
_QUIET, _QUIET_STEPS = 1e-5, 20
_ROUNDING = 1e-6
"""A share that falls by less has not been lowered."""


@dataclass(frozen=True)
class Settings:
    """Settings of the search: ``steps`` at most, the ``learning_rate`` at a radius of 2, the penalty's weight ``beta``.

    ``tolerance``: the largest change of the predicted class's probability under ``constrained``. ``surrogate``: see
    :meth:`.maps.Maps.read`. ``positions``: the tokens whose word embeddings move; never padding.
    """

    steps: int
    learning_rate: float
    beta: float
    tolerance: float
    surrogate: float
    positions: Positions


class Goal(NamedTuple):
    """The goal of a run: its ``objective``, and its ``radius`` as it was ``written``."""

    objective: Objective
    written: str
    radius: float


@dataclass(eq=False)
class Point:
    """A map at one iterate of a run: ``scores`` float64 [n_features], and the ``share`` of the listed features in it.

    ``probability`` is that of the class predicted for the original text. ``step`` 0 is the original itself; its share
    is known after the features are listed.
    """

    step: int
    scores: np.ndarray
    share: float
    probability: float


@dataclass(eq=False)
class Trajectory:
    """Some iterates of a run: their ``step``, the ``loss``, the ``share`` of the listed features, the probability."""

    step: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    probability: list[float] = field(default_factory=list)


@dataclass(eq=False)
class Run:
    """One attack: the ``best`` feasible iterate up to now, the ``steps`` done, and the reason of its ``ending``."""

    goal: Goal
    best: Point
    steps: int = 0
    ending: Ending | None = None
    trajectory: Trajectory = field(default_factory=Trajectory)
    quiet: int = 0

    @property
    def failed(self) -> bool:
        """True if no feasible iterate lowered the share of the listed features."""
        return self.best.step == 0


class Attacked:
    """A text under attack: its ``listed`` features int64 [k], its ``original`` map, and a run for each goal.

    The map is a share of each feature ``among`` (int64, by place).
    """

    def __init__(
        self, subject: Subject, original: Point, listed: np.ndarray, goals: Sequence[Goal], among: np.ndarray
    ) -> None:
        self.subject = subject
        self.listed = listed
        self.among = among
        self.original = replace(original, share=float(normalised(original.scores, among)[listed].sum()))
        self.runs = [Run(goal, self.original) for goal in goals]
        for run in self.runs:
            if not run.goal.radius:
                run.ending = "zero_radius"
        shape = (len(goals), *subject.embeddings.shape)
        self.moved_by = torch.zeros(shape, dtype=torch.float32, device=subject.classifier.device)
        self.moments = torch.zeros_like(self.moved_by), torch.zeros_like(self.moved_by)

    @property
    def going(self) -> list[int]:
        """The places of the runs that have not ended."""
        return [place for place, run in enumerate(self.runs) if run.ending is None]


@dataclass(frozen=True, eq=False)
class Values:
    """B maps as numbers that the search compares.

    ``scores`` [B, n_features]; ``listed`` [B]: the listed features' share; ``logits`` [B, classes].
    """

    scores: Tensor
    listed: Tensor
    logits: Tensor


class Search:
    """The search: all runs of ``subjects``, whose predictions are known, by one way to explain."""

    def __init__(self, subjects: Sequence[Subject], maps: Maps, settings: Settings) -> None:
        self._maps = maps
        self._settings = settings
        self._batcher = subjects[0].batcher
        self._device = subjects[0].classifier.device
        self._members = memberships(subjects, self._device)
        self.met_relu = False

    def originals(self, subjects: Sequence[Subject]) -> list[Point]:
        """Compute the map and the prediction of every text as it is."""
        points: dict[int, Point] = {}

        def run(batch: Batch) -> None:
            still = torch.zeros_like(batch.texts(), dtype=torch.float32)
            reading = self._maps.read(batch, still, second=False)
            self.met_relu |= reading.met_relu
            batch.count(forward=self._maps.inputs, backward=self._maps.backward(second=False))
            batch.classifier.finite(reading.logits.detach())
            scores, probabilities = self._scores(batch, reading), _probabilities(reading.logits.detach())
            for part in batch.parts:
                own, row = part.subject, part.rows.start
                kept = _numbers(scores[row, : len(own.units.features)])
                points[part.number] = Point(0, kept, math.nan, float(probabilities[row, own.prediction.index]))

        with second_derivatives(subjects[0].classifier):
            for _ in stream(
                subjects, [1] * len(subjects), run, gradients=True, phase="original maps", rows=self._maps.inputs
            ):
                pass
        return [points[i] for i in range(len(subjects))]

    def attack(self, texts: Sequence[Attacked]) -> None:
        """Take all steps of all runs of ``texts``; cancellable between two batches."""
        steps, phase = self._settings.steps, "attack steps"
        for step in range(steps + 1):
            going = [text for text in texts if text.going]
            if not going:
                break
            with self._batcher.span(step, step + 1, steps + 1), second_derivatives(going[0].subject.classifier):
                self._step(going, step, phase)
        self._batcher.finish(phase)

    def _step(self, texts: Sequence[Attacked], step: int, phase: str) -> None:
        """Evaluate one iterate of every run that goes on, and move to the next."""
        places = [text.going for text in texts]

        def run(batch: Batch) -> None:
            owners = [(texts[part.number], places[part.number][part.points]) for part in batch.parts]
            moved_by = batch.stacked([text.moved_by[own] for text, own in owners])
            values, losses, gradient = self.evaluate(batch, owners, moved_by, last=step == self._settings.steps)
            for part, (text, own) in zip(batch.parts, owners, strict=True):
                self._compare(text, own, step, values, losses, part.rows.start)
                if gradient is not None:
                    self._move(text, own, step, part.own(gradient))

        subjects, counts = [text.subject for text in texts], [len(own) for own in places]
        for _ in stream(subjects, counts, run, gradients=True, phase=phase, rows=SECOND * self._maps.inputs):
            pass

    def evaluate(
        self, batch: Batch, owners: Sequence[tuple[Attacked, list[int]]], moved_by: Tensor, last: bool
    ) -> tuple[Values, Tensor, Tensor | None]:
        """Compute the maps of the model itself at ``moved_by`` [B, N, d], the losses [B], and their gradient [B, N, d].

        With a surrogate, the gradient is the surrogate's; after the ``last`` step there is none.
        """
        surrogate, inputs = self._settings.surrogate, self._maps.inputs
        if last or surrogate:
            reading = self._maps.read(batch, self._within(owners, moved_by), second=False)
            batch.count(forward=inputs, backward=self._maps.backward(second=False))
            values = self._values(batch, owners, reading)
            if last:
                return values, self._losses(owners, values), None
        moved_by.requires_grad_()
        followed = self._maps.read(batch, self._within(owners, moved_by), second=True, surrogate=surrogate)
        batch.count(forward=inputs, backward=self._maps.backward(second=True))
        smooth = self._values(batch, owners, followed)
        losses = self._losses(owners, smooth)
        # the second term is for a map that does not depend on where the text is
        (gradient,) = torch.autograd.grad(self._lowered(losses, smooth) + 0 * moved_by.sum(), moved_by)
        return (values, self._losses(owners, values), gradient) if surrogate else (smooth, losses, gradient)

    def _movable(self, text: Attacked) -> np.ndarray:
        """Return bool [N]: True for the tokens whose word embeddings move."""
        encoding = text.subject.encoding
        return encoding.content if self._settings.positions == "content" else encoding.attention

    def _within(self, owners: Sequence[tuple[Attacked, list[int]]], moved_by: Tensor) -> Tensor:
        """Return the shifts of the texts at ``moved_by`` [B, N, d]: the same here, as every step is projected."""
        return moved_by

    def _projected(self, moved_by: Tensor, radii: Tensor) -> Tensor:
        """Return ``moved_by`` [k, N, d] projected into ``radii`` [k, 1, 1]."""
        return moved_by.clamp(-radii, radii)

    def _lowered(self, losses: Tensor, values: Values) -> Tensor:
        """Return the value that a step minimises: the sum of the ``losses`` [B]."""
        return losses.sum()

    def _values(self, batch: Batch, owners: Sequence[tuple[Attacked, list[int]]], reading: Reading) -> Values:
        scores = self._scores(batch, reading)
        content, listed = torch.zeros_like(scores), torch.zeros_like(scores)
        for part, (text, _) in zip(batch.parts, owners, strict=True):
            content[part.rows, text.among] = 1
            listed[part.rows, text.listed] = 1
        sizes = scores.abs() * content
        shares = sizes / sizes.sum(dim=1, keepdim=True)
        return Values(scores, (shares * listed).sum(dim=1), reading.logits)

    def _scores(self, batch: Batch, reading: Reading) -> Tensor:
        """Return [B, most features]: the tokens' scores summed into features."""
        most = max(len(part.subject.units.features) for part in batch.parts)
        rows = []
        for part in batch.parts:
            members = self._members[part.subject]
            missing = most - len(members)
            rows.append(torch.nn.functional.pad(part.own(reading.scores) @ members.T, (0, missing)))
        return torch.cat(rows)

    def _losses(self, owners: Sequence[tuple[Attacked, list[int]]], values: Values) -> Tensor:
        """Return [B]: the listed features' share, with the penalty for constrained runs."""
        runs = [(text, text.runs[place]) for text, places in owners for place in places]
        classes = torch.tensor([text.subject.prediction.index for text, _ in runs], device=self._device)
        now = _probabilities(values.logits).gather(1, classes[:, None])[:, 0]
        before = now.new_tensor([text.original.probability for text, _ in runs])
        weights = [self._settings.beta if run.goal.objective == "constrained" else 0.0 for _, run in runs]
        return values.listed + now.new_tensor(weights) * (before - now).square()

    def _compare(
        self, text: Attacked, places: Sequence[int], step: int, values: Values, losses: Tensor, first: int
    ) -> None:
        """Compare an iterate with each run's best feasible one; their rows of ``values`` begin at ``first``."""
        rows = slice(first, first + len(places))
        n, predicted = len(text.subject.units.features), text.subject.prediction.index
        scores, probabilities = _numbers(values.scores[rows, :n]), _numbers(_probabilities(values.logits[rows]))
        shares, of_losses = _numbers(values.listed[rows]), _numbers(losses[rows])
        finite = np.isfinite(scores).all(axis=1) & np.isfinite(probabilities).all(axis=1) & np.isfinite(of_losses)
        for i, place in enumerate(places):
            run, probability = text.runs[place], float(probabilities[i, predicted])
            if not finite[i]:
                run.ending = "not_finite"
                continue
            run.steps = step
            here = Point(step, scores[i], float(shares[i]), probability)
            if step and self._better(text, run, here, int(probabilities[i].argmax())):
                run.best = here
            if run.quiet >= _QUIET_STEPS:
                run.ending = "settled"
            elif step == self._settings.steps:
                run.ending = "steps"
            if step % KEPT_EVERY == 0 or run.ending is not None:
                kept = run.trajectory
                kept.step.append(step)
                kept.loss.append(float(of_losses[i]))
                kept.share.append(float(shares[i]))
                kept.probability.append(probability)

    def _better(self, text: Attacked, run: Run, point: Point, predicted: int) -> bool:
        """Tell if a later ``point``, with the class ``predicted``, is feasible and has a lower share."""
        if point.share >= run.best.share - (_ROUNDING if run.failed else 0):
            return False
        close = abs(text.original.probability - point.probability) <= self._settings.tolerance
        return predicted == text.subject.prediction.index and (close or run.goal.objective == "unconstrained")

    def _move(self, text: Attacked, places: Sequence[int], step: int, gradient: Tensor) -> None:
        """Take one step of Adam for these runs, projected onto their radii; ``gradient`` [k, N, d]."""
        movable = torch.as_tensor(self._movable(text), device=gradient.device)[:, None]
        radii = gradient.new_tensor([text.runs[place].goal.radius for place in places])[:, None, None]
        sound = gradient.isfinite().flatten(1).all(dim=1)
        gradient = torch.where(movable & sound[:, None, None], gradient, 0.0)
        corrected = []
        for moment, share, power in zip(text.moments, _MOMENTS, (1, 2), strict=True):
            now = share * moment[places] + (1 - share) * gradient.pow(power)
            moment[places] = now
            corrected.append(now / (1 - share ** (step + 1)))
        halvings = sum(step >= after for after in _HALVED_AFTER)
        rate = self._settings.learning_rate * 0.5**halvings * radii / THESIS_RADIUS
        before = text.moved_by[places]
        after = self._projected(before - rate * corrected[0] / (corrected[1].sqrt() + _EPSILON), radii)
        text.moved_by[places] = after
        moved = (after - before).abs().sum(dim=(1, 2)) / (movable.sum() * after.shape[-1])
        quiet = _numbers(moved / radii[:, 0, 0]) < _QUIET / THESIS_RADIUS
        for place, still, valid in zip(places, quiet.tolist(), sound.tolist(), strict=True):
            run = text.runs[place]
            run.quiet = run.quiet + 1 if still else 0
            if run.ending is None and not valid:
                run.ending = "not_finite"


def _probabilities(logits: Tensor) -> Tensor:
    return logits.softmax(dim=-1)


def _numbers(tensor: Tensor) -> np.ndarray:
    """Return the numbers as float64 on the CPU."""
    numbers: np.ndarray = tensor.detach().cpu().double().numpy()
    return numbers
