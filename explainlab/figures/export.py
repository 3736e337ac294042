"""Attributions as files: SVG, HTML, CSV and JSON. All text is escaped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import jinja2
import pandas as pd

from explainlab.attribution.records import Attribution
from explainlab.figures.bars import first_bars
from explainlab.figures.facts import settings, sum_words
from explainlab.figures.heatmap import Heatmap, heatmap, heatmaps, method_label, number
from explainlab.figures.palette import DEFAULT, PALETTES
from explainlab.figures.svg import draw_svg
from explainlab.models.reading_warnings import share_words
from explainlab.result import with_verdict
from explainlab.settings import ASSETS

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def to_svg(attribution: Attribution, palette: str = DEFAULT, limit: float | None = None) -> str:
    """A heatmap as a standalone SVG for white paper; ``limit`` is the score of full colour (None: the largest)."""
    return draw_svg(heatmap(attribution, palette, limit))


@dataclass(frozen=True)
class ReportMap:
    """A map of a report: an attribution, ``drawn`` as on its page, its title, and whether to ``trust`` it in words."""

    attribution: Attribution
    drawn: Heatmap
    title: str
    trust: str = ""


def report_maps(
    attributions: Sequence[Attribution],
    palette: str = DEFAULT,
    shared: bool = False,
    trust: Sequence[str] = (),
    top_k: int = 0,
) -> list[ReportMap]:
    """Attributions of one text with their heatmaps, titled by method and class; ``shared``: on one scale.

    ``trust`` says of each whether to trust it (empty: nothing is known). Maps mark their ``top_k`` highest scores.
    """
    drawn, words = heatmaps(attributions, palette, shared, top_k), trust or [""] * len(attributions)
    maps = zip(attributions, drawn, words, strict=True)
    return [ReportMap(a, own, f"{method_label(a)}: why {a.target.label}", said) for a, own, said in maps]


def to_html(
    maps: Sequence[ReportMap],
    palette: str = DEFAULT,
    *,
    title: str = "Explanation",
    verdict: str = "",
    facts: Mapping[str, str] = MappingProxyType({}),
    snippets: Sequence[str] = (),
) -> str:
    """A standalone document about one text: its prediction, and ``maps`` with bars, settings, checks and scores.

    It has no scripts and no external resources. ``verdict`` is the answer in words, ``facts`` what else is known
    of the text, by name, and ``snippets`` are code that reproduces the numbers.
    """
    attributions = [entry.attribution for entry in maps]
    shared = shared_warnings(attributions)
    return render(
        "report.html.j2",
        styles=["token_heatmap"],
        palette=PALETTES[palette],
        title=title,
        verdict=verdict,
        facts=facts,
        snippets=snippets,
        warnings=shared,
        tokens=token_words(attributions[0]),
        result=attributions[0],
        label_share=label_share_words(attributions[0]),
        reports=[
            {
                "map": entry.drawn,
                "result": entry.attribution,
                "title": entry.title,
                "trust": entry.trust,
                "settings": settings(entry.attribution),
                "warnings": [warning for warning in entry.attribution.warnings if warning not in shared],
                "sum": sum_words(entry.attribution),
                "bars": first_bars(entry.attribution),
            }
            for entry in maps
        ],
    )


def shared_warnings(attributions: Sequence[Attribution]) -> list[str]:
    """The warnings that all ``attributions`` have: they are about the text, or there is only one map."""
    first, *others = [attribution.warnings for attribution in attributions]
    return [warning for warning in first if all(warning in other for other in others)]


def token_words(attribution: Attribution) -> str:
    """How many tokens the model read, a prompt's counted apart."""
    prompt = sum(len(feature.ids) for feature in attribution.features if feature.prompt)
    own = sum(len(feature.ids) for feature in attribution.features) - prompt
    words = f"{own:,} token{'' if own == 1 else 's'}"
    return f"{words}, and {prompt:,} of the prompt" if prompt else words


def label_share_words(attribution: Attribution) -> str:
    """How much the label words hold together; empty for a model without a prompt."""
    share = attribution.label_share
    return "" if share is None else f"{share_words(share)} of the next token"


def to_csv(*attributions: Attribution, top_k: int = 0) -> str:
    """A table with a row for every feature of every attribution; numbers in full precision.

    With ``top_k``, the column ``top`` has the places of the features of highest score, 1 for the highest.
    A text that a spreadsheet would read as a formula gets a leading apostrophe.
    """
    tables = []
    for attribution in attributions:
        frame = attribution.to_frame()
        frame.insert(0, "method", attribution.request.question)
        frame.insert(1, "target", attribution.target.label)
        frame["pieces"] = [" ".join(f.pieces) for f in attribution.features]
        if top_k:
            places = {index: place for place, index in enumerate(attribution.highest(top_k), 1)}
            frame["top"] = frame.index.map(places.get).astype("Int64")
        for column in ("target", "text", "pieces"):
            frame[column] = frame[column].map(inert)
        tables.append(frame)
    table: str = pd.concat(tables).to_csv(index=False, lineterminator="\r\n")
    return table


def to_json(attributions: Sequence[Attribution], verdict: str = "", top_k: int = 0) -> str:
    """``{"verdict": ..., "attributions": [...]}``, each in the form of :meth:`Attribution.to_json`.

    ``verdict`` is the answer in words; an empty one is left out. With ``top_k``, ``top`` holds for each attribution the
    indices of its features of highest score, the highest first. Raises ``ValueError`` for scores that are not finite.
    """
    body = with_verdict({"attributions": [attribution.to_json() for attribution in attributions]}, verdict)
    if top_k:
        body["top"] = [attribution.highest(top_k) for attribution in attributions]
    return json.dumps(body, ensure_ascii=False, allow_nan=False, indent=2)


def render(template: str, styles: Sequence[str], **values: Any) -> str:
    """Return a standalone document from ``assets/templates`` with these components' styles; all values are escaped."""
    style = "\n".join(component_file(f"{name}.css") for name in styles)
    return _environment().get_template(template).render(style=style, **values)


@cache
def _environment() -> jinja2.Environment:
    """What keeps each template that was read once."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment


def component_file(name: str) -> str:
    """Return a script or style of ``assets/components``."""
    return (ASSETS / "components" / name).read_text(encoding="utf-8")


def inert(text: str) -> str:
    """``text`` for a table cell; what a spreadsheet would read as a formula gets a leading apostrophe."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
