"""Charts of layer randomisation: rho by unit, a line a method, beside random maps; and the map at every unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.attributions import method_request
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.layer_randomisation.result import (
    Mode,
    OriginalMap,
    RandomisationData,
    RandomisationText,
    Survival,
    verdict,
)
from explainlab.analyses.layer_randomisation.states import MODES
from explainlab.analyses.parameters import RANDOM
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods, parse_spec
from explainlab.figures.chart import GREY, Chart, add_band, color_symbols, layout, shown
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.export import SliderFigure, inert
from explainlab.figures.heatmap import FrameToken, Heatmap, Record, heatmap, number
from explainlab.figures.palette import DEFAULT
from explainlab.request import Request


class DrawnMap(Record):
    """A map: the fields of :class:`explainlab.figures.heatmap.Heatmap` that change with the scores."""

    limit_value: str
    special_share: float | None
    tokens: list[FrameToken]

    @classmethod
    def of(cls, drawn: Heatmap) -> DrawnMap:
        """Return the drawn map of the heatmap ``drawn``."""
        tokens = [FrameToken.of(token) for token in drawn.tokens]
        return cls(limit_value=drawn.limit_value, special_share=drawn.special_share, tokens=tokens)


class UnitFrame(Record):
    """The ``map`` on a random model (None: it gave none), and in ``words`` its similarity to the model's own map."""

    words: str
    map: DrawnMap | None


class MorphedMethod(Record):
    """A method with its options (``name``): its map on the model itself, and by mode a frame for every unit."""

    name: str
    label: str
    signed: bool
    explained: str
    original: DrawnMap
    frames: dict[Mode, list[UnitFrame]]


class UnitMorph(SliderFigure):
    """All maps of a text; ``units`` are top first, ``verdict`` is the answer in words, ``name`` names the files.

    Every map has its own scale, since random models have outputs of any size; the figure states the scale.
    """

    name = "layer-randomisation"
    component = "unit_morph"
    styles = ("token_heatmap", "step_morph", "steering", "unit_morph")

    heatmap: Heatmap
    units: list[str]
    methods: list[MorphedMethod]
    verdict: str

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for every token of every map."""
        for method in self.methods:
            yield from self._tokens(method, None, None, method.original)
            for mode, frames in method.frames.items():
                for unit, frame in zip(self.units, frames, strict=True):
                    if frame.map is not None:
                        yield from self._tokens(method, mode, unit, frame.map)

    def _tokens(
        self, method: MorphedMethod, mode: Mode | None, unit: str | None, drawn: DrawnMap
    ) -> Iterator[dict[str, Any]]:
        for token, now in zip(self.heatmap.tokens, drawn.tokens, strict=True):
            place = {"start": token.start, "end": token.end, "special": token.special}
            asked = {"method": inert(method.name), "mode": mode, "unit": unit}
            yield {**asked, "text": inert(token.name), **place, "score": now.score}


def unit_morph(request: Request, body: RandomisationText, palette: str = DEFAULT) -> UnitMorph:
    """Build the morph of a text's ``body``; ``request`` is that of the study."""
    drawn = [heatmap(attribution_of(request, body, own, own.scores), palette) for own in body.methods]
    return UnitMorph(
        heatmap=drawn[0],
        units=body.units,
        methods=[_method(request, body, own, first) for own, first in zip(body.methods, drawn, strict=True)],
        verdict=verdict(body),
    )


def _method(request: Request, body: RandomisationText, own: OriginalMap, drawn: Heatmap) -> MorphedMethod:
    maps = {(random.mode, random.unit): random.scores for random in body.maps if random.method == own.method}
    frames: dict[Mode, list[UnitFrame]] = {}
    for mode in MODES:
        if not any(row.mode == mode for row in body.rows):
            continue
        frames[mode] = []
        for unit in body.units:
            scores = maps.get((mode, unit))
            shown = None if scores is None else DrawnMap.of(heatmap(attribution_of(request, body, own, scores)))
            frames[mode].append(UnitFrame(words=_words(body, own.method, mode, unit), map=shown))
    return MorphedMethod(
        name=own.method,
        label=own.label,
        signed=drawn.signed,
        explained=drawn.explained,
        original=DrawnMap.of(drawn),
        frames=frames,
    )


