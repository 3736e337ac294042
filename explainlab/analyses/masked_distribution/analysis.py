"""Masked distribution: whether masked texts look like training texts to a model, by masking ratio and baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError
from torch import Tensor

from explainlab import declared
from explainlab.analyses.base import AnalysisResult, Record, Report, Requirements
from explainlab.analyses.data_analysis import DataAnalysis, DataSubject
from explainlab.analyses.errors.analysis import accuracy_of
from explainlab.analyses.masked_distribution.result import (
    LEVEL,
    NAMES,
    Baseline,
    MaskedDistributionData,
    Masks,
    OfBaseline,
    Rejected,
    RejectedAt,
    verdict,
)
from explainlab.analyses.masked_distribution.versions import (
    HALF,
    PHASE,
    WHOLE,
    Version,
    as_in_training,
    features,
    masked_version,
    orders,
    shuffled_version,
    training_masks,
)
from explainlab.analyses.parameters import Counts, Sample, listed, split
from explainlab.analyses.summary import Measure, Number, interval, table
from explainlab.errors import RequestError, TextError, UnsupportedError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import FORWARD, PassCount
from explainlab.request import CompleteRequest, Request, digest
from explainlab.text.encoding import Encoding
from explainlab.training import TrainingSettings


def simes(p: np.ndarray) -> np.ndarray:
    """Return Simes' combination of p-values float64 [..., n] over the last axis: min_i n p_(i) / i, float64 [...]."""
    n = p.shape[-1]
    smallest: np.ndarray = (np.sort(p, axis=-1) * (n / np.arange(1, n + 1))).min(axis=-1)
    return smallest


def fisher(p: np.ndarray) -> np.ndarray:
    """Return Fisher's statistic of p-values float64 [..., n] above 0 over the last axis: -2 Σ ln p, float64 [...]."""
    statistic: np.ndarray = -2 * np.log(p).sum(axis=-1)
    return statistic


class Masf:
    """The p-values of texts among m reference texts, from their features float32 [n, layers, units].

    Of a unit: twice the share of the reference texts with so large a value, or with so small a one, whichever is less.
    Of a layer: Simes over its units, and the share of the reference texts for which that is as small. Of a text: Fisher
    over the layers, and the share of the reference texts for which that is as large. Every text counts itself among the
    reference texts, so that no p-value is 0.
    """

    def __init__(self, reference: Tensor) -> None:
        """Sort the ``reference``, the features [m, layers, units]."""
        self._m = len(reference)
        self._units = [layer.T.contiguous().sort(dim=-1).values for layer in reference.unbind(1)]
        own = self._simes(reference, itself=0)
        self._simes_values = np.sort(own, axis=0)
        self._statistics = np.sort(fisher(self._layers(own, itself=0)))

    def p_values(self, features: Tensor) -> np.ndarray:
        """Return the p-value of every text, float64 [n] in (0, 1]."""
        statistics = fisher(self._layers(self._simes(features, itself=1), itself=1))
        as_large = self._m - np.searchsorted(self._statistics, statistics, side="left")
        p: np.ndarray = (as_large + 1) / (self._m + 1)
        return p

    def _simes(self, features: Tensor, itself: int) -> np.ndarray:
        """Return Simes' values, float64 [n, layers]; ``itself``: 1 for texts outside the reference texts, else 0."""
        values = [simes(self._two_sided(*own, itself)) for own in zip(features.unbind(1), self._units, strict=True)]
        return np.stack(values, axis=1)

    def _two_sided(self, values: Tensor, known: Tensor, itself: int) -> np.ndarray:
        """Return p-values float64 [n, units] of a layer's ``values`` [n, units] among the ``known``, sorted [units, m].

        The denominator is m + 1 for reference texts too: equal ranks have to be ties.
        """
        own = values.T.contiguous()
        as_small = torch.searchsorted(known, own, right=True)
        as_large = self._m - torch.searchsorted(known, own)
        p = 2 * (torch.minimum(as_small, as_large) + itself).T.double() / (self._m + 1)
        return p.clamp(max=1).numpy()

    def _layers(self, simes_values: np.ndarray, itself: int) -> np.ndarray:
        """Return for each of the ``simes_values`` [n, layers] the share that is as small, float64 [n, layers]."""
        columns = zip(self._simes_values.T, simes_values.T, strict=True)
        as_small = [np.searchsorted(known, own, side="right") for known, own in columns]
        return (np.stack(as_small, axis=1) + itself) / (self._m + 1)


