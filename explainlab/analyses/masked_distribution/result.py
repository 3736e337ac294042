"""The typed result of the check whether masked texts look like training texts to a model."""

from __future__ import annotations

from typing import Literal

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval

Masks = Literal["trained", "none", "half"]
Baseline = Literal["mask", "pad", "unk", "zero", "delete"]


class Rejected(Record):
    """The number of texts with a p-value of at most 5%, and their share ``mean`` with Wilson's 95% interval."""

    count: int
    mean: float
    low: float
    high: float


class RejectedAt(Rejected):
    """The same at a masking ``ratio`` in per cent."""

    ratio: int


class OfBaseline(Record):
    """The results for one ``baseline``; ``overall``: the share of the ratios at which a text is rejected."""

    baseline: Baseline
    ratios: list[RejectedAt]
    overall: Interval


class MaskedDistributionData(Record):
    """The check of ``n`` texts against ``reference`` other texts of the same data set, in ``layers`` layers.

    ``masks``: how the reference texts were masked: as in the model's training (trained), not at all (none), or half of
    them (half). ``told``: the model's files state how the training masked its texts (else no masks are assumed).
    ``alike``: the checked texts masked as the reference texts are, of which chance tells 5% apart; ``whole``: as they
    are; ``shuffled``: with their tokens in random order. ``left_out``: baselines that the model lacks, and why.
    """

    n: int
    reference: int
    layers: int
    masks: Masks
    told: bool
    alike: Rejected
    whole: Rejected
    shuffled: Rejected
    baselines: list[OfBaseline]
    left_out: list[str]
