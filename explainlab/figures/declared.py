"""The pictures that an analysis declares: charts of a text's or a data set's result, and heatmaps of its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from explainlab.figures.chart import Chart
from explainlab.figures.heatmap import Heatmap
from explainlab.result import Result


@dataclass(frozen=True)
class Map:
    """A heatmap of a result's text, under a title that tells it from the others."""

    title: str
    drawn: Heatmap


@dataclass(frozen=True)
class Figures:
    """All pictures of one result by name; ``none`` says why there is no chart.

    ``files`` maps names of files to their texts, which readers download with the result.
    """

    charts: dict[str, Chart]
    maps: dict[str, Map]
    none: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyFigures:
    """The pictures of one analysis: charts ``of_text`` and ``of_data`` (None: it has no such result), and ``maps``.

    ``none`` says when there is no chart. ``files`` makes further files of a data set's result, by name. ``component``
    makes the document of the page's component for a result, in a palette; empty for a result without a component.
    """

    of_text: Callable[[Any], Iterable[Chart]] | None = None
    of_data: Callable[[Any], Iterable[Chart]] | None = None
    maps: Callable[[Any], Iterable[Map]] = lambda result: ()
    none: str = ""
    files: Callable[[Any], Mapping[str, str]] = lambda result: {}
    component: Callable[[Any, str], str] = lambda result, palette: ""

    def draw(self, result: Result) -> Figures:
        """Return all pictures of ``result``."""
        is_text = result.request.text is not None
        draw = self.of_text if is_text else self.of_data
        charts = {chart.name: chart for chart in (draw(result) if draw else ())}
        maps = enumerate(self.maps(result) if is_text else (), 1)
        named = {f"map-{i}-{drawn.drawn.file_name}": drawn for i, drawn in maps}
        return Figures(charts, named, "" if charts else self.none, {} if is_text else self.files(result))


def keyed(key: str, chart: Chart) -> Chart:
    """Return ``chart`` with ``key`` at the end of its name, to tell it from others of its kind."""
    return replace(chart, name=f"{chart.name}-{key}")
