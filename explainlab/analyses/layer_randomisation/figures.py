"""Charts of layer randomisation: rho by unit, a line a method, beside what random maps and the order of a text give."""

from __future__ import annotations

from collections.abc import Sequence
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
)
from explainlab.analyses.layer_randomisation.states import MODES
from explainlab.analyses.parameters import RANDOM
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods, parse_spec
from explainlab.figures.chart import GREY, Chart, add_band, layout, shown
from explainlab.figures.cost import color_symbols
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import heatmap
from explainlab.request import Request

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
    from explainlab.analyses.layer_randomisation.unit_morph import unit_morph  # it draws with what is above

    body = result.body
    return unit_morph(result.request, body, palette).to_html() if isinstance(body, RandomisationText) else ""


FIGURES = StudyFigures(_charts, _charts, _heatmaps, component=_component)
