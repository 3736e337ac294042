"""What the Benchmark page lists: the texts behind a cell, those on which two methods disagree, and all texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from explainlab.analyses.evaluation.agreement_figures import pair_of
from explainlab.analyses.evaluation.result import EvaluationData, MethodMetric
from explainlab.analyses.evaluation.texts import EvaluatedRow
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.app.pages.benchmark.view import Order

MOST_LISTED = 1_000
"""Texts in a list; the files of a run have all."""


def metric_facts(body: EvaluationData) -> dict[str, MethodMetric]:
    """The facts of each metric by the name with which it was asked: a row of the table."""
    return {row.asked: row for row in body.rows if row.method == body.rows[0].method}


def names_of(body: EvaluationData) -> list[str]:
    """All that is evaluated, the methods first."""
    return list(dict.fromkeys(row.method for row in body.rows))


def behind(body: EvaluationData, method: str, metric: str, order: Order) -> list[EvaluatedRow]:
    """The first texts with a value of ``method`` by ``metric``, in ``order``; equal ones as in the file."""
    sign = metric_facts(body)[metric].sign * (-1 if order == "best" else 1)
    values = sign * body.texts.column(method, metric)
    valued = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
    return [body.texts[place] for place in valued[:MOST_LISTED].tolist()]


def cell_records(body: EvaluationData, method: str, metric: str, order: Order) -> list[dict[str, Any]]:
    """The same as a table: the value beside that of the random map of the text."""
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
    """How far every two methods agree."""
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
    """The texts on which two methods agree least, the lowest rank correlation first."""
    pair = pair_of(body, first, second)
    return [
        {"Row": least.row, "Kendall's τ": least.tau, **_facts(body.texts.at(least.row))}
        for least in (pair.most_apart if pair else [])
    ]


def value_records(body: EvaluationData, row: EvaluatedRow) -> list[dict[str, Any]]:
    """One text: the value of every method by every metric."""
    facts = metric_facts(body)
    return [
        {"Method": shown_name(name), **{facts[metric].directed_label: value for metric, value in values.items()}}
        for name, values in row.values.items()
    ]


def text_records(body: EvaluationData) -> list[dict[str, Any]]:
    """The first texts with all values."""
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
    """The text as tables show it; without a second text, that column is left out."""
    pair = {} if text.text_pair is None else {"Second text": text.text_pair}
    return {"Text": text.text, **pair, "True": text.label, "Predicted": text.predicted, "Features": text.features}
