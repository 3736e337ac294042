"""Results in a notebook: static HTML without scripts, or the component of a page.

All text is escaped; pictures bring their own colours and need no network.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.explain.verdict import verdict
from explainlab.analyses.registry import get_analysis, get_study
from explainlab.attribution.records import Attribution
from explainlab.errors import RequestError, UnsupportedError
from explainlab.figures.export import render, report_maps, shared_warnings
from explainlab.figures.palette import DEFAULT, PALETTES
from explainlab.files import write_file
from explainlab.result import Result

_HEIGHT = 720
"""The height of a component in a notebook, in pixels; a reader can drag its lower edge."""


@dataclass(frozen=True)
class Shown:
    """HTML that a notebook shows; ``document`` is a whole page with the same contents."""

    html: str
    document: str

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return self.html

    def save(self, path: str | Path) -> None:
        """Write the ``document`` to a file."""
        write_file(Path(path), self.document.encode())


def show(what: Result | Iterable[Attribution], palette: str = DEFAULT, interactive: bool = True) -> Shown:
    """Return a picture of ``what`` for a notebook, which draws it as the last line of a cell.

    * Attributions, in a list: their maps side by side. Those that explain the same output share a scale; where two give
      clearly opposite signs to a word, it has the mark ≠.
    * A study of a text with a component on its page (``activation``, ``integration_error``, ``layer_randomisation``),
      or ``roar`` of a data set: that component in a frame. It runs a script of ours and loads nothing.
      ``interactive=False`` shows a picture in its place.
    * Any other study: its main figure as a picture, under its answer in words.

    ``palette``: green_red, blue_orange, teal_magenta or greyscale. Raises :class:`RequestError` for anything else.
    """
    if palette not in PALETTES:
        raise RequestError(f"There is no palette '{palette}'.", f"Use {', '.join(PALETTES)}.")
    if isinstance(what, AnalysisResult):
        component = _component(what, palette) if interactive else ""
        return _framed(component) if component else _fragment(palette, **_study(what))
    several = [what] if isinstance(what, Attribution) else list(what) if isinstance(what, Iterable) else []
    if not several or not all(isinstance(one, Attribution) for one in several):
        raise RequestError("This cannot be shown.", "Give an attribution, a list of them, or the result of a study.")
    return _fragment(palette, **_maps(several, palette))


def static(result: Result) -> str:
    """Return the static HTML of a ``result``, which notebooks show by default."""
    return show(result, interactive=False).html


def _maps(attributions: Sequence[Attribution], palette: str) -> dict[str, Any]:
    maps = report_maps(attributions, palette, shared=len(attributions) > 1)
    alone = attributions[0] if len(attributions) == 1 else None
    return {
        "maps": maps,
        "verdict": "" if alone is None else verdict(alone),
        "warnings": shared_warnings(attributions),
        "note": "",
    }


def _study(result: AnalysisResult[Any]) -> dict[str, Any]:
    """Return headline and main figure: the first chart, or else the maps."""
    said = {"verdict": get_analysis(result.request.question).report(result).headline, "warnings": result.warnings}
    try:
        from explainlab.analyses.figures import figures_of
        from explainlab.figures.still import picture
    except ModuleNotFoundError as error:
        return {**said, "note": f"Charts need {error.name}: pip install 'explainlab[app]'."}
    figures = figures_of(result)
    if figures.charts:
        chart = next(iter(figures.charts.values()))
        words = [chart.alt.removeprefix(chart.title).lstrip(".: "), *chart.notes]
        drawn = {"title": chart.title, "picture": picture(chart), "said": " ".join(filter(None, words))}
        return {**said, "charts": [drawn], "note": _others(list(figures.charts)[1:])}
    return {**said, "maps": list(figures.maps.values()), "note": "" if figures.maps else figures.none}


def _others(names: Sequence[str]) -> str:
    return f"More charts, by result.plot(name): {', '.join(names)}." if names else ""


def _component(result: AnalysisResult[Any], palette: str) -> str:
    """Return the document of a page's component for this ``result``; empty if its page has none."""
    try:
        from explainlab.analyses.figures import declared_figures
    except ModuleNotFoundError as error:
        raise UnsupportedError(f"This needs {error.name}.", "pip install 'explainlab[app]'") from None
    return declared_figures(get_study(result.request.question)).component(result, palette)


def _fragment(palette: str, **values: Any) -> Shown:
    filled = {"verdict": "", "warnings": (), "maps": (), "charts": (), "note": "", **values}
    html = render("notebook.html.j2", styles=["token_heatmap"], palette=PALETTES[palette], **filled)
    return Shown(html, f'<!doctype html>\n<meta charset="utf-8">\n<title>ExplainLab</title>\n{html}')


def _framed(document: str) -> Shown:
    return Shown(render("frame.html.j2", styles=[], document=document, height=_HEIGHT), document)
