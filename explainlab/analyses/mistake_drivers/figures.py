"""Charts of a model's mistakes: how far its confidence can be trusted, and the words that drive it wrong.

Pure functions of the bodies of the studies ``predictions`` and ``mistake_drivers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from explainlab.figures.chart import BLUE, GREY, RED, Chart, error_bars, layout, shown

Body = dict[str, Any]

SHOWN = 20
_LONGEST = 36  # characters of a word, or a pair, beside its dots


def reliability_diagram(body: Body) -> Chart:
    """Accuracy in every bin of confidence, beside what it would be if confidences were true; below, texts per bin."""
    bins = [one for one in body["calibration"]["bins"] if one["n"]]
    places = {
        "x": [(one["low"] + one["high"]) / 2 for one in bins],
        "width": [one["high"] - one["low"] for one in bins],
    }
    told = [[f"{one['low']:.2f} to {one['high']:.2f}", one["n"], one["confidence"]] for one in bins]
    figure = go.Figure(layout=layout("Confidence", "Accuracy", height=480, bargap=0))
    figure.add_bar(
        **places,
        y=[one["accuracy"] for one in bins],
        name="Accuracy",
        marker={"color": BLUE, "opacity": 0.75, "line": {"color": BLUE, "width": 1}},
        customdata=told,
        hovertemplate="confidence %{customdata[0]}: accuracy %{y:.3f}, mean confidence %{customdata[2]:.3f}, "
        "%{customdata[1]:,} texts<extra></extra>",
    )
    figure.add_scatter(
        x=[one["confidence"] for one in bins],
        y=[one["confidence"] for one in bins],
        mode="markers",
        name="Mean confidence",
        marker={"color": RED, "symbol": "diamond", "size": 8},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="Calibrated", line={"color": GREY, "dash": "dash"}, hoverinfo="skip"
    )
    figure.add_bar(
        **places,
        y=[one["n"] for one in bins],
        yaxis="y2",
        text=[f"{one['n']:,}" for one in bins],
        textposition="outside",
        cliponaxis=False,
        marker={"color": GREY, "opacity": 0.6},
        customdata=told,
        hovertemplate="confidence %{customdata[0]}: %{y:,} texts<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(range=[0, 1], anchor="y2")
    most = max(one["n"] for one in bins)
    figure.update_layout(
        yaxis={"domain": [0.36, 1], "range": [0, 1.02]},
        yaxis2={"domain": [0, 0.24], "title": {"text": "Texts"}, "automargin": True, "range": [0, 1.3 * most]},
    )
    title = f"Reliability of {body['n']:,} predictions"
    accuracy, ece = body["accuracy"]["mean"], body["calibration"]["ece"]
    alt = f"{title}. Accuracy {accuracy:.1%}; the expected calibration error is {ece:.3f}."
    return Chart("reliability", title, alt, figure, body["calibration"]["bins"])


def drivers(body: Body, kind: Literal["words", "pairs"]) -> Chart:
    """The first words or pairs toward the wrong class: mean scores in wrong rows and in correct ones, with intervals.

    ``customdata`` of every dot is its place in ``body[kind]``. A dot without an interval is open.
    """
    found = body[kind][:SHOWN]
    names = [_name(one) for one in found]
    figure = go.Figure(layout=layout("Mean score", "", height=150 + 30 * len(found)))
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    right = [{end: one[f"right_{end}"] for end in ("mean", "low", "high")} for one in found]
    _add_dots(figure, "Correct rows", right, "diamond", BLUE, 0.16)
    _add_dots(figure, "Wrong rows", found, "circle", RED, -0.16)
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, range=[len(names) - 0.5, -0.5])
    title = f"{'Words' if kind == 'words' else 'Pairs'} that push toward the wrong class"
    first = f" First: {' '.join(found[0]['words'])}, toward {found[0]['predicted']}." if found else " There are none."
    alt = f"{title}, in {body['n_wrong']:,} misclassified rows.{first}"
    return Chart(f"driving-{kind}", title, alt, figure, _table(body[kind]), _notes(found, body[kind]))


def _add_dots(figure: go.Figure, name: str, values: Sequence[Body], symbol: str, color: str, beside: float) -> None:
    """A dot for every mean there is, so far ``beside`` its line that no interval hides another."""
    known = [i for i, value in enumerate(values) if value["mean"] is not None]
    bars = error_bars([values[i] for i in known])
    figure.add_scatter(
        x=[values[i]["mean"] for i in known],
        y=[i + beside for i in known],
        error_x=bars and {**bars, "width": 0},
        mode="markers",
        name=name,
        marker={
            "color": color,
            "symbol": [symbol if values[i]["low"] is not None else f"{symbol}-open" for i in known],
            "size": 9,
        },
        customdata=known,
        hovertemplate="%{x:+.4f}<extra>" + name + "</extra>",
    )


def _name(one: Body) -> str:
    """``words → class (rows)``."""
    words = " ".join(one["words"])
    words = words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"
    return shown(f"{words} → {one['predicted']} ({one['rows']:,})")


def _notes(found: Sequence[Body], listed: Sequence[Body]) -> tuple[str, ...]:
    notes = []
    if any(one["once"] for one in found):
        notes.append("Open circles stand in one row only: they have no interval and may be chance.")
    if len(listed) > len(found):
        notes.append(f"Drawn are the first {len(found)} of {len(listed)}; the table has all.")
    return tuple(notes)


def _table(listed: Sequence[Body]) -> list[Body]:
    names = ("predicted", "rows", "mean", "low", "high", "right_mean", "right_low", "right_high", "right_rows")
    return [{"words": " ".join(one["words"]), **{name: one[name] for name in names}} for one in listed]