MOST_ROWS = 20_000
LEAST = 20
"""Fewer reference texts can give no p-value of 5%."""
_TOGETHER = 2_000
"""Versions that are read together, from several conditions of few texts: sorting many by length saves padding."""
_STORED = "masked_distribution/1"  # part of the storage key: rises when the stored format changes


def _ratios(ratios: list[int]) -> list[int]:
    if not ratios or ratios != sorted(set(ratios)) or ratios[0] < 1 or ratios[-1] > 100:
        raise PydanticCustomError("ratios", "Give masking ratios from 1 to 100 in rising order, each once, as 10,50,90")
    return ratios


def _baselines(names: list[Baseline]) -> list[Baseline]:
    if not names or len(set(names)) < len(names):
        raise PydanticCustomError("baselines", "Give one or more baselines, each once")
    return names


Condition = tuple[Baseline | Literal["alike", "shuffled"], int]
"""The treatment of the checked texts: a baseline for tokens, at a ratio in per cent; the treatment of the reference
texts (alike); or a random order of their tokens (shuffled)."""


class _Found(Record):
    """The p-values ``p`` [n] of the checked texts under one condition, over ``layers`` layers."""

    layers: int
    p: list[float]


class MaskedDistribution(DataAnalysis[MaskedDistributionData]):
    """The share of texts that MaSF tells apart at 5% from texts like those of the training, with Wilson's interval.

    Half of the rows, drawn by the seed, form the reference: they are masked as the training masked its texts. Of the
    others a share of the content tokens is masked, in an order drawn once for all ratios, so that the masks of rising
    ratios are nested. Features: the output of every layer in the row that the head reads.
    """

    class Parameters(declared.Parameters):
        ratios: Annotated[Counts, BeforeValidator(split), AfterValidator(_ratios)] = Field(
            list(range(10, 101, 10)), description="Shares of a text's tokens that are masked, in per cent: 10,50,90."
        )
        baselines: Annotated[
            list[Baseline], Field(max_length=5), BeforeValidator(listed), AfterValidator(_baselines)
        ] = Field(
            ["mask", "pad", "unk", "zero", "delete"],
            description="What takes the place of tokens: mask, pad, unk, zero, delete; the answer is about the first.",
        )
        masks: Masks = Field(
            "trained",
            description="How the reference texts are masked: as in the model's training if its files tell (trained), "
            "not at all (none), or half of them at any ratio (half).",
        )
        rows: int = Field(
            1_000, ge=1, le=MOST_ROWS, description="Texts of a data set: half are the reference, half are checked."
        )
        sample: Sample = "first"

    id = "masked_distribution"
    label = "Masked texts in distribution"
    source = "Madsen et al. 2023 (arXiv 2310.07819), section 3.3; MaSF: Haroush et al. 2022"
    definition = (
        "share of texts with p ≤ 5%: p of Fisher's -2 Σ ln p_l over layers l, p_l of Simes' min_i n p_(i) / i over "
        "units, p of a unit on two sides; all are ranks among the reference texts"
    )

    def of_data(self, subject: DataSubject, parameters: Parameters) -> MaskedDistributionData:
        check = _Check.of(subject, parameters)
        baselines, left_out = _known(subject.classifier, parameters.baselines)
        conditions: list[Condition] = [(baseline, ratio) for baseline in baselines for ratio in parameters.ratios]
        found = check.all([("alike", 0), ("mask", 0), ("shuffled", 0), *conditions])
        alike, whole, shuffled, *masked = (np.array(own.p) <= LEVEL for own in found)
        by_baseline = np.stack(masked).reshape(len(baselines), len(parameters.ratios), -1)
        return MaskedDistributionData(
            n=len(check.checked),
            reference=len(check.reference),
            layers=found[0].layers,
            masks=parameters.masks,
            told=check.told,
            alike=_rejected(alike),
            whole=_rejected(whole),
            shuffled=_rejected(shuffled),
            baselines=[
                OfBaseline(
                    baseline=baseline,
                    ratios=[
                        RejectedAt(ratio=ratio, **_rejected(own).model_dump())
                        for ratio, own in zip(parameters.ratios, rejected, strict=True)
                    ],
                    overall=interval(rejected.mean(axis=0).tolist()),
                )
                for baseline, rejected in zip(baselines, by_baseline, strict=True)
            ],
            left_out=left_out,
        )

    def requirements(self, parameters: Parameters) -> Requirements:
        versions = _versions(parameters)
        return Requirements(
            gradients=round(versions * FORWARD),
            count_passes=lambda text, depth: PassCount((1 + versions) / 2),  # half of the texts are read once
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines, _numbers)


