"""The controls of the Benchmark page: model and data set, methods, metrics, and which part of the answer is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import streamlit as st

from explainlab.app.components import bring_into_view
from explainlab.app.data.choice import data_choice, data_controls
from explainlab.app.glossary import explained
from explainlab.app.pages.benchmark.chain import chain_controls
from explainlab.app.pages.benchmark.view import BenchmarkView
from explainlab.app.question import Question, card_of
from explainlab.errors import RequestError
from explainlab.metrics.registry import get_metric, metrics, parse_metric
from explainlab.models.loading import ModelCard
from explainlab.request import GOLD, checked

PAGE = "benchmark"
CELL, PAIR, ALONE = "benchmark_cell", "benchmark_pair", "benchmark_alone"
"""The containers of the texts behind a cell, of those on which two methods disagree most, and of one of several."""
question = Question(PAGE)

_ASKED = ("model", "target", "output", "unit", "seed", "settings", "attributions", "dtype")
_OPEN = (
    *("cell_method", "cell_metric", "order", "opened", "published"),
    *("first", "second", "row", "row_in", "truth"),
)
DRAWN = (*_OPEN, "by", "on")
_MOST_SEED = 2**32 - 1


def seed_controls(view: BenchmarkView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in (*_ASKED, *_OPEN)}
    by_family = {
        f"metrics_{family}": [name for name in view.metrics if _family(name) == family] for family in _families()
    }
    values |= {**data_controls(view), "by": view.by or next(iter(view.metrics), "")}
    lists = {"methods": list(view.methods), "metrics_order": view.metrics, **by_family}
    question.seed({**values, **lists, **chain_controls(view.truth)}, force)


def draft() -> BenchmarkView:
    """The view that the controls describe now; raises ``RequestError`` for what cannot be."""
    values = {name: question.now(name) for name in (*_ASKED, *_OPEN)}
    methods, settings = tuple(question.now("methods")), values.pop("settings")
    ids = [spec.partition(":")[0] for spec in methods]
    return checked(
        BenchmarkView,
        **values,
        methods=methods,
        metrics=_chosen_metrics(),
        settings={name: chosen for name, chosen in settings.items() if name in ids},
        **data_choice(question),
    )


def draw_question(run: Callable[[], None], label: str) -> ModelCard | None:
    """All that is asked; ``run`` is called to ask it, by a button with this ``label``.

    Returns the card of the model (None: not known yet).
    """

    def change_model() -> None:
        question.keep_data(card_of(question.now("model") or ""))

    with st.container(horizontal=True, vertical_alignment="bottom"):
        card = question.draw_model(change_model)
        _draw_target(card)
    source, rows = st.columns(2, vertical_alignment="bottom")
    with source:
        question.draw_data(card)
    with rows:
        question.draw_rows()
    question.draw_methods(card)
    _draw_metrics()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.draw_outputs()
        question.draw_unit()
        seed = explained("For what is random: the rows, the random maps, methods that sample.", "seed")
        st.number_input("Seed", 0, _MOST_SEED, question.now("seed"), key=question.key("seed"), help=seed, width=140)
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")
    return card


def open_cell(method: str, metric: str) -> None:
    """List the texts behind a cell (a callback)."""
    question.seed({"cell_method": method, "cell_metric": metric, "row": None}, force=True)
    bring_into_view(CELL)


def open_alone(model: str, data: str) -> None:
    """Show the own benchmark of a model on a data set (a callback)."""
    question.seed({"opened": (model, data), "row": None}, force=True)
    bring_into_view(ALONE)


def open_pair(first: str, second: str) -> None:
    """List the texts on which two methods disagree most (a callback)."""
    question.seed({"first": first, "second": second, "row": None}, force=True)
    bring_into_view(PAIR)


def open_row(row: int, row_in: str) -> None:
    """Open a text in a list (a callback)."""
    question.seed({"row": row, "row_in": row_in}, force=True)


def keep_known(name: str, known: Sequence[str], default: str = "") -> None:
    """Reset a choice that this answer does not have to ``default``."""
    if question.now(name) not in known:
        question.set(name, default)


def _draw_target(card: ModelCard | None) -> None:
    targets = {name: name for name in ("predicted", *(card.labels if card else ()))}
    targets[GOLD] = "the row's own label"
    keep_known("target", list(targets), "predicted")
    question.select("Target", "target", targets, explained("The class that the scores speak for or against.", "target"))


def _draw_metrics() -> None:
    """A box for every family; the first, the largest, has a line of its own."""
    boxes = _families()
    places = [st.container(), *st.columns(len(boxes) - 1)]
    for place, (family, names) in zip(places, boxes.items(), strict=True):
        with place:
            question.draw_specs(
                f"{family} metrics",
                f"metrics_{family}",
                [parse_metric(name).name for name in names],
                parse_metric,
                explained("To set options, type a metric's id and its options: log_odds:k=10.", *names),
            )


def _families() -> dict[str, list[str]]:
    """The ids of all metrics by family, in the order shown."""
    by_family = groupby(metrics().values(), lambda metric: metric.family)
    return {family: [metric.id for metric in members] for family, members in by_family}


def _family(name: str) -> str:
    """The family of the metric that ``name`` asks for; the first family if it asks for none."""
    try:
        return get_metric(name.partition(":")[0].strip()).family
    except RequestError:
        return next(iter(_families()))


def _chosen_metrics() -> tuple[str, ...]:
    """The metrics of all families: first those of the view that was opened, in its order."""
    chosen = [name for family in _families() for name in question.now(f"metrics_{family}")]
    before = [name for name in question.now("metrics_order") if name in chosen]
    return tuple([*before, *(name for name in chosen if name not in before)])
