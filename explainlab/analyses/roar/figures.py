"""Charts of retraining: curves, the models of the grid and their time, masked texts, and charts of sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.roar.result import CurvePoint, MaskedBy, NodeFacts, NodeStatus, RoarData, RoarText
from explainlab.analyses.roar.verdict import (
    METRICS,
    estimate_words,
    is_random,
    judged,
    kind_name,
    labels_of,
    ratio_words,
    series_name,
    whole_areas,
)
from explainlab.analyses.sets.records import SetCell, StudySet
from explainlab.analyses.wording import capital, counted
from explainlab.figures.chart import (
    BLUE,
    COLORS,
    GREY,
    NAME,
    RED,
    Chart,
    add_band,
    add_cells,
    color_symbols,
    error_bars,
    layout,
    name_rows,
    percent,
    shown,
    wrapped,
)
from explainlab.figures.declared import StudyFigures, keyed
from explainlab.figures.export import SliderFigure, inert
from explainlab.figures.heatmap import Record


class Piece(Record):
    """A piece of a text; ``token`` is its place among the tokens that may be masked, None between them."""

    text: str
    token: int | None


class DrawnMask(Record):
    """The mask of a text by one measure.

    ``at``: for each token the first place in the ratios where it is masked. ``predicted`` is the class (an index
    into the labels) and ``probability`` that of the text's own class, at each ratio; None where they are not known.
    """

    at: list[int]
    predicted: list[int | None]
    probability: list[float | None]


class DrawnText(Record):
    """A text of the test file by its ``row``, in ``pieces`` that make it whole, with a mask for each measure."""

    row: int
    pieces: list[Piece]
    pair: str | None
    label: int
    masks: list[DrawnMask]


class MaskedTexts(SliderFigure):
    """The texts with their masks; ``ratios`` and ``measures`` are the words for these, in order."""

    name = "roar-texts"
    component = "masked_texts"
    styles = ("step_morph", "steering", "masked_texts")

    ratios: list[str]
    labels: list[str]
    measures: list[str]
    texts: list[DrawnText]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for every text, measure and ratio: the masked text, and the model's prediction."""
        for text in self.texts:
            for measure, mask in zip(self.measures, text.masks, strict=True):
                for place, ratio in enumerate(self.ratios):
                    predicted = mask.predicted[place]
                    yield {
                        "row": text.row,
                        "label": inert(self.labels[text.label]),
                        "measure": inert(measure),
                        "masked": ratio,
                        "predicted": None if predicted is None else inert(self.labels[predicted]),
                        "probability": mask.probability[place],
                        "text": inert(_masked(text, mask, place)),
                    }


def masked_texts(body: RoarData) -> MaskedTexts:
    """Return the texts of ``body``, random words last; a measure names its kind where the grid has both."""
    kinds = [(mask.measure, mask.recursive) for mask in body.texts[0].masked] if body.texts else []
    kinds.sort(key=lambda kind: is_random(body, kind[0]))
    return MaskedTexts(
        ratios=[ratio_words(body, ratio) for ratio in body.ratios],
        labels=body.labels,
        measures=[series_name(body, *kind) for kind in kinds],
        texts=[_text(body, text, kinds) for text in body.texts],
    )


def _text(body: RoarData, text: RoarText, kinds: list[tuple[str, bool]]) -> DrawnText:
    masks = {(mask.measure, mask.recursive): mask for mask in text.masked}
    return DrawnText(
        row=text.row,
        pieces=_pieces(text),
        pair=text.text_pair,
        label=text.label,
        masks=[_mask(masks[kind], len(body.ratios) - 1) for kind in kinds],
    )


def _mask(mask: MaskedBy, last: int) -> DrawnMask:
    """Return ``mask`` as it is drawn; at the ``last`` ratio all tokens are masked."""
    at = [last if place is None else place for place in mask.at]
    return DrawnMask(at=at, predicted=mask.predicted, probability=mask.probability)


