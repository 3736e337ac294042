"""Presets for published codes, which define the same metrics differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

PresetId = Literal["rpi", "dig_sig", "ferret", "eraser", "alti", "thesis"]
Removal = Literal["delete", "mask"]
Filler = Literal["mask", "pad", "unk"]
"""The token in place of each hidden token."""
Divisor = Literal["bins", "bins_plus_one"]
Rounding = Literal["down", "up", "removed_up"]
Empty = Literal["whole", "evaluate", "skip"]
Ties = Literal["first", "last"]
Kind = Literal["one level", "mean", "log-odds"]
"""Kinds of metrics: the difference at one k, its mean over several, or the log-odds."""


@dataclass(frozen=True)
class Preset:
    """The rules of a code. ``source``: that code. ``special``: special tokens are ranked and counted like any other."""

    label: str
    source: str
    special: bool = False


@dataclass(frozen=True)
class RemovalPreset(Preset):
    """The rules of a code that removes features. ``notes``: where we interpret it, by the kind of metric.

    ``k``, ``bins`` (percentages), ``divisor`` and ``removal`` are defaults that a request may override. Special tokens
    that are ranked are removed too. ``positive``: features that score zero or less are never selected. ``rounding`` of
    k% of n: ``removed_up`` rounds the removed features up, so the kept ones down. ``empty``, for a level that
    is less than a feature: the text stays ``whole`` (the metric is 0), the text is evaluated as it then is, or the
    level is left out. ``ties``: of features with equal scores, the first or the last in the text is selected first.
    ``repeats`` False: a level with the selection of the level before is left out. ``retokenised``: the remaining ids
    are decoded and tokenised again. ``absolute``: differences lose their sign. ``envelope``: a level counts the extreme
    difference up to it (comprehensiveness: the largest; sufficiency: the smallest).
    """

    notes: Mapping[Kind, str] = field(default_factory=dict)
    k: int = 20
    bins: tuple[int, ...] = (1, 5, 10, 20, 50)
    divisor: Divisor = "bins"
    removal: Removal = "delete"
    positive: bool = False
    rounding: Rounding = "down"
    empty: Empty = "whole"
    ties: Ties = "first"
    repeats: bool = True
    retokenised: bool = False
    absolute: bool = False
    envelope: bool = False


_NO_LOG_ODDS = "has no log-odds; this ranks and counts as it does for its own metrics."

_OPEN_TIES = (
    "Their code leaves the order of equal scores to torch.topk, which promises none; here that in the text counts."
)

PRESETS: dict[str, RemovalPreset] = {
    "rpi": RemovalPreset(
        label="RPI",
        source="Barkan et al. (paper 001), its code; AOPC divided by |B| as in the paper",
        notes={"mean": "The paper divides by the number of bins, its code by one more: divisor=bins_plus_one."},
    ),
    "dig_sig": RemovalPreset(
        label="DIG/SIG",
        source="Sanyal & Ren 2021 and Enguehard 2023, their code",
        notes={
            "one level": _OPEN_TIES,
            "mean": f"Their code has no AOPC: this is the mean of its metric over ERASER's bins. {_OPEN_TIES}",
            "log-odds": f"Their baseline may also be the padding token; here it is the mask token. {_OPEN_TIES}",
        },
        special=True,
    ),
    "ferret": RemovalPreset(
        label="ferret",
        source="Attanasio et al. 2023, the library's defaults",
        notes={
            "one level": "ferret only has the mean over several k; this is one of its terms, 0 where it leaves it out.",
            "mean": (
                "A map without a positive score has one level, which selects nothing: its sufficiency is p(x) − p(no "
                "feature of x). Where every k is too small for the text ferret has no value, and this is 0."
            ),
            "log-odds": f"ferret {_NO_LOG_ODDS}",
        },
        bins=(10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
        positive=True,
        empty="skip",
        ties="last",
        repeats=False,
        retokenised=True,
    ),
    "eraser": RemovalPreset(
        label="ERASER",
        source="DeYoung et al. 2020, the benchmark's code",
        notes={
            "one level": "ERASER leaves removal, rounding and k to its user; these are ours.",
            "mean": "ERASER leaves removal and rounding to its user; these are ours. Its paper also counts k = 0.",
            "log-odds": f"ERASER {_NO_LOG_ODDS}",
        },
        empty="evaluate",
    ),
    "alti": RemovalPreset(
        label="ALTI",
        source="Ferrando et al. 2022, its code",
        notes={
            "one level": "ALTI only has the mean over several k; this is one of its terms.",
            "mean": "k = 0 is one of its six levels; for sufficiency that is the text with nothing kept.",
            "log-odds": f"ALTI {_NO_LOG_ODDS}",
        },
        bins=(0, 1, 5, 10, 20, 50),
        rounding="up",
        empty="evaluate",
        envelope=True,
    ),
    "thesis": RemovalPreset(
        label="Thesis",
        source="The Oxford thesis (paper 004), its code",
        notes={
            "one level": "The thesis only has the mean over several k; this is a term of it. Its text keeps the sign.",
            "mean": "The thesis' text keeps the sign.",
            "log-odds": f"The thesis {_NO_LOG_ODDS}",
        },
        bins=(5, 10, 20, 50),
        removal="mask",
        special=True,
        rounding="removed_up",
        empty="evaluate",
        absolute=True,
    ),
}
