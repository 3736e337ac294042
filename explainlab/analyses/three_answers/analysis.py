"""Three answers: erasure on a plain model, on one that knows masked texts, and Recursive ROAR; is their order alike?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy

from explainlab.analyses.base import AnalysisResult, Report, Requirements
from explainlab.analyses.data_analysis import Clock
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.records import Interval, as_interval
from explainlab.analyses.roar.analysis import Roar
from explainlab.analyses.roar.asking import GridQuestion, sample_of, setting_of
from explainlab.analyses.roar.judging import FEWEST_SEEDS, estimated
from explainlab.analyses.roar.nodes import Setting
from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.analyses.roar.result import MeasureFacts, RoarData
from explainlab.analyses.roar.verdict import as_estimate, whole_areas
from explainlab.analyses.summary import Measure, Number
from explainlab.analyses.three_answers.erasing import KINDS, Erased, Erasing, Kind
from explainlab.analyses.three_answers.parameters import ThreeAnswersParameters
from explainlab.analyses.three_answers.result import ANSWERS, Agreed, Placed, ThreeAnswersData
from explainlab.analyses.three_answers.verdict import lines, pair_name, verdict
from explainlab.attribution.registry import label_of
from explainlab.metrics.comparison import RESAMPLES, rank_correlations
from explainlab.metrics.registry import get_metric, parse_metric
from explainlab.models.context import RunContext, ignore
from explainlab.request import CompleteRequest, Request
from explainlab.result import Cost

DIGITS = 12
"""The decimal places in which equal means agree."""


class Ends(NamedTuple):
    """A value and the ends of its 95% interval, arrays of one shape; NaN is what is not known."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Compared(NamedTuple):
    """The ``means`` and ``ranks`` [3, M] of M measures by the three answers, and ``taus`` [3, 3] of each pair."""

    means: Ends
    ranks: Ends
    taus: Ends


