"""Progressive inference: the intermediate predictions of a causal decoder, read after every feature."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from scipy.optimize import nnls
from scipy.special import gammaln

from explainlab import declared
from explainlab.attribution.method import (
    BASELINE_HELP,
    Baseline,
    BaselineData,
    Budget,
    Method,
    Outcome,
    TextSize,
    budgeted,
    counted,
)
from explainlab.attribution.methods.kernel_shap import constrained
from explainlab.attribution.subject import Subject
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount

Distribution = Literal["shapley", "optimized"]
Weights = Literal["none", "coalition", "class"]

RESOLUTION = 40
"""Most sizes and last features that the optimisation separates; beyond it neighbours share a cell."""
MIXED = 0.05
"""Share of the optimised masses that is spread evenly, so that every coalition can be read."""


def shapley_masses(n: int) -> np.ndarray:
    """Return float64 [n - 1, n], sum 1: the Shapley kernel by size and last feature (Eq. 13).

    A size i has the mass 1 / (C i (n - i)), and (i, j) the share C(j - 1, i - 1) / C(n, i) of it; none where j < i.
    """
    size, last = np.ogrid[1:n, 1 : n + 1]
    masses: np.ndarray = np.exp(_log_kernel(n)[:, None] + _log_binomial(last - 1, size - 1))
    return masses


@lru_cache(maxsize=32)
def optimized_masses(n: int) -> np.ndarray:
    """Return float64 [n - 1, n], sum 1: masses whose readings come nearest to the Shapley kernel (Eq. 16).

    Non-negative least squares, then renormalised and mixed with :data:`MIXED` of even masses. Beyond :data:`RESOLUTION`
    features, neighbouring sizes and neighbouring last features share cells; within a cell, masses keep the proportions
    of the Shapley kernel. Cached by n, so read-only.
    """
    target = shapley_masses(n)
    if n == 1:
        return target
    size, last = np.ogrid[1:n, 1 : n + 1]
    reachable, bins = size <= last, min(n, RESOLUTION)
    number = (size - 1) * bins // n * bins + (last - 1) * bins // n
    cell = np.unique(number[reachable], return_inverse=True)[1]
    wanted = np.bincount(cell, target[reachable])
    share = target[reachable] / np.maximum(wanted, np.finfo(float).tiny)[cell]
    readings = (size + n - last)[reachable]
    design = np.empty((len(wanted), len(wanted)))
    for c in range(len(wanted)):
        unit = _placed(share * (cell == c) / readings, reachable)
        design[:, c] = np.bincount(cell, occurrences(unit)[reachable])
    solution = nnls(design, wanted)[0]
    even = MIXED / len(cell)
    masses = _placed((1 - MIXED) * (solution / solution.sum())[cell] * share + even, reachable)
    masses.flags.writeable = False
    return masses


def occurrences(masses: np.ndarray) -> np.ndarray:
    """Return float64 [n - 1, n]: expected number of readings of a pass at size k and last feature l.

    Before j, the k-th kept feature is at l by the corrected Eq. 14, C(l - 1, k - 1) C(j - l - 1, i - k - 1) / C(j - 1,
    i - 1); from j on every feature is kept. Over the i + n - j readings of (i, j) these are the rows of the corrected
    Eq. 17. Summed feature by feature from the end, in n steps.
    """
    n = masses.shape[1]
    size, last = np.ogrid[1:n, 1 : n + 1]
    expected: np.ndarray = size / last * _open(masses)[1:, 1:]
    run = np.zeros(n - 1)
    for j in range(n):
        run = masses[:, j] + np.concatenate([[0.0], run[:-1]])
        expected[:, j] += run
    return expected


def draws(masses: np.ndarray, passes: int, seed: int) -> np.ndarray:
    """Return bool [passes, n]: the features that each pass keeps, also those after j; no pass if n is 1.

    With the same seed, more passes begin with the same ones.
    """
    n = masses.shape[1]
    if n == 1:
        return np.zeros((0, 1), dtype=bool)
    uniform = np.random.default_rng(seed).random((passes, n + 1))
    total = masses.ravel().cumsum()
    state = np.searchsorted(total / total[-1], uniform[:, 0], side="right")
    others, last = (index[:, None] for index in np.unravel_index(state, masses.shape))
    before = np.arange(n) < last
    rank = np.where(before, uniform[:, 1:], np.inf).argsort(axis=1).argsort(axis=1)
    keep: np.ndarray = (rank < others) | ~before
    return keep


def reading_weights(keep: np.ndarray, masses: np.ndarray, kind: Weights) -> np.ndarray:
    """Return float64 [B, n]: the weight of the reading after each feature of the passes ``keep`` bool [B, n].

    0 without a reading: at masked features, and at the last feature of the full text. ``none``: 1 elsewhere. ``class``:
    the paper's P*_kl / P^D_kl with the corrected Eq. 17. ``coalition``: up to a factor, the coalition's Shapley kernel
    over its expected readings per pass, so that many passes lead to the Shapley values.
    """
    n = keep.shape[1]
    size = keep.cumsum(axis=1)
    read: np.ndarray = keep & (size < n)
    if kind == "none" or not read.any():
        return read.astype(np.float64)
    if kind == "class":
        i, j = np.ogrid[1:n, 1 : n + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            table = shapley_masses(n) / occurrences(masses / (i + n - j))
        return np.where(read, table[np.clip(size, 1, n - 1) - 1, np.arange(n)], 0.0)
    logs = np.where(read, _log_coalition_weights(keep, masses), -np.inf)
    weights: np.ndarray = np.exp(logs - logs.max())
    return weights


def normal_equations(keep: np.ndarray, gains: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Gram matrix [n, n] and moments [n] of the regression of all readings on their coalitions.

    ``gains`` [B, n]: readings after each feature of the passes ``keep`` bool [B, n]; ``weights`` [B, n]: their weights.
    Σ w 1_S 1_Sᵀ and Σ w g 1_S over the coalitions S up to each feature. Two features are both in the coalitions read
    from the later feature on, so cumulative sums from the end replace a loop over readings.
    """
    kept = keep.astype(np.float64)
    upper = np.triu(kept.T @ (kept * _from_the_end(weights)))
    return upper + np.triu(upper, 1).T, (kept * _from_the_end(weights * gains)).sum(axis=0)