def _headline(result: AnalysisResult[MaskedDistributionData]) -> str:
    """Say up to which share masked texts look like training texts, beside chance."""
    return " ".join([verdict(result.body), *(f"Left out: {reason}" for reason in result.body.left_out)])


def _lines(result: AnalysisResult[MaskedDistributionData]) -> list[str]:
    """Return a line a baseline and ratio, below those of whole and shuffled texts."""
    body = result.body
    rows = [("as reference", 0, body.alike), ("none", 0, body.whole), ("shuffled", 0, body.shuffled)]
    rows += [(own.baseline, at.ratio, at) for own in body.baselines for at in own.ratios]
    return [
        table(
            [
                {
                    "baseline": baseline,
                    "masked": f"{ratio}%",
                    "told apart": f"{own.mean:.3f} [{own.low:.3f}, {own.high:.3f}]",
                    "n": body.n,
                }
                for baseline, ratio, own in rows
            ]
        )
    ]


def _numbers(result: AnalysisResult[MaskedDistributionData]) -> list[Number]:
    """Return by baseline the share of the ratios that tell a text apart."""
    body = result.body
    measure = Measure("told_apart", "Masked texts told apart", False, ".1%")
    return [Number(measure, own.overall, body.n, own.baseline, NAMES[own.baseline]) for own in body.baselines]


def _versions(parameters: MaskedDistribution.Parameters) -> int:
    """Return the largest number of versions of a checked text."""
    return 3 + len(parameters.ratios) * len(parameters.baselines)


def check_of(request: Request, data: str) -> CompleteRequest:
    """Return the check of the model of ``request`` on the data set ``data`` that pages run, whatever else it asks."""
    fields = request.model_dump(include={"model", "dtype"})
    fields |= request.model_dump(include={"columns", "classes"}) if data == request.data else {}
    asked = Request(question=MaskedDistribution.id, **fields, data=data, parameters={"sample": "random"})
    return MaskedDistribution().complete(asked)


def _known(classifier: Classifier, baselines: Sequence[Baseline]) -> tuple[list[Baseline], list[str]]:
    """Split ``baselines`` into those that the model has and reasons for the others; raises RequestError for none."""
    known, left_out = [], []
    for baseline in baselines:
        try:
            if baseline in ("mask", "pad", "unk"):
                classifier.filler_id(baseline)
            known.append(baseline)
        except UnsupportedError as error:
            left_out.append(f"{baseline}: {error.problem}")
    if not known:
        raise RequestError(f"No baseline is left. {left_out[0]}", "Add mask, zero or delete.")
    return known, left_out


def _rejected(rejected: np.ndarray) -> Rejected:
    """Return the count and the share of ``rejected`` bool [n]."""
    return Rejected(count=int(rejected.sum()), **accuracy_of(int(rejected.sum()), len(rejected)).model_dump())


