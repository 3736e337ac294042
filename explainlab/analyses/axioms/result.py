"""The typed result of the axioms: of a text, and of a data set."""

from __future__ import annotations

from typing import Literal

from explainlab.analyses.base import Record
from explainlab.analyses.records import TextBody

Axiom = Literal["completeness", "dummy", "symmetry", "linearity", "implementation_invariance", "sensitivity"]


class Checked(Record):
    """The check of one ``axiom`` on one ``method`` with its options: ``passed``, and the number behind it.

    ``passed`` is None where the method does not promise the axiom, or nothing can be known; ``why`` tells. ``value`` is
    held against ``tolerance``: it must not be above it, of sensitivity not below. None: nothing was computed.
    """

    axiom: Axiom
    method: str
    passed: bool | None
    value: float | None
    tolerance: float
    why: str


class AxiomsText(TextBody):
    """Every method by every axiom, on one text."""

    rows: list[Checked]


class CheckedTexts(Checked):
    """The check over texts: the worst ``value``; ``passed`` in all of the ``n`` texts where there is an answer.

    In ``failures`` of them the axiom fails.
    """

    n: int
    failures: int


class AxiomsRow(Record):
    """One text of a data set, by its number."""

    row: int
    text: str
    text_pair: str | None = None
    label: str | None
    rows: list[Checked]


class AxiomsData(Record):
    """Every method by every axiom over all texts, and in each."""

    n: int
    rows: list[CheckedTexts]
    texts: list[AxiomsRow]
