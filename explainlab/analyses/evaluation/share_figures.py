"""Figures of a metric against the share of texts with a planted word: how well maps find a weaker feature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import plotly.graph_objects as go

from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.sets.records import EvaluatedSet
from explainlab.analyses.evaluation.sets.shares import set_shares
from explainlab.analyses.evaluation.table import metric_row, table_of
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.wording import joined
from explainlab.figures.chart import COLORS, GREY, SYMBOLS, Chart, error_bars, layout, shown


def overlap_by_share(shares: Sequence[float], bodies: Sequence[EvaluationData], metric: str) -> Chart:
    """Draw the mean of ``metric`` (its name with the preset) by every method, random in grey, with 95% intervals.

    ``bodies`` are benchmarks with a known truth, of models that learned words planted in ``shares`` of the texts.
    """
    ordered = sorted(zip(shares, bodies, strict=True), key=lambda pair: pair[0])
    facts = metric_row(bodies[0], metric)
    names = [*table_of(bodies[0], "ground_truth").methods, RANDOM]
    figure = go.Figure(layout=layout("Share of the texts with a planted word", shown(facts.directed_label)))
    rows = []
    for number, name in enumerate(names):
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
            line={"color": GREY if name == RANDOM else COLORS[number % len(COLORS)], "width": 2},
            marker={"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 9},
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
    for number, (model, metric) in enumerate(dict.fromkeys((row.model, row.metric) for row in rows), 1):
        shares = {row.data: row.share for row in rows if (row.model, row.metric) == (model, metric)}
        if len(set(shares.values())) < 2:
            continue
        cells = [cell for cell in evaluated.done if cell.model.id == model and cell.data_name in shares]
        chart = overlap_by_share(
            [shares[cell.data_name] for cell in cells], [cell.result.body for cell in cells if cell.result], metric
        )
        title = f"{chart.title}: {cells[0].model.name}"
        alt = chart.alt.replace(chart.title, title)
        yield replace(chart, name=f"{chart.name}-{number}", title=title, alt=alt)
