"""The hues keep text readable and the two signs apart, computed with WCAG's contrast."""

import tomllib
from itertools import product

import numpy as np
import pytest

from explainlab.figures.palette import DEFAULT, PALETTES
from explainlab.settings import ROOT
from tests.failures import check_each

THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
THEMES = ("light", "dark")


def rgb(color: str) -> np.ndarray:
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def luminance(color: np.ndarray) -> float:
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a: np.ndarray, b: np.ndarray) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_knows_the_extremes():
    assert contrast(rgb("#000000"), rgb("#ffffff")) == pytest.approx(21)


def test_text_is_readable_on_every_strength():
    def check(case):
        palette, theme, kind = case
        page, ink = rgb(THEME[theme]["backgroundColor"]), rgb(THEME[theme]["textColor"])
        hue = rgb(getattr(getattr(palette, theme), kind))
        for strength in np.linspace(0, 1, 51):
            background = strength * hue + (1 - strength) * page
            assert contrast(ink, background) >= 4.5

    check_each(check, product(PALETTES.values(), THEMES, ("positive", "negative", "magnitude")))


def test_negative_is_darker_than_positive():
    def check(case):
        palette, theme = case
        hues = getattr(palette, theme)
        positive, negative = rgb(hues.positive), rgb(hues.negative)
        assert luminance(negative) < luminance(positive)
        assert contrast(positive, negative) > 1.3

    check_each(check, product(PALETTES.values(), THEMES))


def test_names():
    assert DEFAULT in PALETTES
    assert {"green_red", "blue_orange", "teal_magenta", "greyscale"} == set(PALETTES)
    assert all(name == palette.name for name, palette in PALETTES.items())