def _words(body: RandomisationText, method: str, mode: Mode, unit: str) -> str:
    """Describe the similarity of the first draw's map to the map of the model itself."""
    first = {
        row.absolute: row.draws[0] for row in body.rows if (row.method, row.mode, row.unit) == (method, mode, unit)
    }
    if first[False] is None and first[True] is None:
        return "no rank correlation: all scores of a map are equal"
    return f"ρ {number(first[False])}, of |scores| {number(first[True])}"


Body = RandomisationText | RandomisationData
_RANDOM = {"cascading": "Random from the top down to", "independent": "The one random unit"}


def rho_by_unit(body: Body, mode: Mode, absolute: bool) -> Chart:
    """Draw every method's rho by the unit that is random, or down to which all are.

    Around a line is the band of its intervals over texts, beside it a thin line a draw. Grey is where 90% of random
    maps are (the widest of all methods), dashed the rho of a method's map with the order of the text.
    """
    of = "|scores|" if absolute else "scores"
    figure = go.Figure(layout=layout(_RANDOM[mode], f"Spearman's ρ of {of}", height=460))
    styles = color_symbols([own.method for own in body.methods], RANDOM)
    labels = {own.method: own.label for own in body.methods}
    units = [shown(unit) for unit in body.units]
    rows = {name: _rows(body, name, mode, absolute) for name in labels}
    _add_controls(figure, body, absolute, units, {name: style[0] for name, style in styles.items()})
    for name, label in labels.items():
        _add_method(figure, units, rows[name], shown(label), *styles[name])
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=units)
    figure.update_yaxes(range=[-1.05, 1.05])
    title = f"Maps {'with one unit random' if mode == 'independent' else 'as more units become random'}, by {of}"
    last = {name: own[-1].mean for name, own in rows.items() if own[-1].mean is not None}
    found = ", ".join(f"{labels[name]} {mean:.2f}" for name, mean in last.items()) or "none is defined"
    alt = f"{title}. ρ at {body.units[-1]}: {found}."
    return Chart(f"{mode}-{'absolute' if absolute else 'signed'}", title, alt, figure, _table(body, rows), _notes(rows))


def _rows(body: Body, method: str, mode: Mode, absolute: bool) -> list[Survival]:
    """Return the rows of a method in the order of the units."""
    return [row for row in body.rows if (row.method, row.mode, row.absolute) == (method, mode, absolute)]


def _add_controls(figure: go.Figure, body: Body, absolute: bool, units: Sequence[str], colors: dict[str, str]) -> None:
    known = [own for own in body.controls if own.absolute == absolute and own.random.mean is not None]
    lows = [own.random.low for own in known if own.random.low is not None]
    highs = [own.random.high for own in known if own.random.high is not None]
    if known:
        add_band(figure, units, [min(lows)] * len(units), [max(highs)] * len(units), GREY, "random maps", 0.25)
    for own in known:
        figure.add_scatter(
            x=units,
            y=[own.order.mean] * len(units),
            mode="lines",
            line={"color": colors[own.method], "width": 1.5, "dash": "dash"},
            hovertemplate="order of the text: %{y:.3f}<extra></extra>",
            legendgroup=own.method,
            showlegend=False,
        )