def _pieces(text: RoarText) -> list[Piece]:
    """Split ``text`` into tokens and the text between; a token that begins within another keeps only the rest."""
    pieces, end = [], 0
    for place, token in sorted(enumerate(text.tokens), key=lambda each: each[1].start):
        if token.start > end:
            pieces.append(Piece(text=text.text[end : token.start], token=None))
        pieces.append(Piece(text=text.text[max(end, token.start) : token.end], token=place))
        end = max(end, token.end)
    rest = text.text[end:]
    return [*pieces, Piece(text=rest, token=None)] if rest else pieces


def _masked(text: DrawnText, mask: DrawnMask, place: int) -> str:
    """Return ``text`` with a sign for each token that is masked at the ratio in this ``place``."""
    return "".join(
        "[MASK]" if piece.token is not None and mask.at[piece.token] <= place else piece.text for piece in text.pieces
    )


COLUMNS = 3
"""Small charts beside each other."""
_HEIGHT, _AROUND = 230, 130  # pixels: of a small chart, and of titles and legend
_SMALL = {"size": 13}
_Place = tuple[int, int]
"""Row and column of a small chart, from 0 on."""


def set_charts(studies: StudySet, columns: int = COLUMNS) -> list[Chart]:
    """Return a chart for Recursive ROAR, for ROAR, or for both, with at most ``columns`` columns."""
    kinds = dict.fromkeys(kind for cell in studies.done for kind in _body(cell).recursive)
    return [small_curves(studies, kind, columns) for kind in kinds]


def small_curves(studies: StudySet, recursive: bool, columns: int = COLUMNS) -> Chart:
    """Draw performance by the share of masked tokens, a small chart for each cell that has a result of this kind.

    Each base has a row of its own where its data sets fit into the ``columns``; else they follow each other.
    """
    cells = [cell for cell in studies.done if recursive in _body(cell).recursive]
    charts = [curves(_body(cell), recursive) for cell in cells]
    places = _places_of(studies, cells, columns)
    titles = [_title(studies, cell) for cell in cells]
    figure = _frame(places, titles, charts[0].figure.layout)
    for place, trace in _traces(places, charts):
        figure.add_trace(trace, row=place[0] + 1, col=place[1] + 1)
    ends = [end for chart in charts for end in chart.figure.layout.yaxis.range]
    figure.update_yaxes(range=[min(ends), max(ends)])
    kind = "recursive" if recursive else "plain"
    title = f"{capital(METRICS[_body(cells[0]).metric])} by {kind_name(recursive)}, cell by cell"
    found = [f"{name}: {_judged(_body(cell), recursive)}" for name, cell in zip(titles, cells, strict=True)]
    rows = [
        {"model": cell.model.name, "data": cell.data_name, **row}
        for cell, chart in zip(cells, charts, strict=True)
        for row in chart.rows
    ]
    notes = tuple(dict.fromkeys(note for chart in charts for note in chart.notes))
    return Chart(f"set-curves-{kind}", title, f"{title}. {'. '.join(found)}.", figure, rows, notes)


def _body(cell: SetCell) -> RoarData:
    assert cell.result is not None
    body: RoarData = cell.result.body
    return body


def _judged(body: RoarData, recursive: bool) -> str:
    labels, rows = labels_of(body), [row for row in whole_areas(body) if row.recursive == recursive]
    return ", ".join(f"{labels[row.measure]} {judged(row)}" for row in rows)


def _title(studies: StudySet, cell: SetCell) -> str:
    """Return the name that distinguishes a cell: its data set, its base, or both."""
    several = [
        name for name, n in ((cell.data_name, len(studies.data)), (cell.model.name, len(studies.groups))) if n > 1
    ]
    return ", ".join(several) or cell.data_name


