"""The figures of an evaluation: its heat table, agreement, cost, sweeps and slices; of a text, its maps."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.attributions import method_request
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.latex import latex
from explainlab.analyses.evaluation.published import published_files
from explainlab.analyses.evaluation.result import (
    REVERSED,
    TITLES,
    Agreement,
    EvaluationData,
    EvaluationText,
    Kind,
    MethodMetric,
    Slice,
    SliceMean,
)
from explainlab.analyses.evaluation.result import shown as shown_result
from explainlab.analyses.evaluation.sets import EvaluatedSet, set_shares
from explainlab.analyses.evaluation.table import MetricTable, average_rank, kinds_of, metric_row, table_of
from explainlab.analyses.evaluation.told_apart import critical_diagram, differences
from explainlab.analyses.evaluation.verdict import data_verdict, left_out, shown_name, text_verdict
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.planted.figures import accuracies
from explainlab.analyses.records import KnownInterval
from explainlab.analyses.wording import counted, joined, mean_words
from explainlab.attribution.registry import MethodSpec, get_method, parse_spec, signed_of
from explainlab.errors import RequestError
from explainlab.figures.chart import (
    BLUE,
    COLORS,
    GREY,
    NAME,
    SYMBOLS,
    Chart,
    CostPoint,
    color_symbols,
    cost_chart,
    error_bars,
    layout,
    log_steps,
    name_rows,
    percent,
    shortened,
    shown,
)
from explainlab.figures.declared import Map, StudyFigures, keyed
from explainlab.figures.heatmap import heatmap, number
from explainlab.figures.matrix import WORSE, Cell, Matrix
from explainlab.metrics.registry import parse_metric

CONFLICT = "≠"
"""Begins the share of sign conflicts, as on heatmaps of tokens."""
_NOTE = (
    "Kendall's tau of the features' scores, mean over texts: 1 is the same order, 0 none in common, −1 the opposite. "
    f"{CONFLICT}: the share of the features important to both whose signs differ, where both methods have signs."
)


def agreement_matrix(body: EvaluationData) -> Chart:
    """Draw Kendall's tau of every two methods with their sign conflicts; the columns are numbered like the rows."""
    title = f"How far the methods agree: Kendall's tau, {counted(body.n, 'text')}"
    rows = [
        {
            "first": pair.first,
            "second": pair.second,
            **{f"tau_{name}": value for name, value in pair.tau.model_dump().items()},
            **{f"sign_conflicts_{name}": value for name, value in _conflicts(pair).items()},
        }
        for pair in body.agreement
    ]
    return Chart("agreement", title, _finding(title, body), _matrix(body).figure(), rows, (_NOTE,))


def agreement_cells(body: EvaluationData, first: str = "", second: str = "", dark: bool = False) -> dict[str, Any]:
    """Return the matrix as cells that can be pressed, a Vega-Lite specification with its data.

    A press selects ``{"first", "second"}`` under :data:`explainlab.figures.matrix.CELL`: the methods of the row and of
    the column, in either order and also the same one twice. The cell of ``first`` and ``second`` is framed. The result
    must have agreements.
    """
    return _matrix(body).pressable({"first": first, "second": second}, dark)


def pair_of(body: EvaluationData, first: str, second: str) -> Agreement | None:
    """Return the agreement of two methods, in either order; None if there is none."""
    return next((pair for pair in body.agreement if {pair.first, pair.second} == {first, second}), None)


def _matrix(body: EvaluationData) -> Matrix:
    methods = list(dict.fromkeys(name for pair in body.agreement for name in (pair.first, pair.second)))
    pairs = {(pair.first, pair.second): pair for pair in body.agreement}
    pairs |= {(pair.second, pair.first): pair for pair in body.agreement}
    cells = [
        _cell(i, j, first, second, pairs.get((first, second)))
        for i, first in enumerate(methods)
        for j, second in enumerate(methods)
    ]
    numbered = [f"{shown_name(name)}  {i}" for i, name in enumerate(methods, 1)]
    return Matrix(numbered, [str(i) for i in range(1, len(methods) + 1)], cells, len(methods))


