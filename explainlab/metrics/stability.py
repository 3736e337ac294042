"""Metrics of stability: a map should hold for texts that are nearly the same, and predict the model's behaviour.

The maps of such texts are made anew, each with a seed of its own. For a method that draws at random, and for random
scores, the values show how far the draws alone move a map.
"""

from __future__ import annotations

import math
import re
from collections.abc import MutableMapping, Sequence
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
import torch
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from explainlab import declared
from explainlab.errors import RequestError
from explainlab.metrics.comparison import spearman
from explainlab.metrics.edits import COLUMN, EDITS, MADE, Editor
from explainlab.metrics.evaluate import Case
from explainlab.metrics.metric import Reexplainer, StabilityMetric, Text, Version
from explainlab.models.classifier import Classifier
from explainlab.text.encoding import Encoding
from explainlab.text.units import Units, group

LARGEST = 1e6
MOST_RADII = 20
BOUNDLESS = 3.0
"""The radius, in standard deviations of the word table, that hardly restricts an attack."""
_NUMBER = re.compile(r"(\d{1,9}(\.\d{0,9})?|\.\d{1,9})(e[+-]?\d{1,2})?")
_ROWS = 4096


def _listed(value: Any) -> Any:
    """Split radii at commas, and write numbers as texts."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        parts = [parts]
    plain = (int, float)
    return [f"{part:g}" if isinstance(part, plain) and not isinstance(part, bool) else part for part in parts]


def _radii(values: list[str]) -> list[str]:
    """Return the radii in canonical form, each once."""
    radii = [_canonical(value.strip()) for value in values]
    if not radii or len(set(radii)) < len(radii):
        raise PydanticCustomError("radii", "Give one or more radii, each once, as in 0.03s,0.1s")
    return radii


def _canonical(value: str) -> str:
    number = value.removesuffix("s")
    if not _NUMBER.fullmatch(number) or float(number) > LARGEST:
        raise PydanticCustomError(
            "radius", "A radius is a number from 0 to {most}, with s for standard deviations", {"most": f"{LARGEST:g}"}
        )
    return f"{float(number):g}{'s' if value.endswith('s') else ''}"


Radii = Annotated[Annotated[list[str], Field(max_length=MOST_RADII)], BeforeValidator(_listed), AfterValidator(_radii)]
"""Radii: a number, or with ``s`` a number of standard deviations of the word table; as a list, or with commas."""


_DEVIATIONS: MutableMapping[Tensor, tuple[int, float]] = WeakTensorKeyDictionary()
"""Version and standard deviation of word tables; a table with a newer version is measured again."""


def radius(written: str, deviation: float) -> float:
    """Return the radius in the unit of word embeddings, whose table has this standard ``deviation``."""
    return float(written.removesuffix("s")) * (deviation if written.endswith("s") else 1.0)


def table_deviation(classifier: Classifier) -> float:
    """Return the standard deviation of all numbers of the model's word table (float64, n in the denominator).

    The value is cached as long as the table exists unchanged.
    """
    table = classifier.model.word_embeddings.weight
    version, deviation = _DEVIATIONS.get(table, (-1, 0.0))
    if version != table._version:
        mean = _sum(table.detach(), 0.0, 1) / table.numel()
        deviation = math.sqrt(_sum(table.detach(), mean, 2) / table.numel())
        _DEVIATIONS[table] = table._version, deviation
    return deviation


def _sum(table: Tensor, mean: float, power: int) -> float:
    """Return the sum of the powers of the deviations from ``mean``, by groups of rows, without a copy of the table."""
    wide = torch.float32 if table.device.type == "mps" else torch.float64
    return sum(float((rows.to(wide) - mean).pow(power).sum()) for rows in table.split(_ROWS))


_NOT_AGAIN = (
    "Nothing can be said of reversed scores and of scores from files, which no method makes again, of a method that "
    "asks the model in words, and of a map that is 0 everywhere"
)


class Moving(declared.Parameters):
    """Parameters of the sensitivity."""

    radius: str = Field(
        "0.1s",
        pattern=r"^\d{1,9}(\.\d{1,9})?s?$",
        description="How far an embedding's numbers move, at most; with an s in standard deviations of the word table.",
    )
    samples: int = Field(10, ge=1, le=1000, description="Points near the text.")

    def size(self, classifier: Classifier) -> float:
        """Return the radius in the unit of the embeddings."""
        return radius(self.radius, table_deviation(classifier))


class Subsets(declared.Parameters):
    """Parameters of the infidelity."""

    samples: int = Field(100, ge=1, le=10_000, description="Random subsets of the features.")
    scale: bool = Field(True, description="Scores may first be multiplied by the one factor that fits best.")


def _split(edits: Any) -> Any:
    return [part.strip() for part in edits.split("+")] if isinstance(edits, str) else edits


def _known(edits: tuple[str, ...]) -> tuple[str, ...]:
    if not edits or len(set(edits)) < len(edits) or not set(edits) <= EDITS.keys():
        raise PydanticCustomError("edits", "Give one or more of {edits}, each once", {"edits": ", ".join(EDITS)})
    return edits


class Editing(declared.Parameters):
    """Parameters of the stability under edits."""

    edits: Annotated[tuple[str, ...], BeforeValidator(_split), AfterValidator(_known)] = Field(
        MADE, description=f"What is changed, joined by plus: {', '.join(EDITS)}."
    )
    samples: int = Field(5, ge=1, le=100, description="Edited texts of each kind, fewer if there are not as many.")


P = TypeVar("P", bound=declared.Parameters)


class Stability(StabilityMetric[P]):
    """Base class of the three stability metrics."""

    family: ClassVar = "Stability"


class MaxSensitivity(Stability[Moving]):
    """The largest change of the map when the text's embeddings move a little."""

    Parameters: ClassVar = Moving
    id: ClassVar = "max_sensitivity"
    label: ClassVar = "Max-sensitivity"
    plain: ClassVar = "How far the scores move, at most, when the word embeddings move a little; lower is better."
    source: ClassVar = "Yeh et al. 2019, Definition 2"
    higher_is_better: ClassVar = False

    def definition(self, parameters: Moving) -> str:
        radius = parameters.radius
        reach = f"{radius[:-1]} standard deviations of the word table" if "s" in radius else radius
        return (
            f"The largest of ‖φ(x + u) − φ(x)‖ / ‖φ(x)‖ over {parameters.samples} draws of u, uniform within ±{reach} "
            "in every number of the text's own word embeddings; special tokens stay and are not counted. Each map has "
            f"a seed of its own. {_NOT_AGAIN}."
        )

    def inputs(self, parameters: Moving, features: int) -> int:
        """Return 0: no perturbed text is needed without a method."""
        return 0

    def explanations(self, parameters: Moving) -> int:
        """See :meth:`StabilityMetric.explanations`."""
        return parameters.samples

    def values(self, cases: Sequence[Case], again: Reexplainer, parameters: Moving) -> list[tuple[np.ndarray, int]]:
        width, size = again.classifier.model.word_embeddings.embedding_dim, parameters.size(again.classifier)
        shifts = []
        for case, seed in zip(cases, again.seeds, strict=True):
            content = np.flatnonzero(case.encoding.content)
            own = np.zeros((parameters.samples, len(case.encoding), width), dtype=np.float32)
            drawn = np.random.default_rng(seed).uniform(-size, size, (parameters.samples, len(content), width))
            own[:, content] = drawn
            shifts.append(own)
        values = []
        for case, moved in zip(cases, again.moved(shifts), strict=True):
            content = case.units.content
            each = [_moved(scores[content], maps, content) for scores, maps in zip(case.scores, moved, strict=True)]
            values.append((np.array(each), parameters.samples))
        return values


