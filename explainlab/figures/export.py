"""Attributions as files, SVG, HTML, CSV and JSON, and as code that reproduces them. All text is escaped."""

from __future__ import annotations

import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar

import jinja2
import pandas as pd

from explainlab.attribution.records import Attribution
from explainlab.figures.bars import first_bars
from explainlab.figures.heatmap import Heatmap, Record, heatmap, heatmaps, method_label, number, settings, sum_words
from explainlab.figures.palette import DEFAULT, PALETTES
from explainlab.figures.svg import draw_svg
from explainlab.models.reading_warnings import share_words
from explainlab.request import Request
from explainlab.result import with_verdict
from explainlab.settings import ASSETS

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def to_svg(attribution: Attribution, palette: str = DEFAULT, limit: float | None = None) -> str:
    """Return a heatmap as an SVG for white paper; ``limit`` is the score of full colour (None: the largest)."""
    return draw_svg(heatmap(attribution, palette, limit))


@dataclass(frozen=True)
class ReportMap:
    """A map of a report: an attribution, its heatmap, its title, and advice in words on how far to ``trust`` it."""

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
    """Return attributions of one text with their heatmaps, titled by method and class; ``shared``: on one scale.

    ``trust`` is the advice on each map (empty: none). Maps mark their ``top_k`` highest scores.
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
    """Return a standalone document about one text: its prediction, and ``maps`` with bars, settings, checks and scores.

    It has no scripts and no external resources. ``verdict`` is the answer in words, ``facts`` are more about
    the text, by name, and ``snippets`` are code that reproduces the numbers.
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
    """Return the warnings that all ``attributions`` have: they are about the text, or there is only one map."""
    first, *others = [attribution.warnings for attribution in attributions]
    return [warning for warning in first if all(warning in other for other in others)]


def token_words(attribution: Attribution) -> str:
    """Return the number of tokens that the model read, those of a prompt apart."""
    prompt = sum(len(feature.ids) for feature in attribution.features if feature.prompt)
    own = sum(len(feature.ids) for feature in attribution.features) - prompt
    words = f"{own:,} token{'' if own == 1 else 's'}"
    return f"{words}, and {prompt:,} of the prompt" if prompt else words


def label_share_words(attribution: Attribution) -> str:
    """Return the probability of all label words together; empty for a model without a prompt."""
    share = attribution.label_share
    return "" if share is None else f"{share_words(share)} of the next token"


def to_csv(*attributions: Attribution, top_k: int = 0) -> str:
    """Return a table with a row for every feature of every attribution; numbers have full precision.

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
    """Return ``{"verdict": ..., "attributions": [...]}``, each in the form of :meth:`Attribution.to_json`.

    ``verdict`` is the answer in words; an empty one is left out. With ``top_k``, ``top`` holds for each attribution the
    indices of its features of highest score, the highest first. Raises ``ValueError`` for scores that are not finite.
    """
    body = with_verdict({"attributions": [attribution.to_json() for attribution in attributions]}, verdict)
    if top_k:
        body["top"] = [attribution.highest(top_k) for attribution in attributions]
    return json.dumps(body, ensure_ascii=False, allow_nan=False, indent=2)


def python_code(result: Attribution) -> str:
    """Return Python code that reproduces ``result``; all values are literals."""
    request = result.request
    arguments = {
        "method": request.question,
        **({"text_pair": request.text_pair} if request.text_pair is not None else {}),
        "target": result.target.label,
        "output": request.output,
        "unit": request.unit,
        "seed": request.seed,
        **_parameters(request),
    }
    written = "\n".join(f"    {name}={value!r}," for name, value in arguments.items())
    dtype = "" if request.dtype == "float32" else f", dtype={request.dtype!r}"
    return (
        "import explainlab\n\n"
        f"classifier = explainlab.load_model({request.model!r}{dtype})\n"
        f"result = explainlab.explain(\n    classifier,\n    {request.text!r},\n{written}\n)\n"
        "print(result.to_frame())\n"
    )


def command_line(result: Attribution) -> str:
    """Return a POSIX shell command that reproduces ``result``."""
    request = result.request
    words = ["python", "-m", "explainlab", "explain", "--model", request.model, "--text", request.single_text]
    if request.text_pair is not None:
        words += ["--text-pair", request.text_pair]
    words += ["--method", request.question]
    for name, value in _parameters(request).items():
        words += ["--set", f"{name}={value}"]
    words += ["--target", result.target.label, "--output", request.output, "--unit", request.unit]
    words += ["--seed", str(request.seed), "--dtype", request.dtype, "--json"]
    return shlex.join(words)


class SliderFigure(Record, ABC):
    """A figure with a slider: a record that a component of the page draws, and a standalone page.

    ``name`` names its files. ``component`` is the script and the template that draw it, with these ``styles``.
    """

    name: ClassVar[str]
    component: ClassVar[str]
    styles: ClassVar[tuple[str, ...]]

    @classmethod
    def scripts(cls) -> tuple[str, ...]:
        """Return the names of its scripts."""
        return "tokens", cls.component

    @abstractmethod
    def rows(self) -> Iterable[Mapping[str, Any]]:
        """Return a row for each value that it draws, in full precision."""

    def to_csv(self) -> str:
        """Return :meth:`rows` as a table."""
        table: str = pd.DataFrame(self.rows()).to_csv(index=False, lineterminator="\r\n")
        return table

    def to_json(self) -> str:
        """Return the record itself."""
        return self.model_dump_json(indent=2)

    def to_html(self) -> str:
        """Return a standalone page with the slider; it needs no network."""
        script = "\n".join(component_file(f"{name}.js") for name in self.scripts())
        payload = self.model_dump(mode="json")
        return render(f"{self.component}.html.j2", self.styles, drawn=self, payload=payload, script=script)


def render(template: str, styles: Sequence[str], **values: Any) -> str:
    """Return a standalone document from ``assets/templates`` with these components' styles; all values are escaped."""
    style = "\n".join(component_file(f"{name}.css") for name in styles)
    return _environment().get_template(template).render(style=style, **values)


@cache
def _environment() -> jinja2.Environment:
    """Return the Jinja environment, which caches templates."""
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
    """Return ``text`` for a table cell, with an apostrophe before a text that a spreadsheet would read as a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _parameters(request: Request) -> dict[str, Any]:
    """Return the parameters without empty texts, which are defaults."""
    return {name: value for name, value in request.parameters.items() if value != ""}
