"""The time of a grid, before it is begun: a bar for the training, and one for each measure."""

from __future__ import annotations

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.roar.figures import time_unit
from explainlab.analyses.roar_estimate.result import RoarEstimate
from explainlab.analyses.wording import duration
from explainlab.figures.chart import BLUE, Chart, layout, name_rows
from explainlab.figures.declared import StudyFigures


def time(body: RoarEstimate) -> Chart:
    """Return a chart of the time to train all models, and of the time that each measure needs on them."""
    parts = {"Training": body.training, **{own.label: own.seconds for own in body.measures}}
    unit, seconds = time_unit(max(parts.values()))
    figure = go.Figure(layout=layout(unit, "", height=110 + 40 * len(parts)))
    figure.add_bar(
        x=[part / seconds for part in parts.values()],
        y=list(range(len(parts))),
        orientation="h",
        marker={"color": BLUE},
        customdata=[duration(part) for part in parts.values()],
        hovertemplate="%{customdata}<extra></extra>",
    )
    name_rows(figure, list(parts))
    title = f"Expected time of {body.models:,} models"
    told = ", ".join(f"{name} {duration(part)}" for name, part in parts.items())
    rows = [{"part": name, "seconds": part} for name, part in parts.items()]
    return Chart("time", title, f"{title}: {told}.", figure, rows)


def _charts(result: AnalysisResult[RoarEstimate]) -> list[Chart]:
    return [time(result.body)]


FIGURES = StudyFigures(of_data=_charts)