def _add_method(
    figure: go.Figure, units: Sequence[str], rows: Sequence[Survival], label: str, color: str, symbol: str
) -> None:
    """Draw a method's line, the band of its intervals (equal values have none), and a thin line for every draw."""
    group = rows[0].method
    if any(row.low is not None for row in rows):
        known = [(unit, row) for unit, row in zip(units, rows, strict=True) if row.mean is not None]
        low = [row.mean if row.low is None else row.low for _, row in known]
        high = [row.mean if row.high is None else row.high for _, row in known]
        add_band(figure, [unit for unit, _ in known], low, high, color, group)
    for draw, values in enumerate(zip(*(row.draws for row in rows), strict=True), 1):
        figure.add_scatter(
            x=units,
            y=values,
            mode="lines",
            line={"color": color, "width": 1},
            opacity=0.4,
            hovertemplate=f"draw {draw}: %{{y:.3f}}<extra>{label}</extra>",
            legendgroup=group,
            showlegend=False,
        )
    figure.add_scatter(
        x=units,
        y=[row.mean for row in rows],
        mode="lines+markers",
        name=label,
        line={"color": color, "width": 2.5},
        marker={"symbol": symbol, "size": 8},
        hovertemplate=f"%{{x}}: %{{y:.3f}}<extra>{label}</extra>",
        legendgroup=group,
    )


def _table(body: Body, rows: dict[str, list[Survival]]) -> list[dict[str, Any]]:
    order = {(own.method, own.absolute): own for own in body.controls}
    table = []
    for row in (row for own in rows.values() for row in own):
        control = order[row.method, row.absolute]
        facts = {name: getattr(row, name) for name in ("method", "unit", "mean", "low", "high", "n", "undefined")}
        draws = {f"draw_{i}": value for i, value in enumerate(row.draws, 1)}
        random = {f"random_maps_{end}": getattr(control.random, end) for end in ("mean", "low", "high")}
        table.append({**facts, **draws, **random, "order": control.order.mean})
    return table


def _notes(rows: dict[str, list[Survival]]) -> tuple[str, ...]:
    undefined = sum(row.undefined for own in rows.values() for row in own)
    whole = sum(row.undefined + row.n for own in rows.values() for row in own)
    notes = ["Thin: each draw alone. Grey: 90% of random maps. Dashed: the order of the text."]
    if undefined:
        notes.append(f"{undefined:,} of {whole:,} values are not defined and left out: all scores of a map are equal.")
    return tuple(notes)


def _charts(result: AnalysisResult[Any]) -> list[Chart]:
    body = result.body
    modes = [mode for mode in MODES if any(row.mode == mode for row in body.rows)]
    return [rho_by_unit(body, mode, absolute) for absolute in (False, True) for mode in modes]


def attribution_of(
    request: Request, body: RandomisationText, method: OriginalMap, scores: Sequence[float]
) -> Attribution:
    """Return ``scores`` [n_features] by ``method`` in the ``body`` that answers ``request``, as an attribution."""
    settings = parse_spec(method.method).parameters.model_dump(mode="json") if method.id in methods() else {}
    return body.attribution(method_request(request, method.id, settings), scores, signed=method.signed)


def _heatmaps(result: AnalysisResult[RandomisationText]) -> list[Map]:
    """Return for each method its map of the model itself, and its map of the model with the most random units."""
    body, maps = result.body, []
    for method in body.methods:
        drawn = [(method.label, method.scores)]
        random = [own for own in body.maps if own.method == method.method and own.unit == body.units[-1]]
        drawn += [(f"{method.label}, {_down_to(own.mode, own.unit)}", own.scores) for own in random[:1]]
        maps += [Map(title, heatmap(attribution_of(result.request, body, method, scores))) for title, scores in drawn]
    return maps


def _down_to(mode: Mode, unit: str) -> str:
    return f"all random down to {unit}" if mode == "cascading" else f"{unit} random"


def _component(result: AnalysisResult[RandomisationText | RandomisationData], palette: str) -> str:

    body = result.body
    return unit_morph(result.request, body, palette).to_html() if isinstance(body, RandomisationText) else ""


FIGURES = StudyFigures(_charts, _charts, _heatmaps, component=_component)
