"""The five metrics that remove the features with the highest scores, or all others, and read the prediction."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.metrics.metric import Facts, FaithfulnessMetric, Perturbations
from explainlab.metrics.presets import PRESETS, Divisor, Kind, PresetId, Removal, RemovalPreset, Rounding
from explainlab.text.units import Units


def _split(bins: Any) -> Any:
    return bins.split("+") if isinstance(bins, str) else bins


def _rising(bins: tuple[int, ...]) -> tuple[int, ...]:
    if not bins or list(bins) != sorted(set(bins)):
        raise PydanticCustomError("order", "Give percentages from 0 to 100 in rising order, each once, as in 1+5+10")
    return bins


Percent = Annotated[int, Field(ge=0, le=100)]
Bins = Annotated[tuple[Percent, ...], BeforeValidator(_split), AfterValidator(_rising)]
_REMOVAL = "Take features out, or put the mask token in the place of each of their tokens."


class PresetParameters(declared.Parameters):
    """Parameters whose defaults come from the preset."""

    preset: PresetId = Field(
        "rpi", description="Whose definition: every published code defines the metric differently."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_preset(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        name = parameters.get("preset", cls.model_fields["preset"].default)
        preset = PRESETS.get(name) if isinstance(name, str) else None
        defaults = {field: getattr(preset, field) for field in cls.model_fields if hasattr(preset, field)}
        return {**defaults, **parameters}


class OneLevel(PresetParameters):
    """Parameters of a metric at one k."""

    divisor: ClassVar[Divisor] = "bins"
    k: int = Field(20, ge=0, le=100, description="Share of the features that is selected, in per cent.")

    @property
    def levels(self) -> tuple[int, ...]:
        """The single level, in per cent."""
        return (self.k,)


class Masked(OneLevel):
    """Parameters of a metric at one k that always masks."""

    removal: ClassVar[Removal] = "mask"


class Removed(OneLevel):
    """Parameters of a metric at one k that may delete or mask."""

    removal: Removal = Field("delete", description=_REMOVAL)


class Levels(PresetParameters):
    """Parameters of a mean over several k."""

    bins: Bins = Field((1, 5, 10, 20, 50), description="Shares of the features, in per cent, joined by plus.")
    divisor: Divisor = Field("bins", description="What the sum over the bins is divided by: their number, or one more.")
    removal: Removal = Field("delete", description=_REMOVAL)

    @property
    def levels(self) -> tuple[int, ...]:
        """The bins."""
        return self.bins


PerturbationParameters = Masked | Removed | Levels
"""The parameters of the five metrics."""


class Perturbation(FaithfulnessMetric[PerturbationParameters]):
    """Base class of the five metrics: features are ranked by signed score, ties in the text's order or the preset's.

    ``keeps``: the selected features stay, and the others are removed. A difference is one of probabilities, p(x) -
    p(perturbed).
    """

    family: ClassVar = "Perturbation"
    keeps: ClassVar[bool] = False
    kind: ClassVar[Kind] = "one level"
    version: ClassVar = 2
    formula: ClassVar[str]
    presets: ClassVar = PRESETS
    Parameters: ClassVar[type[PerturbationParameters]]

    def definition(self, parameters: PerturbationParameters) -> str:
        preset = PRESETS[parameters.preset]
        note = preset.notes.get(self.kind, "")
        return " ".join(
            [
                f"{self.formula}, p the probability of the explained class.",
                *_rules(preset, parameters, self.keeps),
                note,
            ]
        ).strip()

    def perturb(self, scores: np.ndarray, units: Units, parameters: PerturbationParameters) -> Perturbations:
        preset = PRESETS[parameters.preset]
        ranked = units.removable if preset.special else units.content
        sizes = _selected(parameters.levels, len(ranked), preset.rounding, self.keeps)
        counts = np.tile(sizes, (len(scores), 1))
        if preset.positive:
            counts = np.minimum(counts, (scores[:, ranked] > 0).sum(axis=1)[:, None])
        order = places(scores[:, ranked][:, ::-1])[:, ::-1] if preset.ties == "last" else places(scores[:, ranked])
        chosen = order[:, None, :] < counts[:, :, None]
        left = chosen if self.keeps else ~chosen
        if preset.empty != "evaluate":
            left |= (sizes == 0)[None, :, None]
        stays = np.ones((*counts.shape, len(units.features)), dtype=bool)
        stays[:, :, ranked] = left
        meant = _meant(counts, sizes, preset)
        return Perturbations(parameters.levels, counts, meant, stays, parameters.removal, preset.retokenised)

    def inputs(self, parameters: PerturbationParameters, features: int) -> int:
        return len(parameters.levels)

    def value(
        self, perturbed: Perturbations, original: float, remaining: np.ndarray, parameters: PerturbationParameters
    ) -> np.ndarray:
        preset = PRESETS[parameters.preset]
        effects = self._effect(original, remaining)
        if preset.absolute:
            effects = np.abs(effects)
        if preset.envelope:
            effects = (np.minimum if self.keeps else np.maximum).accumulate(effects, axis=1)
        divisor = perturbed.meant.sum(axis=1) + (parameters.divisor == "bins_plus_one")
        means: np.ndarray = (effects * perturbed.meant).sum(axis=1) / np.maximum(divisor, 1)
        return means

    def unsupported(self, model: Facts, parameters: PerturbationParameters) -> str:
        preset = PRESETS[parameters.preset]
        if not preset.special or model.architecture.pooling != "eos":
            return ""
        family = model.architecture.family
        return f"{self.label} by {preset.label} may remove the token at which a {family} model is read."

    @staticmethod
    def _effect(original: float, remaining: np.ndarray) -> np.ndarray:
        difference: np.ndarray = np.exp(original) - np.exp(remaining)
        return difference


class Sufficiency(Perturbation):
    """The drop of the prediction when only the top features stay."""

    Parameters: ClassVar[type[PerturbationParameters]] = Removed
    id: ClassVar = "sufficiency"
    label: ClassVar = "Sufficiency"
    plain: ClassVar = "How much of the prediction is lost when only the top-ranked words are kept; less is better."
    source: ClassVar = "DeYoung et al. 2020, Eq. 2"
    formula: ClassVar = "p(x) − p(the top k% of x)"
    higher_is_better: ClassVar = False
    keeps: ClassVar = True


class Comprehensiveness(Perturbation):
    """The drop of the prediction when the top features are removed."""

    Parameters: ClassVar[type[PerturbationParameters]] = Removed
    id: ClassVar = "comprehensiveness"
    label: ClassVar = "Comprehensiveness"
    plain: ClassVar = "How much of the prediction is lost when the top-ranked words are removed; more is better."
    source: ClassVar = "DeYoung et al. 2020, Eq. 1"
    formula: ClassVar = "p(x) − p(x without its top k%)"
    higher_is_better: ClassVar = True


class LogOdds(Perturbation):
    """The change of the log-probability when the top features are masked."""

    Parameters: ClassVar = Masked
    kind: ClassVar = "log-odds"
    id: ClassVar = "log_odds"
    label: ClassVar = "Log-odds"
    plain: ClassVar = (
        "How much less likely the class becomes when the top-ranked words are masked, as a logarithm; lower is better."
    )
    source: ClassVar = "Shrikumar et al. 2017, as Barkan et al. 2024 (paper 001), A.3 uses it"
    formula: ClassVar = "ln p(x with its top k% masked) − ln p(x)"
    higher_is_better: ClassVar = False

    @staticmethod
    def _effect(original: float, remaining: np.ndarray) -> np.ndarray:
        return remaining - original


class AopcSufficiency(Sufficiency):
    """Sufficiency, the mean over several k."""

    Parameters: ClassVar = Levels
    kind: ClassVar = "mean"
    id: ClassVar = "aopc_sufficiency"
    label: ClassVar = "AOPC sufficiency"
    plain: ClassVar = "Sufficiency, averaged over keeping more and more of the top-ranked words; lower is better."
    source: ClassVar = "DeYoung et al. 2020, Eq. 3"
    formula: ClassVar = "The mean over k of p(x) − p(the top k% of x)"


class AopcComprehensiveness(Comprehensiveness):
    """Comprehensiveness, the mean over several k."""

    Parameters: ClassVar = Levels
    kind: ClassVar = "mean"
    id: ClassVar = "aopc_comprehensiveness"
    label: ClassVar = "AOPC comprehensiveness"
    plain: ClassVar = (
        "Comprehensiveness, averaged over removing more and more of the top-ranked words; higher is better."
    )
    source: ClassVar = "DeYoung et al. 2020, Eq. 3"
    formula: ClassVar = "The mean over k of p(x) − p(x without its top k%)"


def places(scores: np.ndarray) -> np.ndarray:
    """Return int64 [C, n]: the place of every feature by its score, 0 for the highest; equal scores in the text's
    order.
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(scores.shape[1])[None, :], axis=1)
    return places


