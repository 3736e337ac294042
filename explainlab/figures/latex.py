"""Tables in LaTeX that compile alone, or are copied from ``\\begin{table}`` on."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import pandas as pd

RULE = "\\midrule\n"
"""The beginning of a first cell whose row has a line above it."""
_TOGETHER = 10  # tables before those that wait for a place are printed: LaTeX lets few wait
_HEAD = r"""\documentclass{article}
\usepackage[a4paper,landscape,margin=2cm]{geometry}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{booktabs}
\begin{document}
"""
_MARKS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": "{'}",
    "`": "{`}",
    "-": "{-}",
    "*": "{*}",
    "[": "{[}",
    "]": "{]}",
    "−": "$-$",
    "×": r"$\times$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
}
_LETTERS = "".join(map(chr, set(range(0xC0, 0x100)) - {0xD7, 0xF7})) + (
    "ĂăĄąĆćČčĎďĐđĘęĚěĞğİıĹĺĽľŁłŃńŇňŊŋŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž"
)
"""The letters of the T1 fonts beyond ASCII."""


def document(tables: Iterable[str]) -> str:
    """Return a standalone document of tables that need nothing but ``booktabs``; its pages fit wide tables."""
    listed = list(tables)
    pages = ["\n".join(listed[start : start + _TOGETHER]) for start in range(0, len(listed), _TOGETHER)]
    return _HEAD + "\\clearpage\n".join(pages) + "\\end{document}\n"


def escaped(text: str) -> str:
    """Return ``text`` as plain words of LaTeX: special characters escaped, and characters without a glyph spelled."""
    return "".join(_character(character) for character in text)


def table_of_rows(
    caption: str,
    columns: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    size: str = r"\scriptsize\setlength{\tabcolsep}{4pt}",
) -> str:
    """Return a table of cells in LaTeX: ``columns`` is its specification, ``headings`` and ``rows`` are LaTeX already.

    A row whose first cell begins with :data:`RULE` has a line above it.
    """
    frame = pd.DataFrame(list(rows), columns=range(len(headings)), dtype=object)
    style = frame.set_axis(list(headings), axis="columns").style.hide(axis="index").format()
    look = rf"centering\setlength{{\belowcaptionskip}}{{6pt}}{size}"
    style.set_table_styles([{"selector": "position_float", "props": [("", look)]}])
    table: str = style.to_latex(column_format=columns, caption=caption, environment="table", hrules=True)
    return table


def stacked(lines: Sequence[str]) -> str:
    """Return words in several lines of a cell."""
    return r"\shortstack{" + r" \\ ".join(map(escaped, lines)) + "}"


def measured(mean: str, half: str = "", bold: bool = False) -> str:
    """Return a cell with a ``mean`` in words and ``half`` the width of its interval (empty: it has none)."""
    number = rf"\mathbf{{{_number(mean)}}}" if bold else _number(mean)
    return rf"${number} \pm {_number(half)}$" if half else f"${number}$"


def _number(words: str) -> str:
    """Return a number in words, such as ``−1,000``, ``5%`` or ``under 5%``, for LaTeX's mathematics."""
    marks = {"−": "-", ",": "{,}", "%": r"\%", "under ": "<"}
    for mark, written in marks.items():
        words = words.replace(mark, written)
    return words


def _character(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    if " " <= character <= "~" or character in _LETTERS:
        return character
    if unicodedata.category(character)[0] in "ZC":
        return " " if character.isspace() else ""
    return rf"\texttt{{U+{ord(character):04X}}}"