def _places_of(studies: StudySet, cells: Sequence[SetCell], columns: int) -> list[_Place]:
    models = list(dict.fromkeys(cell.model.id for cell in cells))
    if len(models) > 1 and 1 < len(studies.data) <= columns:
        sources = list(studies.data)
        return [(models.index(cell.model.id), sources.index(cell.data)) for cell in cells]
    return [divmod(i, min(columns, len(cells))) for i in range(len(cells))]


def _frame(places: Sequence[_Place], titles: Sequence[str], first: go.Layout) -> go.Figure:
    """Lay out empty small charts with equal axes; the titles of ``first`` stand at the left and below each column."""
    rows, columns = (1 + max(place[i] for place in places) for i in (0, 1))
    named = dict(zip(places, titles, strict=True))
    every = [(row, column) for row in range(rows) for column in range(columns)]
    width = NAME * COLUMNS // columns
    figure = make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=[wrapped(named.get(place, ""), width) for place in every],
        vertical_spacing=0.35 / (rows + 1),
        horizontal_spacing=0.04,
    )
    figure.update_layout(layout("", "", _AROUND + _HEIGHT * rows), margin={"t": 36})
    figure.update_annotations(font=_SMALL)
    ticks = {"tickvals": first.xaxis.tickvals, "ticktext": first.xaxis.ticktext, "range": _ends(first.xaxis.tickvals)}
    figure.update_xaxes(**ticks, automargin=True, zeroline=False)
    figure.update_yaxes(automargin=True, zeroline=False)
    for row, column in every:
        here, last = {"row": row + 1, "col": column + 1}, (row + 1, column) not in named
        title = {"text": first.xaxis.title.text, "font": _SMALL}
        figure.update_xaxes(**here, visible=(row, column) in named, showticklabels=last, title=title if last else None)
        left = column == 0
        title = {"text": first.yaxis.title.text if left else "", "font": _SMALL}
        figure.update_yaxes(**here, visible=(row, column) in named, showticklabels=left, title=title)
    return figure


def _ends(ticks: Sequence[float]) -> list[float]:
    room = 0.04 * (ticks[-1] - ticks[0])
    return [ticks[0] - room, ticks[-1] + room]


def _traces(places: Sequence[_Place], charts: Sequence[Chart]) -> Iterator[tuple[_Place, go.Scatter]]:
    """Yield the lines of all charts; each name is once in the legend, which shows and hides it everywhere."""
    known = set[str]()
    for place, chart in zip(places, charts, strict=True):
        for trace in chart.figure.data:
            if trace.name:
                trace.legendgroup = trace.legendgroup or shown(trace.name)
                trace.showlegend = trace.name not in known
                known.add(trace.name)
            yield place, trace


STATUSES: dict[NodeStatus, tuple[str, str]] = {
    "waiting": ("·", "waiting"),
    "running": ("…", "running"),
    "done": ("✓", "done"),
    "failed": ("✕", "failed"),
    "not run": ("–", "not run"),
}
"""The sign of a model by its status, and its name."""
_FILLS = ("rgba(0,0,0,0)", COLORS[4], BLUE, RED, GREY)
"""The colours of their cells, in the same order."""
_JUDGED = {"below random": "", "above random": "-open-dot", "not told apart": "-open", None: "-open"}
"""The suffix of a point's symbol by its judgement beside random words."""
_PARTS = {"training": BLUE, "importance": COLORS[4]}
_MINUTE, _HOUR = 120, 7200
_MARGIN = 0.03
"""Room above and below the performance."""