@dataclass(eq=False)
class _Check:
    """The texts of the ``reference``, masked by ``settings``, and those that are ``checked``.

    ``told``: the model's files state how its training masked its texts.
    """

    subject: DataSubject
    batcher: Batcher
    reference: Sequence[Encoding]
    checked: Sequence[Encoding]
    settings: TrainingSettings
    told: bool

    @classmethod
    def of(cls, subject: DataSubject, parameters: MaskedDistribution.Parameters) -> _Check:
        """Split the rows that the model can read into two halves; raises :class:`RequestError` for too few."""
        told, texts = training_masks(subject.classifier), []
        for row in subject.rows:
            try:
                texts.append(subject.classifier.encode(row.text, row.text_pair))
            except TextError as error:
                subject.skipped.append((row.number, error.problem))
        half = len(texts) // 2
        if half < LEAST:
            raise RequestError(
                f"{len(texts):,} rows that can be read are too few: half are the reference, of at least {LEAST}.",
                "Ask for more rows, or name a larger file.",
            )
        order = np.random.default_rng(subject.request.seed).permutation(len(texts)).tolist()
        settings = {"trained": told or WHOLE, "none": WHOLE, "half": HALF}[parameters.masks]
        batcher = Batcher(subject.classifier, subject.context)
        first, second = ([texts[i] for i in part] for part in (order[:half], order[half:]))
        return cls(subject, batcher, first, second, settings, told is not None)

    def all(self, conditions: Sequence[Condition]) -> list[_Found]:
        """Return the findings under each of ``conditions``; those in the subject's context are not computed again."""
        context = self.subject.context
        keys = [digest([_STORED, *self._identity, *condition]) for condition in conditions]
        known = {key: _Found.model_validate(note) for key, note in context.cache.get_many(keys).items()}
        waiting = [place for place, key in enumerate(keys) if key not in known]
        if waiting:
            work = FORWARD * sum(map(len, self.checked))
            first = FORWARD * sum(map(len, self.reference))
            context.progress.expect(first + work * len(waiting))
            context.progress.part(first)
            with self.batcher.span(0, 1, 1 + len(waiting)):
                masf, layers = self._masf()
        each = max(1, _TOGETHER // len(self.checked))
        for start in range(0, len(waiting), each):
            places = waiting[start : start + each]
            context.progress.part(work * len(places))
            with self.batcher.span(1 + start, 1 + start + len(places), 1 + len(waiting)):
                versions = [version for place in places for version in self._versions(*conditions[place])]
                own = features(self.batcher, versions).split(len(self.checked))
            for place, found in zip(places, own, strict=True):
                known[keys[place]] = _Found(layers=layers, p=masf.p_values(found).tolist())
                context.keep(keys[place], known[keys[place]].model_dump())
        self.batcher.finish(PHASE)
        self.subject.forward += len(self.reference) + len(conditions) * len(self.checked)
        self.subject.warnings += self.batcher.warnings
        return [known[key] for key in keys]

    def _masf(self) -> tuple[Masf, int]:
        """Return the reference and the number of layers."""
        found = features(self.batcher, self._as_in_training(self.reference, self.subject.request.seed))
        return Masf(found), found.shape[1]

    def _versions(self, name: Baseline | Literal["alike", "shuffled"], ratio: int) -> list[Version]:
        if name == "alike":
            return self._as_in_training(self.checked, self.subject.request.seed + 1)
        pairs = list(zip(self.checked, orders(self.checked, self.subject.request.seed), strict=True))
        if name == "shuffled":
            return [shuffled_version(*pair) for pair in pairs]
        return [masked_version(self.subject.classifier, *pair, ratio, name) for pair in pairs]

    def _as_in_training(self, texts: Sequence[Encoding], seed: int) -> list[Version]:
        return as_in_training(self.subject.classifier, texts, self.settings, seed)

    @cached_property
    def _identity(self) -> list[Any]:
        """All that decides the p-values beside the condition."""
        classifier = self.subject.classifier
        texts = [[text.ids.tolist() for text in part] for part in (self.reference, self.checked)]
        masks = self.settings.model_dump(include={"masking", "mask_share", "heavy_mask"})
        return [classifier.digest, str(classifier.dtype), self.subject.request.seed, masks, digest(texts)]