def compared(erased: np.ndarray, faithful: np.ndarray, higher_is_better: bool, seed: int = 0) -> Compared:
    """Compare the answers of erasure on two models, and of faithfulness.

    ``erased`` float64 [2, S, T, M]: the metric of S seeds and T texts, on the plain and on the masked model.
    ``faithful`` float64 [S, M], NaN where it is not known; higher is better.

    The ends are percentiles (2.5 and 97.5) of 2,000 resamples (Efron 1979). Each draws T texts with replacement, the
    same for both models, and S seeds with replacement, the same for all three answers. Fewer than three seeds stay as
    they are: then faithfulness, and tau with it, has no interval.
    """
    _, seeds, texts, measures = erased.shape
    flat = erased.transpose(2, 0, 1, 3).reshape(texts, -1)
    signs = np.array([1.0 if higher_is_better else -1.0] * 2 + [1.0])[:, None]

    def means(of_seeds: np.ndarray, of_texts: np.ndarray) -> np.ndarray:
        by_seed = (of_texts @ flat).reshape(2, seeds, measures)
        erasure = np.tensordot(by_seed, of_seeds, axes=(1, 0))
        return np.vstack([erasure, _known_mean(faithful, of_seeds)]).round(DIGITS)

    def all_three(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        better = signs * values
        return values, scipy.stats.rankdata(-better, axis=1), rank_correlations(better)

    found = all_three(means(np.full(seeds, 1 / seeds), np.full(texts, 1 / texts)))
    resampled = zip(*(all_three(means(*drawn)) for drawn in _drawn(seeds, texts, seed)), strict=True)
    ends = [Ends(value, *_percentiles(np.stack(own))) for value, own in zip(found, resampled, strict=True)]
    if seeds < FEWEST_SEEDS:
        for own in ends:
            for end in (own.low, own.high):
                end[2] = np.nan
        ends[2].low[:, 2] = ends[2].high[:, 2] = np.nan
    return Compared(*ends)


def _drawn(seeds: int, texts: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the weights of seeds [S] and texts [T] in every resample."""
    rng = np.random.default_rng(seed)
    for _ in range(RESAMPLES):
        own = rng.integers(seeds, size=seeds) if seeds >= FEWEST_SEEDS else np.arange(seeds)
        yield (
            np.bincount(own, minlength=seeds) / seeds,
            np.bincount(rng.integers(texts, size=texts), minlength=texts) / texts,
        )


def _known_mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return float64 [M]: the weighted mean of the known of ``values`` float64 [S, M]; NaN where none is."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: np.ndarray = (weights @ np.where(known, values, 0.0)) / (weights @ known)
    return mean


def _percentiles(drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the ``drawn`` values [R, ...], where any resample knows one."""
    flat = drawn.reshape(len(drawn), -1)
    known = ~np.isnan(flat).all(axis=0)
    ends = np.full((2, flat.shape[1]), np.nan)
    ends[:, known] = np.nanpercentile(flat[:, known], [2.5, 97.5], axis=0)
    low, high = ends.reshape(2, *drawn.shape[1:])
    return low, high


_KNOWS_MASKS = (
    "The base has learned from masked texts before: the plain models may know them too, and the two answers by erasure "
    "may be more alike than for a base that never saw them."
)


class ThreeAnswers(GridQuestion[ThreeAnswersData]):
    """The order of measures by three answers to one question (do they find what a model needs?), with Kendall's tau.

    Each seed has two models: the grid's model of whole texts (plain), and one of the same recipe that learned half of
    each batch with a share of the tokens masked (masked). On both the erasure metric masks whole test texts by each
    measure's scores. The third answer is the faithfulness of Recursive ROAR over the whole area, by the grid of these
    parameters: the stored result of the study ``roar``, or else a new one. All three read the scores as the grid does:
    of the gold class, by |score| or by score.
    """

    Parameters = ThreeAnswersParameters
    id = "three_answers"
    label = "Three answers"
    source = (
        "Erasure: DeYoung et al. 2020; training with masks: Madsen et al. 2023 (arXiv 2310.07819); Recursive ROAR: "
        "Madsen et al. 2022, Eq. 3; their comparison is ours"
    )
    definition = (
        "τ_b of the measures' values by two answers (Kendall 1945): erasure is the mean over test texts and seeds, "
        "Recursive ROAR that of Eq. 3 over seeds, of random words 0. Its interval: percentiles of 2,000 resamples of "
        "the test texts, the same for both models, and of the seeds, the same for all answers; not of measures"
    )

    def requirements(self, parameters: RoarParameters) -> Requirements:
        """Return the needs of the grid, with the versions of its study and of the metric."""
        assert isinstance(parameters, ThreeAnswersParameters)
        grid, metric = super().requirements(parameters), get_metric(parse_metric(parameters.erasure).metric)
        return replace(grid, metrics=[metric.id], versions=[f"{Roar.id} {Roar.version}"])

    def train(self, request: CompleteRequest, context: RunContext, device: str) -> AnalysisResult[ThreeAnswersData]:
        """See :meth:`TrainsModels.train`."""
        parameters, clock = self.parameters(request), Clock(context)
        erasure = parse_metric(parameters.erasure)
        setting = setting_of(request, parameters, clock.context, device)
        get_metric(erasure.metric).require(setting.data.models, erasure.parameters)
        erasing = Erasing(setting, parameters, parameters.compared, erasure)
        grid = _grid(request, setting, erasing.work)
        body = _body(setting, parameters, grid, erasing.all())
        return AnalysisResult(
            request=request,
            body=body,
            sample=sample_of(setting, request.seed),
            cost=Cost(0, 0, clock.seconds),
            warnings=(*([_KNOWS_MASKS] if setting.data.models.masks else []), *setting.data.warnings),
            versions=self.versions_on(device, request.model),
        )

    def report(self, result: Any) -> Report:
        return Report(result, verdict(result.body), _lines, _numbers)


def _lines(result: AnalysisResult[ThreeAnswersData]) -> list[str]:
    """Return every measure by every answer, tau of each pair, and how well the two models read."""
    return lines(result.body)


def _numbers(result: AnalysisResult[ThreeAnswersData]) -> list[Number]:
    """Return Kendall's tau of each pair of answers."""
    measure = Measure("tau", "Kendall's tau of two answers", higher_is_better=True, spec=".2f")
    body = result.body
    return [Number(measure, tau, body.n, f"{tau.first}-{tau.second}", pair_name(tau)) for tau in body.taus]


def about_grid(grid: Request) -> CompleteRequest:
    """Build the question for the three answers about the ``grid`` that a request for the study ``roar`` describes.

    Raises :class:`RequestError` for a grid of too few measures, without Recursive ROAR, or whose models learn masks.
    """
    return ThreeAnswers().complete(Request(**{**dict(grid), "question": ThreeAnswers.id}))


def grid_of(request: Request) -> CompleteRequest:
    """Return the request for the grid of a question for the three answers."""
    own = {name: value for name, value in request.parameters.items() if name in RoarParameters.model_fields}
    return Roar().complete(Request(**{**dict(request), "question": Roar.id, "parameters": own}))


def _grid(request: CompleteRequest, setting: Setting, later: float) -> RoarData:
    """Return the grid's result, stored before or made and stored now; after it the run takes ``later`` work."""
    roar, asked, context = Roar(), grid_of(request), setting.context
    key = roar.key(asked, roar.model_digest(asked.model), context.reader)
    known = context.results.get_many([key]).get(key)
    if known is not None:
        context.progress.expect(later, exact=False)
        body: RoarData = roar.read(known).body
        return body

    def expect(work: float, exact: bool = True) -> None:
        context.progress.expect(work + later, exact=False)

    progress = replace(context.progress, expect=expect, show=ignore)
    result = roar.of_setting(asked, key, replace(setting, context=replace(context, progress=progress)))
    context.results.put_many({key: result.to_json()})
    return result.body


def _body(
    setting: Setting, parameters: ThreeAnswersParameters, grid: RoarData, erased: Mapping[Kind, list[Erased]]
) -> ThreeAnswersData:
    names, erasure = parameters.compared, parse_metric(parameters.erasure)
    areas = {row.measure: row for row in whole_areas(grid) if row.recursive}
    faithful = np.array([areas[name].seeds for name in names if name != RANDOM], dtype=np.float64).T
    faithful = np.column_stack([faithful, np.zeros(len(faithful))])
    values = np.array([[seed.values for seed in erased[kind]] for kind in KINDS])
    found = compared(values, faithful, erasure.higher_is_better)
    told = {**{name: as_estimate(area) for name, area in areas.items()}, RANDOM: as_interval(0.0)}
    performance = {kind: estimated([seed.performance for seed in erased[kind]]) for kind in KINDS}
    return ThreeAnswersData(
        base=setting.base,
        metric=parameters.metric,
        erasure=erasure.name,
        erasure_label=erasure.label,
        erasure_definition=erasure.definition,
        higher_is_better=erasure.higher_is_better,
        n=len(setting.data.splits["test"]),
        seeds=setting.grid.seeds,
        ratios=setting.grid.steps,
        counted=setting.grid.counted,
        measures=[MeasureFacts(name=name, label=label_of(name), random=name == RANDOM) for name in names],
        plain=performance["plain"],
        masked=performance["masked"],
        places=_places(names, found, told),
        taus=_taus(found),
        unknown=grid.failed,
    )


def _places(names: list[str], found: Compared, areas: Mapping[str, Interval]) -> list[Placed]:
    """Return every measure by every answer; ``areas`` are the values of Recursive ROAR as its own study gives them."""
    places = []
    for row, answer in enumerate(ANSWERS):
        for column, name in enumerate(names):
            value = areas[name] if answer == "roar" else _interval(found.means, row, column)
            rank = _interval(found.ranks, row, column)
            places.append(Placed(answer=answer, measure=name, rank=rank, **value.model_dump()))
    return places


def _taus(found: Compared) -> list[Agreed]:
    return [
        Agreed(first=ANSWERS[i], second=ANSWERS[j], **_interval(found.taus, i, j).model_dump())
        for i, j in combinations(range(len(ANSWERS)), 2)
    ]


def _interval(ends: Ends, row: int, column: int) -> Interval:
    mean, low, high = (None if np.isnan(own[row, column]) else float(own[row, column]) for own in ends)
    return Interval(mean=mean, low=low, high=high)