def curves(body: RoarData, recursive: bool) -> Chart:
    """Draw performance by the masked share, a line for each measure with the band of its intervals over seeds.

    Random words are dashed and grey, the lower bound (all masked) is dotted. Filled points are below random words by
    their intervals, open ones are not; those with a dot are above. A ring marks a leak.
    """
    kind, metric = kind_name(recursive), METRICS[body.metric]
    names = [fact.name for fact in body.measures]
    styles = color_symbols([*(name for name in names if not is_random(body, name)), RANDOM], RANDOM)
    figure = go.Figure(
        layout=layout("Masked" if body.counted else "Masked, % of a text's tokens", capital(metric), 460)
    )
    _add_bound(figure, body)
    drawn = [fact for fact in body.measures if any(_line(body, fact.name, recursive))]
    for fact in sorted(drawn, key=lambda fact: not fact.random):
        _add_line(figure, body, fact.name, recursive, *styles[RANDOM if fact.random else fact.name])
    _add_leaks(figure, body, recursive)
    figure.update_xaxes(tickvals=_places(body), ticktext=_ticks(body))
    figure.update_yaxes(range=_range(body))
    told = [f"{labels_of(body)[row.measure]} {judged(row)}" for row in whole_areas(body) if row.recursive == recursive]
    title = f"{capital(metric)} by {kind}"
    found = f"Over the whole area: {', '.join(told)}." if told else "Nothing is known yet."
    alt = f"{title}. {found}"
    rows = [_row(body, point) for fact in body.measures for point in _line(body, fact.name, recursive)]
    return Chart(f"curves-{'recursive' if recursive else 'plain'}", title, alt, figure, rows, _curve_notes(body))


def faithfulness(body: RoarData) -> Chart:
    """Draw the faithfulness of each measure over the whole area, with its interval over seeds; 0 is random words."""
    rows = whole_areas(body)
    names = [fact.name for fact in body.measures if any(row.measure == fact.name for row in rows)]
    labels, several = labels_of(body), len(body.recursive) > 1
    figure = go.Figure(layout=layout("Faithfulness", "", height=110 + 56 * max(1, len(names))))
    figure.add_vline(x=0, line={"color": GREY, "width": 1.5, "dash": "dash"})
    for place, kind in enumerate(body.recursive):
        own = [row for row in rows if row.recursive == kind]
        shift = 0.16 * (2 * place - 1) if several else 0.0
        figure.add_scatter(
            x=[row.mean for row in own],
            y=[names.index(row.measure) + shift for row in own],
            error_x=error_bars(own),
            mode="markers",
            name=kind_name(kind),
            showlegend=several,
            marker={
                "color": BLUE if kind else RED,
                "size": 12,
                "symbol": [("circle" if kind else "square") + _JUDGED[row.verdict] for row in own],
                "line": {"width": 2, "color": BLUE if kind else RED},
            },
            customdata=[f"{estimate_words(row)}, {judged(row)}" for row in own],
            hovertemplate="%{customdata}<extra></extra>",
        )
    name_rows(figure, [labels[name] for name in names])
    told = "; ".join(
        f"{series_name(body, row.measure, row.recursive)} {estimate_words(row)}, {judged(row)}" for row in rows
    )
    title = "Faithfulness over the whole area"
    notes = ("Dashed: random words. Filled: faithful to a degree. Open: not told apart, or with a dot worse.",)
    table = [
        {
            **row.model_dump(include={"measure", "recursive", "upto", "mean", "low", "high", "verdict"}),
            **_seeds(row.seeds),
        }
        for row in body.faithfulness
    ]
    return Chart("faithfulness", title, f"{title}: {told}.", figure, table, notes)


