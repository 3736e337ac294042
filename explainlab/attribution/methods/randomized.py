"""Randomized path-integration: paths from many random baselines, and the best attribution by a metric."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from explainlab.attribution.diffusion import PRESETS, Maps
from explainlab.attribution.method import Method, Outcome, TextSize
from explainlab.attribution.random_maps import (
    AttentionMaps,
    AttentionParameters,
    EmbeddingParameters,
    IntegratedMaps,
    SequentialMaps,
    layer_numbers,
    share_replayed,
)
from explainlab.attribution.selection import select
from explainlab.attribution.subject import Subject
from explainlab.metrics.registry import evaluation_passes, parse_metric
from explainlab.models.context import PassCount
from explainlab.request import Output

PICKED = (
    "This is the best of {count} maps by {metric}, so by {metric} it is expected to beat a method with a single map."
)
UNDECIDED = (
    "{metric} cannot tell these {count} maps apart: it is {value:.3f} for all of them. None was chosen; this is the "
    "first draw."
)


class BestOfMany(Method):
    """The best by a metric of many attributions from random baselines."""

    family: ClassVar = "Paths"
    random: ClassVar = True
    deduplicates: ClassVar = True

    @abstractmethod
    def maps(self, subject: Subject, parameters: Any) -> Maps:
        """Return the kind of attributions that are drawn."""

    @classmethod
    def chosen_by(cls, parameters: Any) -> str | None:
        return parse_metric(parameters.select_by).metric

    @classmethod
    def drawn(cls, parameters: Any, text: TextSize, depth: int) -> tuple[int, PassCount]:
        """Return the number of maps, and their :meth:`passes`: a gradient a step unless overridden."""
        return parameters.samples, PassCount.gradients(parameters.samples * parameters.steps)

    @classmethod
    def passes(cls, parameters: Any, text: TextSize, depth: int) -> PassCount:
        maps, made = cls.drawn(parameters, text, depth)
        return made + evaluation_passes([parse_metric(parameters.select_by)], text.features) * maps

    def attribute(self, subject: Subject, parameters: EmbeddingParameters) -> Outcome:
        maps = self.maps(subject, parameters)
        selection = select(maps, parameters.samples, parameters.search, parameters.select_by)
        subject.notes.append(selection.note)
        count, value = len(selection.values), selection.values[0]
        words = (PICKED if selection.decided else UNDECIDED).format(count=count, metric=selection.metric, value=value)
        return Outcome(selection.winner.scores, warnings=(words,) if count > 1 else ())


class Rpi(BestOfMany):
    """The gradient times the attention, integrated along paths from random baselines of a layer's attention.

    ``reference`` follows the authors' code: the last timestep, noise of standard deviation 1 - ᾱ, also where attention
    is masked, n + 1 points from the baseline on, a in place of a - b, the logit, the third layer from the last. Special
    tokens keep the score that the formula gives them.
    """

    Parameters: ClassVar = AttentionParameters
    id: ClassVar = "rpi"
    label: ClassVar = "Randomized path-integration"
    plain: ClassVar = (
        "Draws many maps from random starting points inside the model and keeps the one that a test likes best."
    )
    good_for: ClassVar = "The best score on a chosen metric; judge it by another one."
    source: ClassVar = "Barkan et al. 2024 (RPI), Eq. 3 to 5"
    definition: ClassVar = (
        "φⱼ = mean over heads of (a - b) · mean over v from b to a of ∂F/∂v · v at (class row, j); best b"
    )
    needs: ClassVar = ("gradients", "replaceable attention")
    product: ClassVar = True

    @classmethod
    def is_random(cls, subject: Subject, parameters: AttentionParameters) -> bool:
        """Return False with one timestep and no other draw, as in the last layer of a language model; else True."""
        undrawn = subject.classifier.architecture.is_generative and parameters.layers in ("last", "-1")
        return not (undrawn and (PRESETS[parameters.preset].timesteps == "last" or parameters.timesteps == 1))

    @classmethod
    def default_output(cls, parameters: Mapping[str, Any]) -> Output:
        preset = PRESETS.get(str(parameters.get("preset")))
        return preset.output if preset else cls.output

    @classmethod
    def drawn(cls, parameters: AttentionParameters, text: TextSize, depth: int) -> tuple[int, PassCount]:
        layers = layer_numbers(parameters.layers, depth)
        points = parameters.samples * (parameters.steps + 1 - PRESETS[parameters.preset].first_node)
        spare = points * sum(1 - share_replayed(layer, depth) for layer in layers)
        return parameters.samples * len(layers), PassCount(1) + PassCount.gradients(points * len(layers), spare)

    def maps(self, subject: Subject, parameters: AttentionParameters) -> Maps:
        return AttentionMaps(subject, parameters, self.product)


class RpiG(Rpi):
    """Randomized path-integration of the attention's gradient alone."""

    id: ClassVar = "rpi_g"
    label: ClassVar = "RPI, gradient only"
    plain: ClassVar = "Randomized path-integration that follows the slope alone, without the attention itself."
    good_for: ClassVar = "Seeing what the attention adds to randomized path-integration."
    source: ClassVar = "Barkan et al. 2024 (RPI-G), Eq. 4 without the product"
    definition: ClassVar = (
        "φⱼ = mean over heads of (a - b) · mean over v from b to a of ∂F/∂v at (class row, j); best b"
    )
    product: ClassVar = False


class RpiIg(BestOfMany):
    """Integrated gradients from random baselines of the word embeddings."""

    Parameters: ClassVar = EmbeddingParameters
    id: ClassVar = "rpi_ig"
    label: ClassVar = "RPI, integrated gradients"
    plain: ClassVar = (
        "Draws many maps by integrated gradients from random starting points and keeps the one that a test likes best."
    )
    good_for: ClassVar = "Seeing how much the starting point of integrated gradients matters."
    source: ClassVar = "Barkan et al. 2024 (RPI-IG), section 4.3"
    definition: ClassVar = (
        "φᵢ = Σ_d (xᵢ - bᵢ) · mean over v from b to x of ∂F/∂vᵢ, b = √ᾱ mask + √(1 - ᾱ) noise; best b"
    )
    needs: ClassVar = ("gradients",)

    def maps(self, subject: Subject, parameters: EmbeddingParameters) -> Maps:
        return IntegratedMaps(subject, parameters)


class RpiSig(BestOfMany):
    """Sequential integrated gradients from random baselines of the word embeddings."""

    Parameters: ClassVar = EmbeddingParameters
    id: ClassVar = "rpi_sig"
    label: ClassVar = "RPI, sequential integrated gradients"
    plain: ClassVar = (
        "Draws many maps that fade in one word at a time from random starting points, and keeps the best by a test."
    )
    good_for: ClassVar = "Comparisons with the paper; it is the slowest of all."
    source: ClassVar = "Barkan et al. 2024 (RPI-SIG), section 4.3"
    definition: ClassVar = "φᵢ = Σ_d (xᵢ - bᵢ) · mean over v from bᵢ to xᵢ alone of ∂F/∂vᵢ, b as in RPI-IG; best b"
    needs: ClassVar = ("gradients",)

    @classmethod
    def drawn(cls, parameters: EmbeddingParameters, text: TextSize, depth: int) -> tuple[int, PassCount]:
        return parameters.samples, PassCount(1) + PassCount.gradients(
            parameters.samples * parameters.steps * text.tokens
        )

    def maps(self, subject: Subject, parameters: EmbeddingParameters) -> Maps:
        return SequentialMaps(subject, parameters)
