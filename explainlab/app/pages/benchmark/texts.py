"""The texts behind a benchmark: a table of them, and one with its maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from explainlab.analyses.evaluation.figures import pair_of
from explainlab.analyses.evaluation.result import EvaluationData, MethodMetric
from explainlab.analyses.evaluation.texts import EvaluatedRow
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.wording import counted
from explainlab.app.glossary import explained
from explainlab.app.page import draw_open_in
from explainlab.app.pages.benchmark.form import CELL, PAGE, PAIR, BenchmarkView, Order, keep_known, open_row, question
from explainlab.app.text import plain
from explainlab.service.service import Service

_ORDERS = {"best": "Best first", "worst": "Worst first"}
_HEIGHT, _SCROLLED = 280, 7
_OPEN_HELP = "Every method's map of this text, side by side, with the settings and the seed of this benchmark."
_CHOOSE = "Choose"


def draw_cell(service: Service, view: BenchmarkView, body: EvaluationData) -> None:
    """Draw the choice of a cell, and the texts behind it."""
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
            question.select("Order", "order", _ORDERS, radio=True)
        records = cell_records(body, *chosen, question.now("order"))
        valued = next(row.n for row in body.rows if (row.method, row.asked) == chosen)
        first = f"The first {len(records):,} of " if len(records) < valued else ""
        left_out = f"; {counted(body.n - valued, 'text')} without a value" if valued < body.n else ""
        st.caption(f"{first}{counted(valued, 'text')}{left_out}. Pick one to see every method's value for it.")
        _draw_list(service, view, body, records, "cell")


def draw_pair(service: Service, view: BenchmarkView, body: EvaluationData) -> None:
    """Draw the choice of two methods, and the texts on which they agree least."""
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
    """Return the ``options`` after the choice of none; a choice that is no option gives way to none."""
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
    """Draw one text with the values of every method, and the pages that explain it."""
    with st.container(border=True):
        st.markdown(f"**Row {row.row:,}** · true **{plain(row.label)}** · predicted **{plain(row.predicted)}**")
        for text in (row.text, row.text_pair):
            if text is not None:
                st.markdown(plain(text))
        records = value_records(body, row)
        st.dataframe(pd.DataFrame(records), height="content", hide_index=True, column_config=_columns(records))
        st.caption("On Explain: every method's map of this text side by side.", help=explained(_OPEN_HELP, "seed"))
        draw_open_in(service, view.row_inputs(row.text, row.text_pair, row.text_seed), PAGE.name)


def _columns(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the formats of the columns of numbers; texts are wide."""
    numbers = {name for record in records for name, value in record.items() if isinstance(value, float)}
    columns: dict[str, Any] = {name: st.column_config.NumberColumn(format="%.3f") for name in numbers}
    return {**columns, "Text": st.column_config.TextColumn(width="large")}


MOST_LISTED = 1_000
"""Texts in a list; the files of a run have all."""


def metric_facts(body: EvaluationData) -> dict[str, MethodMetric]:
    """Return the facts of each metric by its name in the request: a row of the table."""
    return {row.asked: row for row in body.rows if row.method == body.rows[0].method}


def names_of(body: EvaluationData) -> list[str]:
    """Return the names of all that is evaluated, the methods first."""
    return list(dict.fromkeys(row.method for row in body.rows))


def behind(body: EvaluationData, method: str, metric: str, order: Order) -> list[EvaluatedRow]:
    """Return the first texts with a value of ``method`` by ``metric``, in ``order``; equal ones as in the file."""
    sign = metric_facts(body)[metric].sign * (-1 if order == "best" else 1)
    values = sign * body.texts.column(method, metric)
    valued = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
    return [body.texts[place] for place in valued[:MOST_LISTED].tolist()]


def cell_records(body: EvaluationData, method: str, metric: str, order: Order) -> list[dict[str, Any]]:
    """Return the same as a table: the value beside that of the random map of the text."""
    return [
        {
            "Row": text.row,
            "Value": text.values[method][metric],
            **({} if method == RANDOM else {"Random": text.values.get(RANDOM, {}).get(metric)}),
            **_facts(text),
        }
        for text in behind(body, method, metric, order)
    ]


def pairs_records(body: EvaluationData) -> list[dict[str, Any]]:
    """Return the agreement of every two methods."""
    return [
        {
            "First": shown_name(pair.first),
            "Second": shown_name(pair.second),
            "Kendall's τ": pair.tau.mean,
            "Sign conflicts": None if pair.sign_conflicts is None else pair.sign_conflicts.mean,
            "Texts": pair.tau.n,
        }
        for pair in body.agreement
    ]


def pair_records(body: EvaluationData, first: str, second: str) -> list[dict[str, Any]]:
    """Return the texts on which two methods agree least, the lowest rank correlation first."""
    pair = pair_of(body, first, second)
    return [
        {"Row": least.row, "Kendall's τ": least.tau, **_facts(body.texts.at(least.row))}
        for least in (pair.most_apart if pair else [])
    ]


def value_records(body: EvaluationData, row: EvaluatedRow) -> list[dict[str, Any]]:
    """Return the values of one text: of every method by every metric."""
    facts = metric_facts(body)
    return [
        {"Method": shown_name(name), **{facts[metric].directed_label: value for metric, value in values.items()}}
        for name, values in row.values.items()
    ]


def text_records(body: EvaluationData) -> list[dict[str, Any]]:
    """Return the first texts with all values."""
    facts = metric_facts(body)
    return [
        {
            "Row": text.row,
            **_facts(text),
            **{
                f"{shown_name(name)}, {facts[metric].label}": value
                for name, values in text.values.items()
                for metric, value in values.items()
            },
        }
        for text in body.texts[:MOST_LISTED]
    ]


def _facts(text: EvaluatedRow) -> dict[str, Any]:
    """Return the text in the form of the tables; without a second text, that column is left out."""
    pair = {} if text.text_pair is None else {"Second text": text.text_pair}
    return {"Text": text.text, **pair, "True": text.label, "Predicted": text.predicted, "Features": text.features}