def sparsity(body: RoarData, of: str) -> Chart:
    """Return a chart of the share of importance in the most important tokens; ``of``: ``tokens`` or ``percents``."""
    labels = labels_of(body)
    styles = color_symbols([row.measure for row in body.sparsity], RANDOM)
    by_count = of == "tokens"
    x = list(range(1, 11)) if by_count else list(range(10, 101, 10))
    axis = "Most important tokens" if by_count else "Most important tokens, % of a text's"
    figure = go.Figure(layout=layout(axis, "Share of |importance|", height=360))
    for row in body.sparsity:
        color, symbol = styles[row.measure]
        figure.add_scatter(
            x=x,
            y=row.tokens if by_count else row.percents,
            mode="lines+markers",
            name=shown(labels[row.measure]),
            line={"color": color, "width": 2, "dash": "dash" if is_random(body, row.measure) else "solid"},
            marker={"symbol": symbol, "size": 8},
            hovertemplate="%{x}: %{y:.1%}<extra>" + shown(labels[row.measure]) + "</extra>",
        )
    figure.update_xaxes(tickvals=x)
    figure.update_yaxes(range=[0, 1.03], tickformat=".0%")
    title = f"Sparsity by {'number' if by_count else 'share'} of tokens"
    first = "the first token" if by_count else "the first 10%"
    values = [(labels[row.measure], (row.tokens if by_count else row.percents)[0]) for row in body.sparsity]
    alt = f"{title}. Held by {first}: {', '.join(f'{label} {percent(value)}' for label, value in values)}."
    rows = [
        {"measure": row.measure, of: n, "share": share}
        for row in body.sparsity
        for n, share in zip(x, row.tokens if by_count else row.percents, strict=True)
    ]
    return Chart(f"sparsity-{of}", title, alt, figure, rows)


def models(body: RoarData, measure: str, recursive: bool) -> Chart:
    """Draw the models of a measure: a row a seed, a column a ratio, with a sign for the state of each."""
    nodes = [node for node in body.nodes if (node.measure, node.recursive) == (measure, recursive)]
    title = series_name(body, measure, recursive)
    counts = {status: sum(node.status == status for node in nodes) for status in STATUSES}
    alt = f"Models of {title}: {', '.join(f'{n} {STATUSES[status][1]}' for status, n in counts.items() if n)}."
    place = [fact.name for fact in body.measures].index(measure) + 1
    key = f"{place}-{measure.partition(':')[0]}{'-recursive' if recursive else ''}"
    rows = [node.model_dump() for node in nodes]
    return keyed(key, Chart("models", title, alt, _cells(body, nodes), rows))


def costs(body: RoarData) -> Chart:
    """Draw the time that the models of each measure took: training, and asking the measure."""
    names = [series_name(body, cost.measure, cost.recursive) for cost in body.costs]
    whole = max((cost.training + cost.importance for cost in body.costs), default=0.0)
    unit, seconds = time_unit(whole)
    figure = go.Figure(layout=layout(unit, "", height=110 + 40 * max(1, len(names)), barmode="stack"))
    for part, color in _PARTS.items():
        figure.add_bar(
            x=[getattr(cost, part) / seconds for cost in body.costs],
            y=list(range(len(names))),
            orientation="h",
            name=part,
            marker={"color": color, "pattern": {"shape": "/" if part == "importance" else "", "fillmode": "overlay"}},
            hovertemplate=f"{part}: %{{x:.3g}} {unit.lower()}<extra></extra>",
        )
    name_rows(figure, names)
    title = "Time of all models"
    total = sum(cost.training + cost.importance for cost in body.costs) / seconds
    alt = f"{title}: {total:.3g} {unit.lower()} together."
    return Chart("costs", title, alt, figure, [cost.model_dump() for cost in body.costs])


def time_unit(seconds: float) -> tuple[str, int]:
    """Return the unit of an axis that ends at ``seconds``, and the seconds in one unit."""
    return ("Seconds", 1) if seconds < _MINUTE else ("Minutes", 60) if seconds < _HOUR else ("Hours", 3600)


def all_models(body: RoarData) -> list[Chart]:
    """Draw the matrices of every measure and kind that has models, the shared ones of random words first."""
    keys = dict.fromkeys((node.measure, node.recursive) for node in body.nodes)
    return [models(body, *key) for key in sorted(keys, key=lambda key: not is_random(body, key[0]))]


# ---- the parts of the curves


def _line(body: RoarData, measure: str, recursive: bool) -> list[CurvePoint]:
    """Return the points of a measure, by rising ratio; random words have one line for both kinds."""
    kind = recursive and not is_random(body, measure)
    return [point for point in body.curves if (point.measure, point.recursive) == (measure, kind)]