def _selected(levels: tuple[int, ...], n: int, rounding: Rounding, keeps: bool) -> np.ndarray:
    """Return int64 [L]: the number of ``n`` features that each level selects, in integer arithmetic."""
    hundredths = np.array(levels, dtype=np.int64) * n
    return -(-hundredths // 100) if _rounds_up(rounding, keeps) else hundredths // 100


def _rounds_up(rounding: Rounding, keeps: bool) -> bool:
    return rounding == "up" or (rounding == "removed_up" and not keeps)


def _meant(counts: np.ndarray, sizes: np.ndarray, preset: RemovalPreset) -> np.ndarray:
    """Return bool [C, L]: the levels that count. Levels select nested sets; equal counts mean equal sets.

    ``sizes`` int64 [L] are the numbers of features that each level could select, for any scores.
    """
    meant = np.ones(counts.shape, dtype=bool)
    if preset.empty == "skip":
        meant &= sizes > 0
    if not preset.repeats:
        meant[:, 1:] &= (counts[:, 1:] > counts[:, :-1]) | ~meant[:, :-1]
    return meant


_EMPTY = {
    "whole": "A level that selects no feature counts 0",
    "evaluate": "A level that selects no feature is evaluated all the same",
    "skip": "A level that selects no feature is left out",
}


def _rules(preset: RemovalPreset, parameters: PerturbationParameters, keeps: bool) -> list[str]:
    """Return the rules of the preset, in sentences."""
    levels, several = ", ".join(map(str, parameters.levels)), len(parameters.levels) > 1
    skips = several and not preset.repeats
    special = "included" if preset.special else "apart"
    direction = "up" if _rounds_up(preset.rounding, keeps) else "down"
    verb = "deleted" if parameters.removal == "delete" else "replaced by the mask token"
    sentences = [
        f"k = {levels}, of the n features of the text (special tokens {special}), rounded {direction}.",
        f"What is removed is {verb}{', and what is left is tokenised again' if preset.retokenised else ''}.",
        f"{_EMPTY[preset.empty]}{', as is one that selects what the one before did' if skips else ''}.",
    ]
    if preset.positive:
        sentences.append("Features that score zero or less are never selected.")
    if preset.ties == "last":
        sentences.append("Of features with equal scores the last in the text is selected first.")
    if preset.absolute:
        sentences.append("Differences are counted without their sign.")
    if preset.envelope and several:
        sentences.append(f"A level counts the {'smallest' if keeps else 'largest'} difference up to it.")
    if parameters.divisor == "bins_plus_one":
        sentences.append("The sum over k is divided by one more than there are.")
    return sentences
