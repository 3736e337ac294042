"""A headline number over the models of a set: by their size, or as bars by model or data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.sets.records import Group, Mean, StudySet
from explainlab.analyses.wording import joined
from explainlab.figures.chart import NAME, Chart, add_band, color_symbols, error_bars, layout, shortened, shown, wrapped
from explainlab.figures.declared import keyed

_DECADES = [m * 10**e for e in range(3, 12) for m in (1, 2, 5)]

_SPAN = 30
"""Values that differ by more than this factor are drawn on a logarithmic axis."""


@dataclass(frozen=True)
class _Axis:
    """The x axis: its ``title``, the places of the means, and their names; ``sizes``: numbers of weights."""

    title: str
    places: Sequence[str]
    of: Callable[[Mean], str]
    sizes: dict[str, int] | None = None


def by_model(studies: StudySet, measure: str, data: str) -> Chart:
    """Draw the means of ``measure`` (its key) on ``data`` by the number of parameters, where all are known and differ.

    Otherwise draw bars by model or, for a single model, by data set. Each method or rule has a line or a colour. For
    numbers of the model itself each data set has one, and all are drawn.
    """
    series = studies.series_of(measure)
    source = data if len(studies.groups) > 1 and len(series) > 1 else None
    means, facts = studies.means(measure, source), studies.measures[measure]
    axis = _axis(studies, means)
    figure = go.Figure(layout=layout(axis.title, shown(facts.directed_label), barmode="group"))
    lines = _lines(studies, series, means)
    styles = color_symbols(lines, RANDOM)
    for line, label in lines.items():
        own = [mean for mean in means if line in (mean.number.of, mean.data)]
        if own and axis.sizes:
            _add_line(figure, sorted(own, key=lambda mean: mean.group.weights), label, line == RANDOM, *styles[line])
        elif own:
            _add_bars(figure, own, label, line == RANDOM, axis, styles[line][0])
    figure.update_layout(showlegend=len(lines) > 1)
    if facts.spec.endswith("%"):
        figure.update_yaxes(tickformat="~%")
    if axis.sizes:
        _log_axis(figure, list(axis.sizes.values()))
        if _spans_decades(means):
            figure.update_yaxes(type="log", dtick=1)
    else:
        names = [wrapped(shortened(place, 2 * NAME)) for place in axis.places]
        figure.update_xaxes(tickvals=list(range(len(names))), ticktext=names)
    over = {"Number of parameters": "by number of parameters", "Data set": "by data set"}.get(axis.title, "by model")
    on = "" if source is None else f" on {studies.data[source]}"
    title = f"{facts.label} {over}{on}"
    words = f"{title}: means with 95% intervals. {_finding(studies, series, means, axis)}"
    chart = Chart("by-model", title, words, figure, [_row(mean, studies) for mean in means], _notes(means))
    return keyed(measure, chart)


def _spans_decades(means: Sequence[Mean]) -> bool:
    """Return whether the smallest values would look like zero on a linear axis."""
    values = [mean.value.mean or 0.0 for mean in means]
    lows = [mean.value.mean if mean.value.low is None else mean.value.low for mean in means]
    return all((low or 0.0) > 0 for low in lows) and max(values) > _SPAN * min(values)


def weights_words(weights: int) -> str:
    """Write a number of weights as ``5.4 M``, ``1.2 B`` or ``900 k``."""
    for unit, name in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if weights >= unit:
            return f"{weights / unit:.3g} {name}"
    return str(weights)


def _lines(studies: StudySet, series: dict[str, str], means: Sequence[Mean]) -> dict[str, str]:
    """Return the series with a line or a colour each, and their labels: methods, else data sets."""
    if len(series) > 1:
        return series
    if len(studies.groups) > 1:
        return {source: name for source, name in studies.data.items() if any(mean.data == source for mean in means)}
    return series


def _axis(studies: StudySet, means: list[Mean]) -> _Axis:
    """Return the axis: the models that have a value; for a single model, all data sets."""
    if len(studies.groups) == 1 and len(studies.data) > 1:
        return _Axis("Data set", list(studies.data.values()), lambda mean: studies.data[mean.data])
    groups = [group for group in studies.groups if any(mean.group is group for mean in means)]
    sizes = {group.name: group.weights for group in groups}
    if len(groups) > 1 and all(sizes.values()) and len(set(sizes.values())) == len(groups):
        return _Axis("Number of parameters", list(sizes), lambda mean: mean.group.name, sizes)
    return _Axis("Model", [_with_family(group) for group in groups], lambda mean: _with_family(mean.group))


def _with_family(group: Group) -> str:
    family = group.models[0].family
    return group.name if not family or family.casefold() in group.name.casefold() else f"{group.name} ({family})"


def _add_line(figure: go.Figure, means: list[Mean], name: str, dotted: bool, color: str, symbol: str) -> None:
    """Add a line through the means of a method, in the band of their intervals."""
    label, sizes = shown(shortened(name, 2 * NAME)), [mean.group.weights for mean in means]
    ends = [(mean.value.low, mean.value.high, mean.value.mean) for mean in means]
    low, high = (
        [low if low is not None else at for low, _, at in ends],
        [h if h is not None else at for _, h, at in ends],
    )
    add_band(figure, sizes, low, high, color, label, 0.12)
    figure.add_scatter(
        x=sizes,
        y=[mean.value.mean for mean in means],
        mode="lines+markers",
        name=label,
        line={"color": color, "width": 2, "dash": "dot" if dotted else "solid"},
        marker={"symbol": symbol, "size": 9},
        customdata=[[shown(mean.group.name), _between(mean)] for mean in means],
        hovertemplate="%{customdata[0]}, %{x:,}: %{customdata[1]}<extra>" + label + "</extra>",
        legendgroup=label,
    )


def _add_bars(figure: go.Figure, means: list[Mean], name: str, hatched: bool, axis: _Axis, color: str) -> None:
    label = shown(shortened(name, 2 * NAME))
    figure.add_bar(
        x=[axis.places.index(axis.of(mean)) for mean in means],
        y=[mean.value.mean for mean in means],
        error_y=error_bars([mean.value for mean in means]),
        name=label,
        marker={"color": color, "pattern": {"shape": "/" if hatched else ""}},
        customdata=[[shown(axis.of(mean)), _between(mean)] for mean in means],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra>" + label + "</extra>",
    )


def _log_axis(figure: go.Figure, sizes: Sequence[int]) -> None:
    ticks = [tick for tick in _DECADES if min(sizes) / 1.6 <= tick <= max(sizes) * 1.6]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[weights_words(tick) for tick in ticks])


def _between(mean: Mean) -> str:
    """Write the value with its interval, and the number of values in its mean."""
    return f"{_words(mean)}, {mean.number.n:,} {mean.over}"


def _words(mean: Mean) -> str:
    return mean.number.measure.mean_words(mean.value)


def _finding(studies: StudySet, series: dict[str, str], means: list[Mean], axis: _Axis) -> str:
    """Name the best method at each place; for numbers of the model itself, list all of them."""
    if not means:
        return "There is no value."
    if len(series) == 1:
        return f"{joined([f'{studies.place(mean.group, mean.data)} {_words(mean)}' for mean in means])}."
    listed = []
    for place in axis.places:
        own = [mean for mean in means if axis.of(mean) == place]
        if own:
            best = max(own, key=lambda mean: mean.merit)
            listed.append(f"{best.number.label} for {place}, {_words(best)}")
    return f"Best: {joined(listed)}."


def _notes(means: list[Mean]) -> tuple[str, ...]:
    if not any(mean.over == "models" for mean in means):
        return ()
    return ("Models that differ only in the seed of their training are shown as the mean over these models.",)


def _row(mean: Mean, studies: StudySet) -> dict[str, Any]:
    return {
        "model": mean.group.name,
        "models": ", ".join(model.id for model in mean.group.models),
        "weights": mean.group.weights or None,
        "data": studies.data[mean.data],
        "of": mean.number.of,
        "measure": mean.number.measure.key,
        **mean.value.model_dump(),
        "over": mean.over,
        "n": mean.number.n,
    }