def _places(body: RoarData) -> list[int]:
    """Return the places of the ratios on the x axis; counts have equal distances, as the last one has any length."""
    return list(range(len(body.ratios))) if body.counted else body.ratios


def _ticks(body: RoarData) -> list[str]:
    return [*map(str, body.ratios[:-1]), "all"] if body.counted else [str(ratio) for ratio in body.ratios]


def _range(body: RoarData) -> list[float]:
    """Return the range of the performance, the same for both kinds; from 0 to 1 where nothing is known."""
    points = [*body.curves, body.performance, body.lower_bound]
    ends = [end for point in points for end in (point.mean, point.low, point.high) if end is not None]
    return [min(ends) - _MARGIN, max(ends) + _MARGIN] if ends else [0.0, 1.0]


def _add_bound(figure: go.Figure, body: RoarData) -> None:
    """Draw the performance with all tokens masked."""
    if body.lower_bound.mean is None:
        return
    figure.add_scatter(
        x=[_places(body)[0], _places(body)[-1]],
        y=[body.lower_bound.mean] * 2,
        mode="lines",
        name="all masked",
        line={"color": GREY, "width": 1.5, "dash": "dot"},
        hovertemplate=f"all masked: {estimate_words(body.lower_bound)}<extra></extra>",
    )


def _add_line(figure: go.Figure, body: RoarData, measure: str, recursive: bool, color: str, symbol: str) -> None:
    points, place = _line(body, measure, recursive), dict(zip(body.ratios, _places(body), strict=True))
    label, random = shown(labels_of(body)[measure]), is_random(body, measure)
    for run in _runs(points):
        x = [place[point.ratio] for point in run]
        add_band(figure, x, [point.low for point in run], [point.high for point in run], color, measure)
    figure.add_scatter(
        x=[place[point.ratio] for point in points],
        y=[point.mean for point in points],
        mode="lines+markers",
        name=label,
        line={"color": color, "width": 2, "dash": "dash" if random else "solid"},
        marker={
            "symbol": [symbol + (_JUDGED[point.verdict] if point.difference else "") for point in points],
            "size": 9,
        },
        customdata=[_point_words(body, point) for point in points],
        hovertemplate="%{customdata}<extra>" + label + "</extra>",
        legendgroup=measure,
    )


def _runs(points: Sequence[CurvePoint]) -> list[list[CurvePoint]]:
    """Return the stretches of ``points`` with means, and their intervals (equal ends without one)."""
    runs: list[list[CurvePoint]] = [[]]
    for point in points:
        if point.mean is None:
            runs.append([])
        elif point.low is None:
            runs[-1].append(point.model_copy(update={"low": point.mean, "high": point.mean}))
        else:
            runs[-1].append(point)
    return [run for run in runs if any(point.low != point.high for point in run)]


def _add_leaks(figure: go.Figure, body: RoarData, recursive: bool) -> None:
    """Draw a ring around each point to which the performance rises."""
    means = {(point.measure, point.recursive, point.ratio): point.mean for point in body.curves}
    place = dict(zip(body.ratios, _places(body), strict=True))
    leaks = [leak for leak in body.leakage if leak.recursive == recursive]
    if not leaks:
        return
    figure.add_scatter(
        x=[place[leak.ratio] for leak in leaks],
        y=[means.get((leak.measure, leak.recursive, leak.ratio)) for leak in leaks],
        mode="markers",
        name="leak",
        marker={"symbol": "circle-open", "size": 20, "color": RED, "line": {"width": 2.5}},
        customdata=[f"{shown(labels_of(body)[leak.measure])}: +{leak.rise:.3f}" for leak in leaks],
        hovertemplate="leak, %{customdata}<extra></extra>",
    )


def _point_words(body: RoarData, point: CurvePoint) -> str:
    judged_words = f", {point.verdict}" if point.verdict else ""
    return f"{ratio_words(body, point.ratio)}: {estimate_words(point)}{judged_words}"