class Infidelity(Stability[Subsets]):
    """The error of sums of scores as predictions of the effect of masking."""

    Parameters: ClassVar = Subsets
    id: ClassVar = "infidelity"
    label: ClassVar = "Infidelity"
    plain: ClassVar = "How far sums of scores miss what masking those words does to the model; lower is better."
    source: ClassVar = "Yeh et al. 2019, Definition 1, with the removal of parts of the input (its square removal)"
    higher_is_better: ClassVar = False

    def definition(self, parameters: Subsets) -> str:
        factor = (
            "c the one factor, also a negative one, that makes the mean smallest, so that units and a reversed sign do "
            "not count"
            if parameters.scale
            else "c = 1, so that scores in another unit than F miss it"
        )
        return (
            f"The mean of (c Σᵢ∈S φᵢ − (F(x) − F(x without S)))² over {parameters.samples} random subsets S of the "
            f"features, none of them empty, special tokens apart; {factor}. F: the probability or logit that the "
            "method explains. Each token of S is replaced by the mask token."
        )

    def inputs(self, parameters: Subsets, features: int) -> int:
        return parameters.samples + 1

    def explanations(self, parameters: Subsets) -> int:
        """Return 0: only the model runs again, no method."""
        return 0

    def values(self, cases: Sequence[Case], again: Reexplainer, parameters: Subsets) -> list[tuple[np.ndarray, int]]:
        removed = [
            subsets(len(case.units.content), parameters.samples, np.random.default_rng(seed))
            for case, seed in zip(cases, again.seeds, strict=True)
        ]
        stays = []
        for case, gone in zip(cases, removed, strict=True):
            own = np.ones((1 + len(gone), len(case.units.features)), dtype=bool)
            own[1:, case.units.content] = ~gone
            stays.append(own)
        values = []
        for case, gone, explained in zip(cases, removed, again.explained(stays), strict=True):
            sums = case.scores[:, case.units.content] @ gone.T
            drops = explained[:, :1] - explained[:, 1:]
            squares = (sums * sums).sum(axis=1)
            fit = np.divide((sums * drops).sum(axis=1), squares, out=np.zeros(len(sums)), where=squares > 0)
            factor = fit if parameters.scale else np.ones(len(sums))
            values.append((((factor[:, None] * sums - drops) ** 2).mean(axis=1), len(gone)))
        return values


