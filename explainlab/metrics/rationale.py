"""The seven metrics that compare the top features with a rationale, the evidence G that is marked in the text.

Features are ranked by score, equal ones in the order of the text; A are the first of them. No metric needs a pass.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, Literal, TypeVar

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.metrics.metric import PlausibilityMetric
from explainlab.metrics.perturbation import places
from explainlab.metrics.presets import Preset
from explainlab.text.units import Units

_ERASER = "DeYoung et al. 2020 (ERASER), Section 4"
_THESIS = "The Oxford thesis (paper 004), Section 2.2.3.1"

PRESETS: Mapping[str, Preset] = {
    "ours": Preset(label="ExplainLab", source="The features of the text alone are ranked"),
    "thesis": Preset(label="Thesis", source="The Oxford thesis (paper 004), its code", special=True),
}


class RationaleParameters(declared.Parameters):
    """Parameters of all seven."""

    ranking: Literal["signed", "absolute"] = Field(
        "signed", description="Rank by the score, or by its size whatever its sign."
    )

    @property
    def special(self) -> bool:
        """True if special tokens are ranked and counted like any other."""
        return False


class Ranked(RationaleParameters):
    """Parameters of a metric of the thesis."""

    preset: Literal["ours", "thesis"] = Field(
        "ours", description="Whose definition: the thesis ranks and counts special tokens."
    )

    @property
    def special(self) -> bool:
        return PRESETS[self.preset].special


class Overlapping(Ranked):
    """Parameters of the overlap."""

    exact: bool = Field(
        False, description="Count only a complete match, as the thesis' text does and its code does not."
    )


class Selected(RationaleParameters):
    """Parameters of a metric at one k."""

    k: int = Field(20, ge=1, le=100, description="Share of the features in A, in per cent; it has at least one.")


class Runs(Selected):
    """Parameters of the metric that compares passages."""

    threshold: float = Field(0.5, gt=0, le=1, description="Least overlap (IOU) of two passages that match.")


class Curve(RationaleParameters):
    """Parameters of an area under a curve."""

    area: Literal["steps", "trapezoid"] = Field(
        "steps", description="Steps (average precision), or the trapezoid rule, as ERASER has it."
    )


R = TypeVar("R", bound=RationaleParameters)


class Rationale(PlausibilityMetric[R], Generic[R]):
    """Base class of the seven metrics."""

    family: ClassVar = "Rationale"
    higher_is_better: ClassVar = True

    def value(self, scores: np.ndarray, units: Units, rationale: np.ndarray, parameters: R) -> np.ndarray:
        features = units.removable if parameters.special else units.content
        ranked = scores[:, features]
        return self.of_ranked(
            np.abs(ranked) if parameters.ranking == "absolute" else ranked,
            rationale[features],
            np.array([units.features[i].part for i in features.tolist()]),
            parameters,
        )

    @abstractmethod
    def of_ranked(self, scores: np.ndarray, rationale: np.ndarray, parts: np.ndarray, parameters: R) -> np.ndarray:
        """Return float64 [C]: the values for the ``scores`` float64 [C, n] of the ranked features.

        ``rationale`` bool [n] are those in G; ``parts`` int64 [n], 0 in the text and 1 in the second text of a pair.
        """

    @abstractmethod
    def formula(self, parameters: R) -> str:
        """Define the metric by a formula with G, A and the number of features n."""

    def definition(self, parameters: R) -> str:
        by = "score without its sign" if parameters.ranking == "absolute" else "score"
        special = "counted" if parameters.special else "apart"
        return (
            f"{self.formula(parameters)}. G: the features with a marked character. Features are ranked by {by}, "
            f"special tokens {special}."
        )


class GroundTruthOverlap(Rationale[Overlapping]):
    """The share of the rationale among the top features."""

    Parameters: ClassVar = Overlapping
    presets: ClassVar = PRESETS
    id: ClassVar = "ground_truth_overlap"
    label: ClassVar = "Ground-truth overlap"
    plain: ClassVar = "How many of the marked words are at the very top of the ranking; higher is better."
    source: ClassVar = _THESIS

    def formula(self, parameters: Overlapping) -> str:
        return f"{'1 if A = G, else 0' if parameters.exact else '|A ∩ G| / |G|'}, A the |G| features ranked highest"

    def of_ranked(
        self, scores: np.ndarray, rationale: np.ndarray, parts: np.ndarray, parameters: Overlapping
    ) -> np.ndarray:
        wanted = rationale.sum()
        shared = (places(scores)[:, rationale] < wanted).sum(axis=1)
        overlap: np.ndarray = (shared == wanted).astype(float) if parameters.exact else shared / wanted
        return overlap


class MeanRank(Rationale[Ranked]):
    """The number of top features that are needed to include the whole rationale."""

    Parameters: ClassVar = Ranked
    presets: ClassVar = PRESETS
    id: ClassVar = "mean_rank"
    label: ClassVar = "Mean rank"
    plain: ClassVar = "How far down the ranking the last of the marked words stands; lower is better."
    source: ClassVar = _THESIS
    higher_is_better: ClassVar = False

    def formula(self, parameters: Ranked) -> str:
        return "The smallest r so that G is among the r features ranked highest"

    def of_ranked(self, scores: np.ndarray, rationale: np.ndarray, parts: np.ndarray, parameters: Ranked) -> np.ndarray:
        ranks: np.ndarray = places(scores)[:, rationale].max(axis=1) + 1.0
        return ranks


class MeanRankPercentage(MeanRank):
    """The mean rank as a share of all features."""

    id: ClassVar = "mean_rank_percentage"
    label: ClassVar = "Mean rank percentage"
    plain: ClassVar = (
        "How far down the ranking the last of the marked words stands, as a share of the text; lower is better."
    )

    def formula(self, parameters: Ranked) -> str:
        return "r / n, r the smallest number so that G is among the r features ranked highest, n all of them"

    def of_ranked(self, scores: np.ndarray, rationale: np.ndarray, parts: np.ndarray, parameters: Ranked) -> np.ndarray:
        return super().of_ranked(scores, rationale, parts, parameters) / len(rationale)


class TokenF1(Rationale[Selected]):
    """The F1 score of the top features against the rationale."""

    Parameters: ClassVar[type[Selected]] = Selected
    id: ClassVar = "token_f1"
    label: ClassVar = "Token F1"
    plain: ClassVar = "How well the top-ranked words and the marked words are the same; higher is better."
    source: ClassVar = _ERASER

    def formula(self, parameters: Selected) -> str:
        return f"2 |A ∩ G| / (|A| + |G|), {_top(parameters)}"

    def of_ranked(
        self, scores: np.ndarray, rationale: np.ndarray, parts: np.ndarray, parameters: Selected
    ) -> np.ndarray:
        selected = _selected(scores, parameters.k)
        f1: np.ndarray = 2 * (selected & rationale).sum(axis=1) / (selected.sum(axis=1) + rationale.sum())
        return f1


class TokenIou(Rationale[Selected]):
    """The intersection of the top features with the rationale, over their union."""

    Parameters: ClassVar = Selected
    id: ClassVar = "token_iou"
    label: ClassVar = "Token IOU"
    plain: ClassVar = "The words both top-ranked and marked, as a share of those that are either; higher is better."
    source: ClassVar = _ERASER

    def formula(self, parameters: Selected) -> str:
        return f"|A ∩ G| / |A ∪ G|, {_top(parameters)}"

    def of_ranked(
        self, scores: np.ndarray, rationale: np.ndarray, parts: np.ndarray, parameters: Selected
    ) -> np.ndarray:
        selected = _selected(scores, parameters.k)
        iou: np.ndarray = (selected & rationale).sum(axis=1) / (selected | rationale).sum(axis=1)
        return iou


_ALONE = 0.5
"""The threshold above which a run meets at most one other, as two could not both cover more than half of it."""
_ERASERS_CODE = (
    "Precision counts the met runs of A, recall those of G; ERASER's code counts those of A for both, so it differs, "
    "and may exceed 1, where a run meets several"
)


class IouF1(Rationale[Runs]):
    """The F1 score of the passages of top features against those of the rationale.

    A passage, or run, is a longest sequence of neighbours in one text.
    """

    Parameters: ClassVar = Runs
    id: ClassVar = "iou_f1"
    label: ClassVar = "IOU F1"
    plain: ClassVar = "How many passages of top-ranked words match a marked passage, and back; higher is better."
    source: ClassVar = _ERASER

    def formula(self, parameters: Runs) -> str:
        words = (
            f"F1 of the runs of neighbours in A against those in G, {_top(parameters)}. A run is met if its IOU with "
            f"one of the other side is {parameters.threshold:g} or more"
        )
        return words if parameters.threshold > _ALONE else f"{words}. {_ERASERS_CODE}"

    def of_ranked(self, scores: np.ndarray, rationale: np.ndarray, parts: np.ndarray, parameters: Runs) -> np.ndarray:
        selected = _selected(scores, parameters.k)
        ours, owners = _runs(selected, parts)
        theirs = _runs(rationale[None], parts)[0][0]
        both = selected & rationale
        count = int(theirs[rationale].max()) + 1
        pairs, shared = np.unique((ours * count + theirs)[both], return_counts=True)
        first, second = np.divmod(pairs, count)
        union = np.bincount(ours[selected])[first] + np.bincount(theirs[rationale])[second] - shared
        close = shared / union >= parameters.threshold
        first, second = first[close], second[close]
        met = np.bincount(owners[np.unique(first)], minlength=len(scores))
        precision = met / np.bincount(owners, minlength=len(scores))
        reached = np.zeros((len(scores), count), dtype=bool)
        reached[owners[first], second] = True
        recall = reached.mean(axis=1)
        f1: np.ndarray = 2 * precision * recall / np.where(precision + recall, precision + recall, 1)
        return f1


class Auprc(Rationale[Curve]):
    """The area under the curve of precision over recall, for a growing number of top features."""

    Parameters: ClassVar = Curve
    id: ClassVar = "auprc"
    label: ClassVar = "AUPRC"
    plain: ClassVar = "How well the scores tell the marked words from all others, at any cut; higher is better."
    source: ClassVar = f"{_ERASER}; average precision as in scikit-learn"

    def formula(self, parameters: Curve) -> str:
        rule = "by the trapezoid rule" if parameters.area == "trapezoid" else "in steps: Σ (Rᵢ − Rᵢ₋₁) Pᵢ"
        return f"The area under precision P over recall R of the features down to each score against G, {rule}"

    def of_ranked(self, scores: np.ndarray, rationale: np.ndarray, parts: np.ndarray, parameters: Curve) -> np.ndarray:
        order = np.argsort(-scores, axis=1, kind="stable")
        ranked = np.take_along_axis(scores, order, axis=1)
        hits = np.cumsum(rationale[order], axis=1)
        recall, precision = hits / hits[:, -1:], hits / np.arange(1, len(rationale) + 1)
        cuts = np.ones(scores.shape, dtype=bool)  # equal scores are taken together
        cuts[:, :-1] = ranked[:, :-1] > ranked[:, 1:]
        before = _at_the_cut_before(recall, cuts, 0.0)
        height = precision
        if parameters.area == "trapezoid":
            height = (precision + _at_the_cut_before(precision, cuts, 1.0)) / 2
        area: np.ndarray = ((recall - before) * height * cuts).sum(axis=1)
        return area


def _top(parameters: Selected) -> str:
    return f"A the {parameters.k}% of the features ranked highest, rounded down, at least one"


def _selected(scores: np.ndarray, k: int) -> np.ndarray:
    """Return bool [C, n]: the k% of the features with the highest ``scores`` [C, n], at least one."""
    selected: np.ndarray = places(scores) < max(1, k * scores.shape[1] // 100)
    return selected


def _runs(selected: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the run of every ``selected`` [C, n] feature, as int64 [C, n], and the row of each run.

    Runs have numbers from 0 over all rows. The numbers of other features are arbitrary.
    """
    starts = selected.copy()
    starts[:, 1:] &= ~selected[:, :-1] | (parts[1:] != parts[:-1])
    numbers: np.ndarray = np.cumsum(starts).reshape(starts.shape) - 1
    return numbers, np.nonzero(starts)[0]


def _at_the_cut_before(values: np.ndarray, cuts: np.ndarray, first: float) -> np.ndarray:
    """Return float64 [C, n]: the element of ``values`` [C, n] at the last of the ``cuts`` [C, n] before each place, or
    ``first``.
    """
    last = np.maximum.accumulate(np.where(cuts, np.arange(cuts.shape[1]), -1), axis=1)[:, :-1]
    before: np.ndarray = np.full(values.shape, first)
    before[:, 1:] = np.where(last >= 0, np.take_along_axis(values, np.maximum(last, 0), axis=1), first)
    return before
