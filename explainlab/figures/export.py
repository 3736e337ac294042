"""Attributions as files: SVG, HTML, CSV and JSON. All text is escaped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from explainlab.attribution.records import Attribution
from explainlab.figures.heatmap import heatmap, heatmaps, method_label, number, settings
from explainlab.figures.palette import DEFAULT, PALETTES
from explainlab.figures.svg import draw_svg
from explainlab.settings import ASSETS

COMPONENTS = ASSETS / "components"
"""The scripts and styles that pages share."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def to_svg(attribution: Attribution, palette: str = DEFAULT, limit: float | None = None) -> str:
    """A heatmap as a standalone SVG for white paper; ``limit`` is the score of full colour (None: the largest)."""
    return draw_svg(heatmap(attribution, palette, limit))


def to_html(
    attributions: Sequence[Attribution],
    palette: str = DEFAULT,
    shared: bool = False,
    snippets: Sequence[str] = (),
    verdict: str = "",
) -> str:
    """A standalone document with every heatmap, its settings, checks and scores; no scripts, no external resources.

    ``shared``: the same scale for all heatmaps; ``snippets``: code that reproduces the numbers; ``verdict``: the answer
    in words, which comes first.
    """
    maps = heatmaps(attributions, palette, shared)
    return render(
        "report.html.j2",
        styles=["token_heatmap"],
        palette=PALETTES[palette],
        snippets=snippets,
        verdict=verdict,
        reports=[
            {"map": drawn, "result": a, "method": method_label(a), "settings": settings(a)}
            for drawn, a in zip(maps, attributions, strict=True)
        ],
    )


def to_csv(*attributions: Attribution) -> str:
    """A table with a row for every feature of every attribution; numbers in full precision.

    A text that a spreadsheet would read as a formula gets a leading apostrophe.
    """
    tables = []
    for attribution in attributions:
        frame = attribution.to_frame()
        frame.insert(0, "method", attribution.request.question)
        frame.insert(1, "target", attribution.target.label)
        frame["pieces"] = [" ".join(f.pieces) for f in attribution.features]
        for column in ("target", "text", "pieces"):
            frame[column] = frame[column].map(inert)
        tables.append(frame)
    table: str = pd.concat(tables).to_csv(index=False, lineterminator="\r\n")
    return table


def to_json(attributions: Sequence[Attribution], verdict: str = "") -> str:
    """``{"verdict": ..., "attributions": [...]}``, each in the form of :meth:`Attribution.to_json`.

    ``verdict`` is the answer in words; an empty one is left out.
    Raises ``ValueError`` for scores that are not finite.
    """
    words = {"verdict": verdict} if verdict else {}
    body = {**words, "attributions": [attribution.to_json() for attribution in attributions]}
    return json.dumps(body, ensure_ascii=False, allow_nan=False, indent=2)


def render(template: str, styles: Sequence[str], folder: Path = COMPONENTS, **values: Any) -> str:
    """A standalone document from ``assets/templates``, with these components' styles; whatever enters is escaped.

    Styles are found as by :func:`component_file`.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    style = "\n".join(component_file(f"{name}.css", folder) for name in styles)
    return environment.get_template(template).render(style=style, **values)


def component_file(name: str, folder: Path = COMPONENTS) -> str:
    """A script or style of ``folder``, or else of those that pages share."""
    path = folder / name
    return (path if path.is_file() else COMPONENTS / name).read_text(encoding="utf-8")


def inert(text: str) -> str:
    """``text`` for a table cell; what a spreadsheet would read as a formula gets a leading apostrophe."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