def _cell(row: int, column: int, first: str, second: str, pair: Agreement | None) -> Cell:
    key = {"first": first, "second": second}
    if pair is None:
        return Cell(row, column, key, None, ("",), f"{shown_name(first)} with itself")
    names = f"{shown_name(first)} and {shown_name(second)}"
    if pair.tau.mean is None:
        return Cell(row, column, key, None, ("–",), f"{names}: tau is not defined for any text")
    lines, words = (
        [_written(pair.tau.mean)],
        [f"{names}: tau {mean_words(pair.tau)}, n = {pair.tau.n:,}"],
    )
    if pair.sign_conflicts is not None and pair.sign_conflicts.mean is not None:
        lines.append(f"{CONFLICT} {percent(pair.sign_conflicts.mean)}")
        words.append(f"signs differ for {percent(pair.sign_conflicts.mean)} of the features important to both")
    return Cell(row, column, key, pair.tau.mean, tuple(lines), "; ".join(words))


def _conflicts(pair: Agreement) -> dict[str, float | int | None]:
    if pair.sign_conflicts is None:
        return {"mean": None, "low": None, "high": None, "n": None}
    return pair.sign_conflicts.model_dump()


def _finding(title: str, body: EvaluationData) -> str:
    known = [(pair.tau.mean, pair) for pair in body.agreement if pair.tau.mean is not None]
    if not known:
        return f"{title}. None is defined."
    ends = (max(known, key=lambda each: each[0]), min(known, key=lambda each: each[0]))
    near, apart = (f"{shown_name(pair.first)} and {shown_name(pair.second)}, {_written(tau)}" for tau, pair in ends)
    return f"{title}. Highest: {near}; lowest: {apart}."


def _written(tau: float) -> str:
    return f"{tau:z.2f}".replace("-", "−")