def _curve_notes(body: RoarData) -> tuple[str, ...]:
    notes = ["Bands: 95% intervals over seeds. Filled: below random words. Open: not told apart, or with a dot above."]
    if len(body.seeds) < 3:
        notes = ["No bands: intervals need three seeds."]
    if body.leakage:
        notes.append("A ring: performance rises with more masked, so the masks themselves may tell the class.")
    if body.short:
        notes.append(f"{counted(body.short, 'text')} with fewer tokens than the largest count: masked whole.")
    return tuple(notes)


def _row(body: RoarData, point: CurvePoint) -> dict[str, Any]:
    facts = point.model_dump(include={"measure", "recursive", "ratio", "mean", "low", "high", "verdict"})
    return {**facts, **_seeds(point.seeds), "leak": any(_at(leak) == _at(point) for leak in body.leakage)}


def _at(fact: Any) -> tuple[str, bool, int]:
    return fact.measure, fact.recursive, fact.ratio


def _seeds(values: Sequence[float | None]) -> dict[str, float | None]:
    return {f"seed_{place}": value for place, value in enumerate(values, 1)}


# ---- the parts of the other charts


def _cells(body: RoarData, nodes: Sequence[NodeFacts]) -> go.Figure:
    """Return a coloured cell with a sign for each of ``nodes``."""
    ratios = sorted({node.ratio for node in nodes}, key=body.ratios.index)
    places = [(body.seeds.index(node.seed), ratios.index(node.ratio)) for node in nodes]
    values: list[list[float | None]] = [[None] * len(ratios) for _ in body.seeds]
    hover = [[""] * len(ratios) for _ in body.seeds]
    for (row, column), node in zip(places, nodes, strict=True):
        values[row][column] = list(STATUSES).index(node.status) / (len(_FILLS) - 1)
        hover[row][column] = _node_words(body, node)
    names = ["all" if ratio == body.ratios[-1] else f"{ratio}{'' if body.counted else '%'}" for ratio in ratios]
    figure = go.Figure(layout=layout("", "", height=90 + 28 * len(body.seeds)))
    colors = [(i / (len(_FILLS) - 1), color) for i, color in enumerate(_FILLS)]
    add_cells(figure, names, [f"seed {seed}" for seed in body.seeds], values, [], hover, colors)
    figure.update_traces(xgap=2, ygap=2)
    figure.add_scatter(  # white on every cell that has a colour
        x=[column for _, column in places],
        y=[row for row, _ in places],
        text=[STATUSES[node.status][0] for node in nodes],
        mode="text",
        textfont={"size": 14, "color": [GREY if node.status == "waiting" else "white" for node in nodes]},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.update_layout(margin={"t": 36})
    return figure.update_xaxes(side="top", title=None)


def _node_words(body: RoarData, node: NodeFacts) -> str:
    """Describe a model in a sentence."""
    facts = [f"{ratio_words(body, node.ratio)} masked, seed {node.seed}: {STATUSES[node.status][1]}"]
    if node.performance is not None:
        facts.append(f"{METRICS[body.metric]} {node.performance:.3f}")
    if node.best_epoch is not None:
        facts.append(f"epoch {node.best_epoch} of {node.epochs} kept")
    if node.seconds is not None:
        facts.append(f"{node.seconds:,.1f} s")
    return ", ".join(facts) + (f". {node.reason}" if node.reason else "")


def _charts(result: AnalysisResult[RoarData]) -> list[Chart]:
    body = result.body
    charts = [curves(body, kind) for kind in body.recursive]
    if whole_areas(body):
        charts.append(faithfulness(body))
    if body.sparsity:
        charts += [sparsity(body, "tokens"), sparsity(body, "percents")]
    charts += all_models(body)
    return [*charts, costs(body)] if body.costs else charts


FIGURES = StudyFigures(
    of_data=_charts,
    component=lambda result, _: masked_texts(result.body).to_html() if result.body.texts else "",
)
