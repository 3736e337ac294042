"""A metric over the models of a set: by their size, or as bars by model or data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.evaluation.sets.records import EvaluatedSet, Group, Mean
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.wording import joined, mean_words
from explainlab.figures.chart import NAME, Chart, error_bars, layout, shortened, shown, wrapped
from explainlab.figures.cost import color_symbols
from explainlab.figures.declared import keyed

_DECADES = [m * 10**e for e in range(3, 12) for m in (1, 2, 5)]


@dataclass(frozen=True)
class _Axis:
    """The x axis: its ``title``, the places of the means, and their names; ``sizes``: numbers of weights."""

    title: str
    places: Sequence[str]
    of: Callable[[Mean], str]
    sizes: dict[str, int] | None = None


def by_model(evaluated: EvaluatedSet, metric: str, data: str) -> Chart:
    """The means of ``metric`` (``asked``) on ``data`` by the number of parameters, where all are known and differ.

    Else bars by model; or, of a single model, by data set. A line or a colour a method.
    """
    source = None if len(evaluated.groups) == 1 else data
    means, facts = evaluated.means(metric, source), evaluated.metrics[metric]
    axis = _axis(evaluated, means)
    figure = go.Figure(layout=layout(axis.title, shown(facts.directed_label), barmode="group"))
    styles = color_symbols(evaluated.methods, RANDOM)
    for method in evaluated.methods:
        own = [mean for mean in means if mean.method == method]
        if own and axis.sizes:
            _add_line(figure, sorted(own, key=lambda mean: mean.group.weights), *styles[method])
        elif own:
            _add_bars(figure, own, axis, *styles[method])
    if axis.sizes:
        _log_axis(figure, list(axis.sizes.values()))
    else:
        names = [wrapped(shortened(place, 2 * NAME)) for place in axis.places]
        figure.update_xaxes(tickvals=list(range(len(names))), ticktext=names)
    over = {"Number of parameters": "by number of parameters", "Data set": "by data set"}.get(axis.title, "by model")
    on = "" if source is None else f" on {evaluated.data[source]}"
    title = f"{facts.label} {over}{on}"
    words = f"{title}: means with 95% intervals. {_finding(evaluated, means, axis)}"
    chart = Chart("by-model", title, words, figure, [_row(mean, evaluated) for mean in means], _notes(means))
    return keyed(metric, chart)


def _axis(evaluated: EvaluatedSet, means: list[Mean]) -> _Axis:
    """The places of the models that have a value; of a single model, of all data sets."""
    if len(evaluated.groups) == 1 and len(evaluated.data) > 1:
        return _Axis("Data set", list(evaluated.data.values()), lambda mean: evaluated.data[mean.data])
    groups = [group for group in evaluated.groups if any(mean.group is group for mean in means)]
    sizes = {group.name: group.weights for group in groups}
    if len(groups) > 1 and all(sizes.values()) and len(set(sizes.values())) == len(groups):
        return _Axis("Number of parameters", list(sizes), lambda mean: mean.group.name, sizes)
    return _Axis("Model", [_with_family(group) for group in groups], lambda mean: _with_family(mean.group))


def _with_family(group: Group) -> str:
    family = group.models[0].family
    return group.name if not family or family.casefold() in group.name.casefold() else f"{group.name} ({family})"


def _add_line(figure: go.Figure, means: list[Mean], color: str, symbol: str) -> None:
    """A line through the means of a method, in the band of their intervals."""
    label, sizes = shown(shortened(shown_name(means[0].method), 2 * NAME)), [mean.group.weights for mean in means]
    ends = [(mean.value.low, mean.value.high, mean.value.mean) for mean in means]
    low, high = (
        [low if low is not None else at for low, _, at in ends],
        [h if h is not None else at for _, h, at in ends],
    )
    r, g, b = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    figure.add_scatter(
        x=[*sizes, *reversed(sizes)],
        y=[*high, *reversed(low)],
        mode="lines",
        fill="toself",
        fillcolor=f"rgba({r},{g},{b},0.12)",
        line={"width": 0},
        hoverinfo="skip",
        legendgroup=label,
        showlegend=False,
    )
    figure.add_scatter(
        x=sizes,
        y=[mean.value.mean for mean in means],
        mode="lines+markers",
        name=label,
        line={"color": color, "width": 2, "dash": "dot" if means[0].method == RANDOM else "solid"},
        marker={"symbol": symbol, "size": 9},
        customdata=[[shown(mean.group.name), _between(mean)] for mean in means],
        hovertemplate="%{customdata[0]}, %{x:,}: %{y:.4g}%{customdata[1]}<extra>" + label + "</extra>",
        legendgroup=label,
    )


def _add_bars(figure: go.Figure, means: list[Mean], axis: _Axis, color: str, _: str) -> None:
    label = shown(shortened(shown_name(means[0].method), 2 * NAME))
    figure.add_bar(
        x=[axis.places.index(axis.of(mean)) for mean in means],
        y=[mean.value.mean for mean in means],
        error_y=error_bars([mean.value for mean in means]),
        name=label,
        marker={"color": color, "pattern": {"shape": "/" if means[0].method == RANDOM else ""}},
        customdata=[[shown(axis.of(mean)), _between(mean)] for mean in means],
        hovertemplate="%{customdata[0]}: %{y:.4g}%{customdata[1]}<extra>" + label + "</extra>",
    )


def _log_axis(figure: go.Figure, sizes: Sequence[int]) -> None:
    ticks = [tick for tick in _DECADES if min(sizes) / 1.6 <= tick <= max(sizes) * 1.6]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[weights_words(tick) for tick in ticks])


def weights_words(weights: int) -> str:
    """``5.4 M``, ``1.2 B`` or ``900 k``."""
    for unit, name in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if weights >= unit:
            return f"{weights / unit:.3g} {name}"
    return str(weights)


def _between(mean: Mean) -> str:
    over = f", {mean.n:,} {mean.over}"
    return over if mean.value.low is None else f" ({mean.value.low:.4g} to {mean.value.high:.4g}){over}"


def _finding(evaluated: EvaluatedSet, means: list[Mean], axis: _Axis) -> str:
    """The best method at each place."""
    sign, listed = (means[0].row.sign if means else 1), []
    for place in axis.places:
        own = [mean for mean in means if axis.of(mean) == place]
        if own:
            best = max(own, key=lambda mean: sign * (mean.value.mean or 0.0))
            listed.append(f"{shown_name(best.method)} for {place}, {mean_words(best.value)}")
    return f"Best: {joined(listed)}." if listed else "No method has a value."


def _notes(means: list[Mean]) -> tuple[str, ...]:
    if not any(mean.over == "models" for mean in means):
        return ()
    return ("Models that differ only in the seed of their training are shown as the mean over these models.",)


def _row(mean: Mean, evaluated: EvaluatedSet) -> dict[str, Any]:
    return {
        "model": mean.group.name,
        "models": ", ".join(model.id for model in mean.group.models),
        "weights": mean.group.weights or None,
        "data": evaluated.data[mean.data],
        "method": mean.method,
        "metric": mean.row.asked,
        **mean.value.model_dump(),
        "over": mean.over,
        "n": mean.n,
    }
