"""Drivers of mistakes: words and pairs of words that speak for the wrong class, and their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.mistake_drivers.analysis import CLEAR_ROWS, MistakeDrivers
from explainlab.analyses.mistake_drivers.figures import Kind, drivers, drivers_of, places
from explainlab.analyses.mistake_drivers.result import Driver, DrivingPair, MistakeDriversData, folded
from explainlab.analyses.wording import counted, interval_words, joined, quoted
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart
from explainlab.app.cost_estimates import draw_cost_estimate
from explainlab.app.page import draw_headline
from explainlab.app.pages.errors.form import FORM, PICKED, ErrorsView, let_through, pick
from explainlab.app.pages.errors.state import DRIVERS, PredictionTable
from explainlab.app.place import Requests
from explainlab.app.question import card_of
from explainlab.app.text import plain
from explainlab.attribution.registry import get_method, parse_spec
from explainlab.models.loading import ModelCard
from explainlab.service.service import Service

_KINDS: dict[Kind, str] = {"words": "word", "pairs": "pair of words"}

_HELP = (
    "In every misclassified row, the wrongly predicted class is explained: a word with a high score "
    "there speaks for the wrong class. Beside it is the same word's score for that class in rows "
    "that are predicted right, of any class."
)
_COLUMNS = {
    "Rows": st.column_config.NumberColumn(help="Misclassified rows that contain it."),
    "Score": st.column_config.NumberColumn(help="Mean score for the wrong class.", format="%+.3f"),
    "Interaction": st.column_config.NumberColumn(
        help=(
            "How much more both words push together than each does alone, found by masking them; for "
            "the first pairs only."
        ),
        format="%+.3f",
    ),
    "In correct rows": st.column_config.NumberColumn(
        help="Mean score for the same class in rows that are predicted right, of any class.", format="%+.3f"
    ),
}

_SCROLLED, _MOST_PICKED = 7, 3
_ROW_COLUMNS = {
    "Text": st.column_config.TextColumn(width="large"),
    "Confidence": st.column_config.NumberColumn(format="percent"),
}


def draw_drivers(service: Service, view: ErrorsView, table: PredictionTable) -> None:
    """Draw the method, and its answer if it is stored, else its job or the button.

    ``table`` holds the predictions.
    """
    st.header("What drives the mistakes", anchor=False, help=_HELP)
    request = view.drivers_request()
    answer = DRIVERS.answer_if_requested(service, request)
    card = card_of(view.model)
    choice, button = st.columns([3, 9], vertical_alignment="bottom")
    with choice:
        FORM.draw("drivers", card)
    if answer is not None:
        DRIVERS.draw_state(service, [answer])
        if answer.result is not None:
            _draw_answer(view, answer.result, table)
        return
    unsupported = _unsupported(view.drivers, card)
    button.button(
        "Explain all mistakes",
        icon=":material/troubleshoot:",
        on_click=DRIVERS.ask,
        args=(service, Requests((request,))),
        disabled=bool(unsupported),
    )
    if unsupported:
        st.warning(plain(unsupported), icon=":material/block:")
    else:
        draw_cost_estimate(service, lambda: [request], maps(table))


def maps(table: PredictionTable) -> int:
    """Count the attributions for the answer: of misclassified rows, and of correct ones toward each wrong class."""
    wrong = int(table.rows.wrong.sum())
    right = min(MistakeDrivers.Parameters().right, len(table) - wrong)
    classes = len(table.rows.table["predicted"].filter(table.rows.wrong).unique())
    return wrong + right * classes


def compared_words(body: MistakeDriversData) -> str:
    """Count the explained rows: the misclassified ones, and those they are compared with."""
    return f"{counted(body.n_wrong, 'misclassified row')} against {counted(body.n_compared, 'correct one')}"


def _unsupported(spec: str, card: ModelCard | None) -> str:
    """Return why the method does not support the model of ``card``; empty if it does, or is not known yet."""
    return get_method(parse_spec(spec).method).unsupported(card.architecture) if card else ""


def _draw_answer(view: ErrorsView, result: AnalysisResult[MistakeDriversData], table: PredictionTable) -> None:
    body = result.body
    draw_headline(result)
    rows = compared_words(body)
    method = plain(parse_spec(body.method).label)
    words, hide = st.columns([9, 3], vertical_alignment="center")
    words.caption(f"{rows}, by {method}, with 95% bootstrap intervals. Pick a word or a pair to see its rows.")
    with hide:
        FORM.draw("function_words")
    for column, kind in zip(st.columns(2, gap="large"), _KINDS, strict=True):
        with column:
            _draw_drivers(view, result, kind)
    _draw_picked(view, body, table)


def _draw_drivers(view: ErrorsView, result: AnalysisResult[MistakeDriversData], kind: Kind) -> None:
    """Draw the chart of words or of pairs, and their table, which serves the keyboard too; unclear ones are folded."""
    listed, hide = drivers_of(result.body, kind), view.hide_function_words
    shown = places(result.body, kind, hide)

    def pressed(data: list[Any]) -> None:
        pick(PICKED, numbers=listed[int(data[0])].row_numbers)

    if not listed:
        st.info(f"No {_KINDS[kind]} speaks for a wrong class.", icon=":material/info:")
        return
    if shown:
        draw_chart(cached_for(result, drivers, result.body, kind, hide), f"errors_{kind}", pressed, _HELP)
        _draw_table([listed[i] for i in shown], f"errors_{kind}_table")
    else:
        st.info(f"No {_KINDS[kind]} clearly pushes toward a wrong class.", icon=":material/info:")
    rest = [driver for driver in listed if folded(driver, hide)]
    if rest:
        few = f"in fewer than {CLEAR_ROWS} rows, or not clearly above zero"
        label = f"{len(rest):,} more: {few}{', or function words' if hide else ''}"
        more = st.expander(
            label, not shown, icon=":material/unfold_more:", key=f"errors_{kind}_folded", on_change="rerun"
        )
        if more.open:
            with more:
                _draw_table(rest, f"errors_{kind}_folded_table")


def _draw_table(listed: Sequence[Driver], key: str) -> None:
    def picked() -> None:
        rows = st.session_state[key].selection.rows
        if rows:
            pick(PICKED, numbers=listed[rows[0]].row_numbers)

    st.dataframe(
        pd.DataFrame([_row(driver) for driver in listed]),
        height="content" if len(listed) < _SCROLLED else 280,
        key=key,
        on_select=picked,
        selection_mode="single-row",
        hide_index=True,
        column_config=_COLUMNS,
    )


def _draw_picked(view: ErrorsView, body: MistakeDriversData, table: PredictionTable) -> None:
    """Draw the rows of the picked word or pair."""
    every: Sequence[Driver] = [*body.words, *body.pairs]
    picked = [driver for driver in every if view.numbers and tuple(driver.row_numbers) == view.numbers]
    if not picked:
        return
    names = joined([f"{quoted(driver.name)} toward {quoted(driver.predicted)}" for driver in picked[:_MOST_PICKED]])
    more = f" and {len(picked) - _MOST_PICKED} more" if len(picked) > _MOST_PICKED else ""
    with st.container(border=True, key=PICKED):
        words, button = st.columns([4, 1], vertical_alignment="center")
        words.markdown(f"**Picked: {plain(names)}{more}, in {counted(len(view.numbers), 'row')}**")
        button.button("Clear", key="errors_unpick", on_click=let_through, width="stretch")
        rows = pd.DataFrame(table.rows.at(np.flatnonzero(np.isin(table.numbers, view.numbers))))
        st.dataframe(
            rows[["row", "text", "label", "predicted", "confidence"]]
            .rename(columns={"label": "true"})
            .rename(columns=str.capitalize),
            hide_index=True,
            column_config=_ROW_COLUMNS,
        )
        st.caption("The list above shows only these rows; open one there to see its maps.")


def _row(driver: Driver) -> dict[str, Any]:
    interaction = driver.interaction if isinstance(driver, DrivingPair) else None
    return {
        "Words": driver.name,
        "Toward": driver.predicted,
        "Rows": driver.rows,
        "Score": driver.mean,
        "Interval": interval_words(driver.wrong_interval, "+.3f"),
        "In correct rows": driver.right_mean,
        "Interval there": interval_words(driver.right_interval, "+.3f"),
        **({"Interaction": interaction.mean} if interaction else {}),
    }
