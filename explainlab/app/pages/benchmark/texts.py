"""The texts behind a number: listed, and one of them open with its values, to be explained on other pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.texts import EvaluatedRow
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.wording import counted
from explainlab.app.glossary import explained
from explainlab.app.page import draw_open_in
from explainlab.app.pages.benchmark.controls import (
    CELL,
    PAIR,
    keep_known,
    open_row,
    question,
)
from explainlab.app.pages.benchmark.listing import (
    cell_records,
    metric_facts,
    names_of,
    pair_records,
    value_records,
)
from explainlab.app.pages.benchmark.main import PAGE
from explainlab.app.pages.benchmark.view import BenchmarkView
from explainlab.app.text import plain
from explainlab.service.service import Service

_ORDERS = {"best": "Best first", "worst": "Worst first"}
_HEIGHT, _SCROLLED = 280, 7
_OPEN_HELP = "Every method's map of this text, side by side, with the settings and the seed of this benchmark."
_CHOOSE = "Choose"


def draw_cell(service: Service, view: BenchmarkView, body: EvaluationData) -> None:
    """Which cell is open, and the texts behind it."""
    facts = metric_facts(body)
    method = _known({name: shown_name(name) for name in names_of(body)}, "cell_method")
    metric = _known({name: fact.directed_label for name, fact in facts.items()}, "cell_metric")
    with st.container(key=CELL):
        st.markdown("**The texts behind a cell**", help="Press a cell of the table above, or choose it here.")
        places = st.columns([3, 3, 2], vertical_alignment="bottom")
        with places[0]:
            question.select("Method", "cell_method", method)
        with places[1]:
            question.select("Metric", "cell_metric", metric)
        chosen = question.now("cell_method"), question.now("cell_metric")
        if not all(chosen):
            return
        with places[2]:
            question.choose("Order", "order", _ORDERS)
        records = cell_records(body, *chosen, question.now("order"))
        valued = next(row.n for row in body.rows if (row.method, row.asked) == chosen)
        first = f"The first {len(records):,} of " if len(records) < valued else ""
        left_out = f"; {counted(body.n - valued, 'text')} without a value" if valued < body.n else ""
        st.caption(f"{first}{counted(valued, 'text')}{left_out}. Pick one to see every method's value for it.")
        _draw_list(service, view, body, records, "cell")


def draw_pair(service: Service, view: BenchmarkView, body: EvaluationData) -> None:
    """Which two methods are held against each other, and the texts on which they agree least."""
    names = {name: shown_name(name) for name in dict.fromkeys(n for p in body.agreement for n in (p.first, p.second))}
    with st.container(key=PAIR):
        st.markdown("**Where two methods disagree most**", help="Press a cell above, or choose two methods here.")
        for place, name, label in zip(st.columns(2), ("first", "second"), ("First", "Second"), strict=True):
            with place:
                question.select(f"{label} method", name, _known(names, name))
        first, second = question.now("first"), question.now("second")
        if not (first and second):
            return
        records = pair_records(body, first, second)
        if not records:
            same = first == second
            words = "Choose two different methods." if same else "Their agreement is not defined for any text."
            st.info(words, icon=":material/info:")
            return
        st.caption(f"The {counted(len(records), 'text')} with the lowest rank correlation. Pick one to open it.")
        _draw_list(service, view, body, records, "pair")


def _known(options: Mapping[str, str], name: str) -> dict[str, str]:
    """The ``options`` after the choice of none; a choice that is no option gives way to none."""
    keep_known(name, list(options))
    return {"": _CHOOSE, **options}


def _draw_list(
    service: Service,
    view: BenchmarkView,
    body: EvaluationData,
    records: Sequence[Mapping[str, Any]],
    row_in: Literal["cell", "pair"],
) -> None:
    key, rows = f"benchmark_texts_{row_in}", [record["Row"] for record in records]
    opened = view.row if view.row_in == row_in and view.row in rows else None

    def picked() -> None:
        places = st.session_state[key].selection.rows
        if places and places[0] < len(rows):
            open_row(rows[places[0]], row_in)

    places = [] if opened is None else [rows.index(opened)]
    st.session_state[key] = {"selection": {"rows": places, "columns": [], "cells": []}}
    st.dataframe(
        pd.DataFrame(records),
        height="content" if len(records) < _SCROLLED else _HEIGHT,
        hide_index=True,
        column_config=_columns(records),
        key=key,
        on_select=picked,
        selection_mode="single-row",
        alt=f"{counted(len(records), 'text')} with their values; pick one to open it below.",
    )
    if opened is not None:
        _draw_text(service, view, body, body.texts.at(opened))


def _draw_text(service: Service, view: BenchmarkView, body: EvaluationData, row: EvaluatedRow) -> None:
    """One text with the values of every method, and the pages that explain it."""
    with st.container(border=True):
        st.markdown(f"**Row {row.row:,}** · true **{plain(row.label)}** · predicted **{plain(row.predicted)}**")
        for text in (row.text, row.text_pair):
            if text is not None:
                st.markdown(plain(text))
        records = value_records(body, row)
        st.dataframe(pd.DataFrame(records), height="content", hide_index=True, column_config=_columns(records))
        st.caption("On Explain: every method's map of this text side by side.", help=explained(_OPEN_HELP, "seed"))
        draw_open_in(service, view.carried_row(row.text, row.text_pair, row.text_seed), PAGE.name)


def _columns(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How the columns of numbers are written; texts are wide."""
    numbers = {name for record in records for name, value in record.items() if isinstance(value, float)}
    columns: dict[str, Any] = {name: st.column_config.NumberColumn(format="%.3f") for name in numbers}
    return {**columns, "Text": st.column_config.TextColumn(width="large")}