def _placed(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return ``values`` where ``where`` is true, 0 elsewhere."""
    full = np.zeros(where.shape)
    full[where] = values
    return full


def _open(masses: np.ndarray) -> np.ndarray:
    """Return float64 [n, n + 1]: at [k, l] the mass of the passes with k of the first l features drawn and j after l.

    Feature l + 1 is j, or drawn and not j, or not drawn; the first two have the share (k + 1) / (l + 1).
    """
    n = masses.shape[1]
    opened = np.zeros((n, n + 1))
    k = np.arange(n - 1)
    for l in range(n - 1, -1, -1):  # noqa: E741  the paper's letter
        drawn = (k + 1) / (l + 1)
        opened[:-1, l] = masses[:, l] + drawn * opened[1:, l + 1] + (1 - k / (l + 1)) * opened[:-1, l + 1]
    return opened


def _log_coalition_weights(keep: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return float64 [B, n]: log of each coalition's Shapley kernel over its expected number of readings per pass.

    A coalition of size k with last feature l is read where j comes after l, and where j is in the run of consecutive
    features that ends at l, as all features after j are kept.
    """
    n = keep.shape[1]
    size, last = np.ogrid[1:n, 1 : n + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        later = np.log(_open(masses)[1:, 1:]) - _log_binomial(last, size)
        drawn = np.log(masses) - _log_binomial(last - 1, size - 1)
    kernel = _log_kernel(n)
    row = np.clip(keep.cumsum(axis=1), 1, n - 1) - 1
    logs, run = np.empty(keep.shape), np.full(len(keep), -np.inf)
    for j in range(n):
        run = np.where(keep[:, j], np.logaddexp(run, drawn[row[:, j], j]), -np.inf)
        logs[:, j] = kernel[row[:, j]] - np.logaddexp(run, later[row[:, j], j])
    return logs


def _log_kernel(n: int) -> np.ndarray:
    """Return float64 [n - 1]: log of the Shapley kernel's mass of a coalition of each size from 1."""
    size = np.arange(1, n)
    mass = 1 / (size * (n - size))
    logs: np.ndarray = np.log(mass / mass.sum()) - _log_binomial(np.array(n), size)
    return logs


def _log_binomial(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return log C(n, k), -inf for k > n."""
    lower = np.minimum(n, k)
    return np.where(k > n, -np.inf, gammaln(n + 1) - gammaln(lower + 1) - gammaln(n - lower + 1))


def _from_the_end(values: np.ndarray) -> np.ndarray:
    """Return sums of [B, n] over each feature and all later features."""
    return values[:, ::-1].cumsum(axis=1)[:, ::-1]


class SinglePass(Method):
    """Each feature's change of the prediction when it is read: the difference of consecutive intermediate predictions.

    One pass, and for ``start=masked`` a second in the same batch. Tokens that the tokenizer adds at the end belong to
    the last feature, so that the last prediction is the model's own.
    """

    class Parameters(declared.Parameters):
        start: Literal["masked", "prefix", "zero"] = Field(
            "masked",
            description="What the first feature is compared with: the fully masked text, "
            "what the model says before it, or zero.",
        )
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "sp_pi"
    label: ClassVar = "Progressive inference, single pass"
    plain: ClassVar = (
        "Reads the text from left to right and credits each word with how it moves the prediction when it is read."
    )
    good_for: ClassVar = "Seeing where in the text a language model makes up its mind."
    adds_up: ClassVar = True
    family: ClassVar = "Perturbation"
    source: ClassVar = "Kariyappa et al. 2024 (SP-PI), Eq. 6; what p₀ is: ours"
    definition: ClassVar = "φᵢ = pᵢ − pᵢ₋₁, pᵢ read at the last token of feature i, p₀ = F(all masked)"
    needs: ClassVar = ("causal decoder",)
    output: ClassVar = "logit"

    @classmethod
    def ineffective_parameters(cls, parameters: Parameters) -> frozenset[str]:
        return frozenset() if parameters.start == "masked" else frozenset({"baseline", "baseline_data"})

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount(2 if parameters.start == "masked" else 1)

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        positions, texts = subject.units.content_ends, [subject.embeddings]
        if parameters.start == "prefix":
            positions = np.concatenate([[_before(subject)], positions])
        if parameters.start == "masked":
            texts.append(subject.baseline(parameters.baseline))
        points = torch.stack(texts)
        read = subject.readings(lambda part: points[part], len(points), positions)
        first = {"masked": read[-1, -1], "prefix": read[0, 0], "zero": 0.0}[parameters.start]
        predictions = read[0, -len(subject.units.content) :]
        scores = np.diff(predictions, prepend=first)
        return Outcome(
            subject.units.spread(scores),
            expected=float(predictions[-1] - first),
            warnings=prompt_warning(subject.classifier),
            rounding_scale=2 * subject.rounding_scale,
        )


class MultiPass(Method):
    """Shapley values regressed on the intermediate predictions of many masked passes, under the exact sum.

    Each pass keeps a drawn coalition and everything after its last feature, and is read after every feature it keeps;
    see :mod:`explainlab.attribution.methods.progressive`. A coalition that several passes read counts each time. The
    fully masked and the untouched text are run beside the passes; equal passes are run once.
    """

    class Parameters(declared.Parameters):
        passes: Budget = Field(
            "2n",
            description="Masked texts to run besides the empty and the full one: 2n, 16n (n features) or a number.",
        )
        distribution: Distribution = Field(
            "shapley",
            description="How they are drawn: by the Shapley kernel, or so that what is read comes near to it.",
        )
        weights: Weights = Field(
            "none",
            description="Correct how often coalitions are read: not at all, each by itself (exact, needs many "
            "passes), or by size and last feature as in the paper.",
        )
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "mp_pi"
    label: ClassVar = "Progressive inference, multiple passes"
    plain: ClassVar = (
        "Reads many partly hidden versions of the text from left to right and shares the prediction out fairly."
    )
    good_for: ClassVar = "Language models, where one reading from left to right is too coarse."
    adds_up: ClassVar = True
    family: ClassVar = "Perturbation"
    source: ClassVar = "Kariyappa et al. 2024 (MP-PI), Algorithm 1, Eq. 11, 13, 16; Eq. 14 and 17 corrected"
    definition: ClassVar = "φ = argmin Σ_S w(S) (p_S − F(∅) − Σ_{i∈S} φᵢ)², Σφ = F(x) − F(∅), S read in all passes"
    random: ClassVar = True
    deduplicates: ClassVar = True
    needs: ClassVar = ("causal decoder",)
    output: ClassVar = "logit"

    @classmethod
    def is_random(cls, subject: Subject, parameters: Parameters) -> bool:
        """Return False with a single feature, for which no pass is drawn; else True."""
        return len(subject.units.content) > 1

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        n = text.features
        return PassCount(min(budgeted(parameters.passes, n) + 2, 1 << n))

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        units = subject.units
        n = len(units.content)
        passes = counted(parameters.passes, n, "mp_pi: passes", subject.classifier.limits)
        masses = (optimized_masses if parameters.distribution == "optimized" else shapley_masses)(n)
        drawn = draws(masses, passes, subject.seed)
        ends = np.array([[True], [False]]).repeat(n, axis=1)
        distinct, back = np.unique(~np.concatenate([ends, drawn]), axis=0, return_inverse=True)  # the text comes first
        points = subject.versions(~distinct, parameters.baseline)
        read = subject.readings(points, len(distinct), units.content_ends)[back]
        empty, full = read[1, -1], read[0, -1]
        weights = reading_weights(drawn, masses, parameters.weights)
        scores = constrained(*normal_equations(drawn, read[2:] - empty, weights), full - empty)
        warnings = (*prompt_warning(subject.classifier), *_warnings(n, parameters))
        return Outcome(
            units.spread(scores),
            expected=float(full - empty),
            warnings=warnings,
            rounding_scale=2 * subject.rounding_scale,
        )


def prompt_warning(classifier: Classifier) -> tuple[str, ...]:
    """Warn if a prompt continues after the text."""
    if not classifier.architecture.is_generative or not classifier.prompt or not classifier.prompt.goes_on:
        return ()
    return (
        "The prompt asks for the label words only at its end, after the text: what is read before that answers a "
        "question that has not been asked yet.",
    )


def _before(subject: Subject) -> int:
    """Return the position before the first feature; raises :class:`UnsupportedError` if there is none."""
    first = int(np.flatnonzero(subject.encoding.content)[0])
    if first == 0:
        raise UnsupportedError(
            f"Nothing stands before the first feature: the tokenizer of {subject.classifier.id} puts no token there.",
            "Choose start masked or zero.",
        )
    return first - 1


def _warnings(n: int, parameters: MultiPass.Parameters) -> tuple[str, ...]:
    if parameters.distribution == "optimized" and n > RESOLUTION:
        return (
            f"The optimised distribution is coarse: the {n} features are too many to tell apart, so neighbouring ones "
            f"share one of {RESOLUTION} cells.",
        )
    return ()
