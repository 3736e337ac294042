"""The colours of heatmaps: a hue for each sign and for magnitude, for the light and the dark theme.

A score is drawn as its hue with an opacity of |score| / limit, so zero has the colour of the page, and the hue is the
colour of the largest score. On it the theme's text has a contrast of at least 4.5:1 at every opacity. The two signs
differ in lightness as well as in hue, for colour-blind readers and prints without colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator


@dataclass(frozen=True)
class Hues:
    """The colours (``#rrggbb``) of the largest score for the target, against it, and without a sign."""

    positive: str
    negative: str
    magnitude: str


@dataclass(frozen=True)
class Palette:
    """A named set of hues; ``label`` is its name on a page."""

    name: str
    label: str
    light: Hues
    dark: Hues


_ALL = (
    Palette(
        "green_red",
        "Green and red",
        light=Hues("#6fd3a5", "#e8636c", "#b9a3f0"),
        dark=Hues("#187554", "#9a1c30", "#6a4fc0"),
    ),
    Palette(
        "blue_orange",
        "Blue and orange",
        light=Hues("#8fc1f5", "#ea7a2c", "#b9a3f0"),
        dark=Hues("#276bad", "#843a08", "#6a4fc0"),
    ),
    Palette(
        "teal_magenta",
        "Teal and magenta",
        light=Hues("#6ccfc9", "#dd6bb6", "#f0c04f"),
        dark=Hues("#127370", "#8a2268", "#8a6414"),
    ),
    Palette(
        "greyscale",
        "Greyscale",
        light=Hues("#c9c9c9", "#949494", "#a9a9a9"),
        dark=Hues("#696969", "#444444", "#666666"),
    ),
)

PALETTES = {palette.name: palette for palette in _ALL}
DEFAULT = "green_red"


def _known(name: str) -> str:
    if name not in PALETTES:
        raise ValueError(f"no palette '{name}'")
    return name


PaletteName = Annotated[str, AfterValidator(_known)]
"""The type of a field that names a palette."""