class EditStability(Stability[Editing]):
    """The correlation of word ranks between a text and slightly edited versions."""

    Parameters: ClassVar = Editing
    id: ClassVar = "edit_stability"
    label: ClassVar = "Edit stability"
    plain: ClassVar = (
        "How far the ranks of the words stay as they are in a text with a typo or a synonym; higher is better."
    )
    source: ClassVar = (
        "Ours, after the question of Alvarez-Melis and Jaakkola 2018, with edits that a person would make"
    )
    higher_is_better: ClassVar = True

    def definition(self, parameters: Editing) -> str:
        changes = "; ".join(EDITS[edit] for edit in parameters.edits)
        return (
            "The mean of Spearman's ρ between the scores of x and of x edited, over the words that both have, a word's "
            f"score the sum of its features'. Up to {parameters.samples} edits of each kind: {changes}. Only edits "
            "for which the model predicts the same class count; a text without any, or with fewer than two words in "
            f"common, has no value. Each map has a seed of its own. {_NOT_AGAIN}, or the same for all words."
        )

    def marks(self, parameters: Editing) -> Sequence[str]:
        """See :meth:`Metric.marks`."""
        return ("paraphrase",) if COLUMN in parameters.edits else ()

    def inputs(self, parameters: Editing, features: int) -> int:
        return parameters.samples * len(parameters.edits)

    def explanations(self, parameters: Editing) -> int:
        """See :meth:`StabilityMetric.explanations`."""
        return parameters.samples * len(parameters.edits)

    def values(self, cases: Sequence[Case], again: Reexplainer, parameters: Editing) -> list[tuple[np.ndarray, int]]:
        editor = Editor(again.classifier)
        texts = [
            editor.edited(case.encoding, parameters.edits, parameters.samples, seed) + _given(case, parameters)
            for case, seed in zip(cases, again.seeds, strict=True)
        ]
        values = []
        for case, versions in zip(cases, again.edited(texts), strict=True):
            original = _Words(case.encoding, case.units)
            rows = [_correlations(original, case.scores, version) for version in versions]
            values.append((_means(np.array(rows).reshape(len(rows), len(case.scores))), len(versions)))
        return values