def overlap_by_share(shares: Sequence[float], bodies: Sequence[EvaluationData], metric: str) -> Chart:
    """Draw the mean of ``metric`` (its name with the preset) by every method, random in grey, with 95% intervals.

    ``bodies`` are benchmarks with a known truth, of models that learned words planted in ``shares`` of the texts.
    """
    ordered = sorted(zip(shares, bodies, strict=True), key=lambda pair: pair[0])
    facts = metric_row(bodies[0], metric)
    names = [*table_of(bodies[0], "ground_truth").methods, RANDOM]
    figure = go.Figure(layout=layout("Share of the texts with a planted word", shown(facts.directed_label)))
    rows = []
    for i, name in enumerate(names):
        cells = [
            (share, row) for share, body in ordered for row in body.rows if (row.method, row.asked) == (name, metric)
        ]
        known = [(share, row.interval) for share, row in cells if row.mean is not None]
        figure.add_scatter(
            x=[share for share, _ in known],
            y=[interval.mean for _, interval in known],
            error_y=error_bars([interval for _, interval in known]),
            mode="lines+markers",
            name=shown(shown_name(name)),
            line={"color": GREY if name == RANDOM else COLORS[i % len(COLORS)], "width": 2},
            marker={"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 9},
        )
        rows += [
            {"method": name, "metric": metric, "share": share, **row.interval.model_dump(), "n": row.n}
            for share, row in cells
        ]
    figure.update_xaxes(range=[0, 1.05], tickformat=".0%")
    title = f"{facts.label} against the share of the texts with a planted word"
    listed = joined(list(dict.fromkeys(f"{share:.0%}" for share, _ in ordered)))
    return Chart("overlap-by-share", title, f"{title}: {len(names)} methods at {listed}.", figure, rows)


def share_charts(evaluated: EvaluatedSet) -> Iterator[Chart]:
    """Yield :func:`overlap_by_share` for every model of a set with several shares, by every metric of ground truth."""
    rows = set_shares(evaluated)
    for place, (model, metric) in enumerate(dict.fromkeys((row.model, row.metric) for row in rows), 1):
        shares = {row.data: row.share for row in rows if (row.model, row.metric) == (model, metric)}
        if len(set(shares.values())) < 2:
            continue
        cells = [cell for cell in evaluated.done if cell.model.id == model and cell.data_name in shares]
        chart = overlap_by_share(
            [shares[cell.data_name] for cell in cells], [cell.result.body for cell in cells if cell.result], metric
        )
        title = f"{chart.title}: {cells[0].model.name}"
        alt = chart.alt.replace(chart.title, title)
        yield replace(chart, name=f"{chart.name}-{place}", title=title, alt=alt)


MOST_CLASSES = 12
"""Classes that are drawn, the largest; the table of the chart has all."""
_SPREAD = 0.72  # of the height of a slice
_LONGEST, _DOT, _HEAD = 28, 15, 130


def slice_means(body: EvaluationData, metric: str) -> Chart:
    """Draw every method's mean with its interval in every slice; slices with few texts are grey.

    Reversed controls are left out. ``metric`` is its name with the preset (``asked``). Without slices the chart has no
    rows.
    """
    facts = metric_row(body, metric)
    title = f"{facts.label} by slices of the texts"
    drawn = _drawn(body)
    names = [row.method for row in body.rows if row.asked == metric and not row.method.startswith(REVERSED)]
    figure = go.Figure(layout=layout(shown(facts.directed_label), "", _HEAD + (_DOT * len(names) + 12) * len(drawn)))
    styles = color_symbols(names, RANDOM)
    for m, name in enumerate(names):
        offset = _SPREAD * ((m + 0.5) / len(names) - 0.5)
        means = [(i + offset, each, _mean(each, facts.key, name)) for i, each in enumerate(drawn)]
        _add_method(figure, name, [(y, each, mean) for y, each, mean in means if mean], *styles[name])
    name_rows(figure, [_label(each) for each in drawn])
    for i in range(1, len(drawn)):
        heavy = drawn[i].by != drawn[i - 1].by
        figure.add_hline(y=i - 0.5, line={"color": GREY, "width": 1.5 if heavy else 0.5})
    rows = [
        {"by": each.by, "slice": each.name, "texts": each.n, "few": each.few, **mean.model_dump()}
        for each in body.slices
        for mean in each.rows
        if mean.metric == facts.key
    ]
    listed = "; ".join(_best_words(each, facts.key, facts.sign) for each in drawn)
    return Chart("slices", title, f"{title}. Best: {listed}.", figure, rows, _notes(body))


def _drawn(body: EvaluationData) -> list[Slice]:
    """Return the slices to draw: all, but for the classes only the largest :data:`MOST_CLASSES`."""
    classes = sorted((each for each in body.slices if each.by == "label"), key=lambda each: -each.n)[:MOST_CLASSES]
    return [each for each in body.slices if each.by != "label" or each in classes]


def _add_method(
    figure: go.Figure, name: str, points: list[tuple[float, Slice, SliceMean]], color: str, symbol: str
) -> None:
    """Add the means of a method, grey for slices with few texts, and its entry in the legend."""
    label = shown(shortened(shown_name(name), 2 * NAME))
    figure.add_scatter(
        x=[None], y=[None], mode="markers", name=label, marker={"color": color, "symbol": symbol}, legendgroup=name
    )
    for few, hue in ((False, color), (True, GREY)):
        part = [point for point in points if point[1].few is few]
        if not part:
            continue
        bars = error_bars([mean for *_, mean in part])
        figure.add_scatter(
            x=[mean.mean for *_, mean in part],
            y=[y for y, *_ in part],
            error_x=bars and {**bars, "thickness": 1, "width": 0},
            mode="markers",
            marker={"color": hue, "symbol": symbol, "size": 8},
            opacity=0.6 if few else 1,
            customdata=[[shown(_label(each)), f"{mean.n:,}"] for _, each, mean in part],
            hovertemplate="%{customdata[0]}: %{x:.4g}, n = %{customdata[1]}<extra>" + label + "</extra>",
            legendgroup=name,
            showlegend=False,
        )


def _label(each: Slice) -> str:
    name = shortened(each.name or "(no label)", _LONGEST)
    named = {"label": f"Class {name}", "prediction": f"Predicted {name}", "length": f"{name} features"}[each.by]
    return f"{named}, n = {each.n:,}"


def _mean(each: Slice, key: str, method: str) -> SliceMean | None:
    rows = (row for row in each.rows if row.metric == key and row.method == method and row.mean is not None)
    return next(rows, None)


def _best_words(each: Slice, key: str, sign: int) -> str:
    rows = [row for row in each.rows if row.metric == key and not row.method.startswith(REVERSED)]
    known = [(sign * row.mean, row.method) for row in rows if row.mean is not None]
    return f"{_label(each)}: {shown_name(max(known, key=lambda pair: pair[0])[1]) if known else 'none'}"


def _notes(body: EvaluationData) -> tuple[str, ...]:
    few = [each for each in body.slices if each.few]
    hidden = sum(each.by == "label" for each in body.slices) - MOST_CLASSES
    notes = [f"Grey: {counted(len(few), 'slice')} with fewer than 20 texts, too few to lean on."] if few else []
    return (*notes, *([f"The largest {MOST_CLASSES} classes; the table has {hidden:,} more."] if hidden > 0 else []))


_WIDE = 20.0
"""The ratio of the largest value to the smallest from which on the axis is logarithmic."""


@dataclass(frozen=True)
class Sweep:
    """Specs of ``method`` that differ in the number ``parameter``.

    ``lines`` are those alike in all else: by the options that they share in words, values with names, rising. ``idle``:
    the method does not use the parameter with these options.
    """

    method: str
    parameter: str
    lines: dict[str, list[tuple[float, str]]]
    idle: bool


def sweeps(names: Sequence[str]) -> list[Sweep]:
    """Return every number in which at least two of the methods ``names`` differ, and in nothing else."""
    lines: dict[tuple[str, str], dict[str, list[tuple[float, str]]]] = defaultdict(lambda: defaultdict(list))
    requests = {name: request for name in names if (request := _read(name)) is not None}
    for name, request in requests.items():
        for parameter, value in request.parameters:
            amount = _amount(value)
            if amount is not None:
                lines[request.method, parameter][_rest(request, parameter)].append((amount, name))
    found = []
    for (method, parameter), by_rest in lines.items():
        kept = {rest: sorted(points) for rest, points in by_rest.items() if len(points) > 1}
        if kept:
            swept = [requests[name].parameters for points in kept.values() for _, name in points]
            idle = all(parameter in get_method(method).ineffective_parameters(own) for own in swept)
            found.append(Sweep(method, parameter, kept, idle))
    return found


def sweep_charts(body: EvaluationData, metric: str) -> list[Chart]:
    """Draw a chart for each of :func:`sweeps`: the means of ``metric`` (``asked``) with intervals, beside random's."""
    rows = {row.method: row for row in body.rows if row.asked == metric and row.mean is not None}
    charts = [_chart(sweep, rows, metric_row(body, metric)) for sweep in sweeps(list(rows))]
    return [chart for chart in charts if chart.rows]


def _chart(sweep: Sweep, means: dict[str, MethodMetric], facts: MethodMetric) -> Chart:
    label, words = get_method(sweep.method).label, sweep.parameter.replace("_", " ")
    figure = go.Figure(layout=layout(shown(words.capitalize()), shown(facts.directed_label), height=360))
    rows: list[dict[str, Any]] = []
    for i, (rest, points) in enumerate(sweep.lines.items()):
        own = [means[name] for _, name in points]
        figure.add_scatter(
            x=[value for value, _ in points],
            y=[row.mean for row in own],
            error_y=error_bars(own),
            mode="lines+markers",
            name=shown(rest or label),
            line={"color": COLORS[i % len(COLORS)]},
            marker={"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 9},
            hovertemplate=f"{shown(words)} " + "%{x:,g}: %{y:.4g}<extra>" + shown(rest or label) + "</extra>",
        )
        rows += [
            {"method": name, sweep.parameter: value, **row.interval.model_dump()}
            for (value, name), row in zip(points, own, strict=True)
        ]
    random = means.get(RANDOM)
    if random is not None:
        figure.add_hline(y=random.mean, line={"color": GREY, "dash": "dash"}, annotation_text="random")
    values = [value for points in sweep.lines.values() for value, _ in points]
    if min(values) > 0 and max(values) / min(values) >= _WIDE:
        log_steps(figure, values)
    title = f"{facts.label} of {label} against {words}"
    ends = [(points[0], points[-1]) for points in sweep.lines.values()]
    listed = "; ".join(
        f"from {number(means[first[1]].mean)} at {first[0]:g} to {number(means[last[1]].mean)} at {last[0]:g}"
        for first, last in ends
    )
    notes = (f"{label} does not use {words} with these options.",) if sweep.idle else ()
    return Chart(f"sweep-{sweep.method}-{sweep.parameter}", title, f"{title}: {listed}.", figure, rows, notes)


def _read(name: str) -> MethodSpec | None:
    """Return the method of ``name``; None for a control or a file."""
    try:
        return parse_spec(name)
    except RequestError:
        return None


def _amount(value: Any) -> float | None:
    """Return a number, also from a budget that counts features (``16n``); None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        return float(value.removesuffix("n") if isinstance(value, str) else value)
    except (TypeError, ValueError):
        return None


def _rest(request: MethodSpec, parameter: str) -> str:
    """Return the other options that differ from their defaults, in words; budgets by feature count as another kind."""
    usual = type(request.parameters)()
    others = {name: value for name, value in request.parameters if name != parameter and value != getattr(usual, name)}
    per_feature = isinstance(value := getattr(request.parameters, parameter), str) and value.endswith("n")
    words = [f"{name.replace('_', ' ')} {value}" for name, value in others.items()]
    return ", ".join([*words, *(["times the features"] if per_feature else [])])


_COLOURS = (
    f"Colours run from random (none) to the best method of each metric (full blue); red and {WORSE}: worse than random."
)
_HEADING = 18  # characters of a line


def heat_table(body: EvaluationData, kind: Kind = "faithfulness") -> Chart:
    """Draw the table as a chart to keep: means with intervals, methods by average rank, controls apart at the end."""
    table = table_of(body, kind)
    title = f"{TITLES[kind]}: means of {counted(body.n, 'text')} with 95% intervals"
    notes = [_COLOURS, *_absences(table, body)]
    figure = _heat_matrix(table, body).figure()
    return Chart(f"table-{kind}", title, _heat_finding(title, table), figure, _rows(table, body), tuple(notes))


def heat_cells(
    body: EvaluationData, kind: Kind = "faithfulness", method: str = "", metric: str = "", dark: bool = False
) -> dict[str, Any]:
    """Return the table as cells that can be pressed, a Vega-Lite specification with its data.

    A press selects ``{"method", "metric"}`` (the metric's name ``asked``) under :data:`explainlab.figures.matrix.CELL`.
    The cell of ``method`` and ``metric`` is framed.
    """
    return _heat_matrix(table_of(body, kind), body).pressable({"method": method, "metric": metric}, dark)


def _heat_matrix(table: MetricTable, body: EvaluationData) -> Matrix:
    listed = [*table.methods, None, *table.controls]
    cells = [
        Cell(
            row=i,
            column=j,
            key={"method": method, "metric": metric},
            share=table.share(method, metric),
            lines=_words(table, table.cells[method, metric]),
            hover=_hover(table, table.cells[method, metric], body),
        )
        for i, method in enumerate(listed)
        for j, metric in enumerate(table.metrics)
        if method is not None
    ]
    names = ["Controls" if method is None else shown_name(method) for method in listed]
    return Matrix(names, [_heading(table, facts, body) for facts in table.metrics.values()], cells, len(table.methods))


def _heading(table: MetricTable, facts: MethodMetric, body: EvaluationData) -> str:
    """Return the metric with its preset and its arrow; below, the number of texts where these are not all."""
    *words, arrow = facts.directed_label.split(" ")
    lines = textwrap.wrap(f"{' '.join(words)}\u00a0{arrow}", _HEADING)
    n = table.shared_n(facts.asked)
    return "\n".join(lines if n in (None, body.n) else [*lines, f"n = {n:,}"])


def _words(table: MetricTable, row: MethodMetric) -> tuple[str, ...]:
    """Return the mean, its interval, and the number of its texts where the column's differ."""
    worse = f" {WORSE}" if (table.share(row.method, row.asked) or 0.0) < 0 else ""
    n = f"n = {row.n:,}" if table.shared_n(row.asked) is None else ""
    return tuple(filter(None, (table.written(row.mean, row.asked) + worse, table.between(row), n)))


def _hover(table: MetricTable, row: MethodMetric, body: EvaluationData) -> str:
    name = f"{shown_name(row.method)}, {row.directed_label}"
    if row.mean is None:
        return f"{name}: no value, {body.rationales or 'as it is not defined for any of these texts'}"
    words = [f"{name}: {table.written(row.mean, row.asked)}"]
    words += [f"95% interval {table.between(row)}"] if row.low is not None else []
    words += [f"n = {row.n:,}"]
    if (table.share(row.method, row.asked) or 0.0) < 0:
        words.append("worse than random")
    if row.told_apart is not None:
        words.append("told apart from the best" if row.told_apart else "not told apart from the best")
    elif table.best[row.asked] is row:
        words.append("the best")
    return "; ".join(words)


def _heat_finding(title: str, table: MetricTable) -> str:
    best = [cell for metric in table.metrics if (cell := table.best[metric]) is not None]
    words = "; ".join(
        f"{cell.label}: {shown_name(cell.method)}, {table.written(cell.mean, cell.asked)}" for cell in best
    )
    return f"{title}. Best by {words}." if words else f"{title}. No method has a value."


def _absences(table: MetricTable, body: EvaluationData) -> list[str]:
    """Return the reasons why cells stand on fewer texts than the others, or on none."""
    if not any(row.undefined for row in table.cells.values()):
        return []
    reasons = f": {body.rationales}" if body.rationales is not None and str(body.rationales) else ""
    return [f"n: the texts for which the metric is defined, of {body.n:,}{reasons}.", *left_out(body, [*table.metrics])]


def _rows(table: MetricTable, body: EvaluationData) -> list[dict[str, Any]]:
    keys = [facts.key for facts in table.metrics.values()]
    return [
        {
            "method": method,
            "metric": metric,
            "kind": table.kind,
            "higher_is_better": facts.higher_is_better,
            **row.interval.model_dump(),
            "n": row.n,
            "undefined": row.undefined,
            "from_random": table.share(method, metric),
            "told_apart": row.told_apart,
            "average_rank": average_rank(body, method, keys),
        }
        for method in [*table.methods, *table.controls]
        for metric, facts in table.metrics.items()
        for row in [table.cells[method, metric]]
    ]


Body = EvaluationText | EvaluationData


def methods_by_metric(body: Body, name: str) -> Chart:
    """Draw every method's value of a metric, the best first: of a text, or means with their intervals.

    Controls are grey. ``name`` is the metric with its options; a method without a value is left out.
    """
    metric, values = parse_metric(name), _values(body, name)
    sign = -1 if metric.higher_is_better else 1
    order = sorted(values, key=lambda method: sign * values[method].mean)
    label = f"{metric.label} {'↑' if metric.higher_is_better else '↓'}"
    bars = error_bars([values[method] for method in order])
    figure = go.Figure(layout=layout(shown(label), "", height=110 + 36 * len(order)))
    figure.add_scatter(
        x=[values[method].mean for method in order],
        y=list(range(len(order))),
        error_x=bars and {**bars, "color": GREY},
        mode="markers",
        marker={
            "color": [BLUE if _symbol(method) == "circle" else GREY for method in order],
            "symbol": [_symbol(method) for method in order],
            "size": 10,
        },
        customdata=[shown(shown_name(method)) for method in order],
        hovertemplate="%{customdata}: %{x:.4g}<extra></extra>",
        showlegend=False,
    )
    name_rows(figure, [shown_name(method) for method in order])
    of = f", means of {body.texts_by(name):,} texts with 95% intervals" if isinstance(body, EvaluationData) else ""
    title = f"Methods by {metric.label}{of}"
    finding = data_verdict(body, metric) if isinstance(body, EvaluationData) else text_verdict(body, metric)
    rows = [{"method": method, "metric": name, **values[method].model_dump()} for method in order]
    return Chart("methods-by-metric", title, f"{title}: {finding}.", figure, rows)


def _symbol(method: str) -> str:
    """Return the symbol of a method or a control."""
    return "cross" if method == RANDOM else "x" if method.startswith(REVERSED) else "circle"


def _metrics(body: Body) -> list[str]:
    """Return the metrics of ``body`` with their options."""
    if isinstance(body, EvaluationData):
        return list(dict.fromkeys(row.asked for row in body.rows))
    return list(dict.fromkeys(metric for values in body.values.values() for metric in values))


def _values(body: Body, metric: str) -> dict[str, KnownInterval]:
    """Return the mean of every method; the value of a text has no interval."""
    if isinstance(body, EvaluationData):
        means = {row.method: row.interval for row in body.rows if row.asked == metric}
        return {
            method: KnownInterval(mean=value.mean, low=value.low, high=value.high)
            for method, value in means.items()
            if value.mean is not None
        }
    return {
        method: KnownInterval(mean=value, low=None, high=None)
        for method, values in body.values.items()
        if (value := values[metric]) is not None
    }


def quality_against_cost(body: EvaluationData, metric: str) -> Chart:
    """Draw every method's mean against its passes for each text, with the Pareto front, without reversed controls.

    ``metric`` is its name with the preset (``asked``). Attributions made elsewhere have no cost.
    """
    facts = metric_row(body, metric)
    points = [
        CostPoint(
            row.method,
            shown_name(row.method),
            body.cost_by_method[row.method].total / body.n,
            row.mean,
            row.interval,
            {"metric": metric, **row.interval.model_dump()},
        )
        for row in body.rows
        if row.asked == metric and row.mean is not None and row.method in body.cost_by_method
    ]
    chart = cost_chart(points, facts.label, facts.higher_is_better, "against-cost", RANDOM, facts.directed_label)
    given = {row.method for row in body.rows if not row.method.startswith(REVERSED)} - set(body.cost_by_method)
    listed = joined([shown_name(name) for name in sorted(given)]) if given else ""
    return replace(chart, notes=(f"Made elsewhere, at an unknown cost: {listed}.",)) if given else chart


def _of_text(result: AnalysisResult[EvaluationText]) -> list[Chart]:
    body = result.body
    return [keyed(metric, methods_by_metric(body, metric)) for metric in _metrics(body) if _values(body, metric)]


def charts_of(body: EvaluationData) -> list[Chart]:
    """Draw the tables, the values of each metric, and the agreement of methods, without empty charts."""
    metrics = [metric for metric in _metrics(body) if _values(body, metric)]
    draws = (methods_by_metric, differences, critical_diagram, quality_against_cost, slice_means)
    by_metric = [keyed(metric, draw(body, metric)) for metric in metrics for draw in draws]
    swept = [keyed(metric, chart) for metric in metrics for chart in sweep_charts(body, metric)]
    checks = [accuracies(body.planted)] if body.planted is not None else []
    tables = [heat_table(body, kind) for kind in kinds_of(body)]
    charts = [*tables, *checks, *by_metric, *swept, agreement_matrix(body)]
    return [chart for chart in charts if chart.rows]


def _files(result: AnalysisResult[EvaluationData]) -> dict[str, str]:
    result = shown_result(result)
    return {"table.tex": latex(result), **published_files(result)}


def _heatmaps(result: AnalysisResult[EvaluationText]) -> list[Map]:
    chosen, drawings = result.request.parameters, []
    for name, scores in result.body.scores.items():
        ours = parse_spec(name, chosen["settings"]) if name in chosen["methods"] else None
        method, settings = (ours.method, ours.parameters.model_dump(mode="json")) if ours else (name, {})
        request = method_request(result.request, method, settings)
        drawn = heatmap(result.body.attribution(request, scores, signed=signed_of(method, settings, scores)))
        if ours is None:
            drawn = drawn.model_copy(update={"explained": f"scores for {drawn.target}, made elsewhere"})
        drawings.append(Map(shown_name(name), drawn))
    return drawings


FIGURES = StudyFigures(
    _of_text,
    lambda result: charts_of(shown_result(result).body),
    _heatmaps,
    "No method has a value by any of these metrics.",
    _files,
)
