"""A text before and after attacks, and summaries for attacks on embeddings and on words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from explainlab.analyses.attack.result import AttackedRow, Measures, Original
from explainlab.analyses.attack.search import Objective, Point, normalised, rank_change, top, top_k_sum_change
from explainlab.analyses.records import TextBody
from explainlab.analyses.summary import Measure, Number, interval, table
from explainlab.analyses.wording import counted
from explainlab.attribution.subject import Subject
from explainlab.data import Row


def original_of(subject: Subject, scores: np.ndarray, k: int, among: np.ndarray) -> Original:
    """Return the map ``scores`` [n_features] before the attacks, with the reason if the text is left out.

    The listed features are the top ``k`` per cent of the features ``among``, rounded down.
    """
    n = len(among)
    size, shares = k * n // 100, normalised(scores, among)
    left_out = ""
    if not size:
        left_out = f"{k}% of {counted(n, subject.unit)} is none"
    elif not np.isfinite(shares).all():
        left_out = "the map is 0 everywhere"
    listed = [] if left_out else top(shares, among, size).tolist()
    return Original(
        scores=scores.tolist(),
        listed=listed,
        top_k_sum=None if left_out else float(shares[listed].sum()),
        left_out=left_out,
    )


def changes(among: np.ndarray, listed: np.ndarray, before: Point, after: Point) -> dict[str, float]:
    """Return the fields of :class:`.result.Measures` for maps of the features ``among``."""
    first, last = (normalised(point.scores, among) for point in (before, after))
    change = before.probability - after.probability
    return {
        "rank_change": rank_change(listed, top(last, among, len(listed))),
        "top_k_sum_change": top_k_sum_change(first, last, listed),
        "probability_change": change,
        "absolute_probability_change": abs(change),
    }


def attacked_row(row: Row, original: Original, body: TextBody) -> AttackedRow:
    """Return a text of a data set before its attacks."""
    own: dict[str, Any] = original.model_dump()
    return AttackedRow(
        **own,
        row=row.number,
        text=row.text,
        text_pair=row.text_pair,
        label=row.label,
        prediction=body.prediction,
    )


Objectives = Literal["both", "unconstrained", "constrained"]
MEASURES = {
    "rank_change": "Rank Change",
    "top_k_sum_change": "Top-k Sum Change",
    "probability_change": "Probability Change",
    "absolute_probability_change": "|Probability Change|",
}


def objectives(asked: Objectives) -> list[Objective]:
    """Return the objectives that ``asked`` stands for, the unconstrained first."""
    return ["unconstrained", "constrained"] if asked == "both" else [asked]


def means(texts: Sequence[Any], measures: type[Measures]) -> dict[str, Any]:
    """Return the fields of a row over the attacked ``texts``: the means of all ``measures``, ``failed``, and ``n``."""
    found = {key: interval([getattr(text.measures, key) for text in texts]) for key in measures.model_fields}
    return {**found, "failed": sum(text.failed for text in texts), "n": len(texts)}


def data_fields(rows: Sequence[Row], bodies: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a data set's body that come from its texts, all but the means."""
    pairs = list(zip(rows, bodies, strict=True))
    return {
        "method": bodies[0].method,
        "label": bodies[0].label,
        "left_out": sum(bool(body.original.left_out) for body in bodies),
        "originals": [attacked_row(row, body.original, body) for row, body in pairs],
        "texts": [text.model_copy(update={"row": row.number}) for row, body in pairs for text in body.texts],
    }


def numbers_of(
    body: Any, measures: Mapping[str, str], name: Callable[[Any], str], label: Callable[[Any], str]
) -> list[Number]:
    """Return the headline numbers of a data set's ``body``: each of its ``measures`` in every row with a text.

    ``name`` and ``label`` distinguish rows, and the attacks on each text: in files and for readers.
    """
    texts: dict[str, list[Any]] = {}
    for text in body.texts:
        texts.setdefault(name(text), []).append(text)
    return [
        Number(
            Measure(f"{key}:{name(row)}", f"{words} ({label(row)})", False),
            getattr(row, key),
            row.n,
            body.method,
            body.label,
            values=[getattr(text.measures, key) for text in texts[name(row)]],
            rows=[text.row for text in texts[name(row)]],
        )
        for key, words in measures.items()
        for row in body.rows
        if row.n
    ]


def lines_of(body: Any, measures: Mapping[str, str], columns: Mapping[str, str]) -> list[str]:
    """Return a table with a line for each row of ``body``, and the number of texts left out.

    ``columns`` name fields of the rows that stand before the ``measures``.
    """
    rows = [
        {
            **{heading: getattr(row, field) for heading, field in columns.items()},
            **{name: str(getattr(row, key)) for key, name in measures.items()},
            "failed": f"{row.failed} of {row.n}",
        }
        for row in body.rows
    ]
    left_out = body.left_out if hasattr(body, "left_out") else int(bool(body.original.left_out))
    return [table(rows), *([f"Left out: {counted(left_out, 'text')}"] if left_out else [])]