def _given(case: Case, parameters: Editing) -> list[Text]:
    """Return the versions of the case's text that its data set has; raises :class:`RequestError` if there are none."""
    if COLUMN not in parameters.edits:
        return []
    if case.paraphrases is None:
        raise RequestError(
            f"edits={COLUMN} compares with a text's paraphrases, and nobody gave any.",
            f"Ask about a data set with a column paraphrase, or choose among {', '.join(MADE)}.",
        )
    return [(text, case.encoding.text_pair) for text in case.paraphrases[: parameters.samples]]


class _Words:
    """The words of a text, with the features that make them: tokens or words; or sentences, if these are scored."""

    def __init__(self, encoding: Encoding, units: Units) -> None:
        words = group(encoding, "word")
        finer = len(units.features) >= len(words.features)
        whole = words if finer else units
        self._content = whole.content
        self._count = len(whole.features)
        self._owners = np.zeros(len(units.features), dtype=np.int64)
        real = units.membership >= 0
        self._owners[units.membership[real]] = whole.membership[real]
        seen: dict[tuple[int, str], int] = {}
        self.names: list[tuple[int, str, int]] = []
        for i in self._content.tolist():
            feature = whole.features[i]
            name = (feature.part, feature.text.casefold())
            seen[name] = seen.get(name, 0) + 1
            self.names.append((*name, seen[name]))

    def scores(self, scores: np.ndarray) -> np.ndarray:
        """Return float64 [words]: the sums of the features' ``scores`` float64 [n_features]."""
        sums: np.ndarray = np.bincount(self._owners, scores, self._count)[self._content]
        return sums


def _correlations(original: _Words, scores: np.ndarray, version: Version) -> list[float]:
    """Return Spearman's rho [C] between the ``scores`` float64 [C, n_features] and the maps of a version; NaN without
    one.
    """
    edited = _Words(version.encoding, version.units)
    places = {name: i for i, name in enumerate(edited.names)}
    common = [(i, places[name]) for i, name in enumerate(original.names) if name in places]
    if len(common) < 2:
        return [np.nan] * len(scores)
    mine, theirs = np.array(common).T
    return [
        np.nan if own is None else float(spearman(original.scores(row)[mine], edited.scores(own)[None, theirs])[0])
        for row, own in zip(scores, version.maps, strict=True)
    ]


def _means(rows: np.ndarray) -> np.ndarray:
    """Return float64 [C]: the means of ``rows`` float64 [K, C] without NaN; NaN if nothing is left."""
    known = ~np.isnan(rows)
    counts = known.sum(axis=0)
    means: np.ndarray = np.divide(
        np.where(known, rows, 0.0).sum(axis=0), counts, out=np.full(rows.shape[1], np.nan), where=counts > 0
    )
    return means


def _moved(scores: np.ndarray, maps: np.ndarray | None, content: np.ndarray) -> float:
    """Return the largest distance of ``maps`` float64 [K, n_features] and ``scores`` float64 [n] by the ``content``."""
    size = float(np.linalg.norm(scores))
    if maps is None or not size:
        return float("nan")
    return float(np.linalg.norm(maps[:, content] - scores, axis=1).max()) / size


def subsets(n: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """Return bool [count, n]: random subsets of ``n`` features, uniform over all but the empty one."""
    drawn = generator.random((count, n)) < 0.5
    while (empty := ~drawn.any(axis=1)).any():
        drawn[empty] = generator.random((int(empty.sum()), n)) < 0.5
    return drawn
