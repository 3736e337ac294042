"""Summaries that attacks on embeddings and on words share: means over texts, texts of a data set, numbers, lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from explainlab.analyses.attack.before_after import attacked_row
from explainlab.analyses.attack.result import Measures
from explainlab.analyses.attack.search import Objective
from explainlab.analyses.numbers import Measure, Number
from explainlab.analyses.summary import interval, table
from explainlab.analyses.wording import counted
from explainlab.data import Row

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
