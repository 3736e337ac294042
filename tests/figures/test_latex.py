"""Words, numbers and tables in LaTeX: no character of a name is read as a command."""

from __future__ import annotations

import re

import pandas as pd

from explainlab.figures.latex import RULE, document, escaped, measured, stacked, table_of_rows


def well_formed(document: str) -> None:
    """Braces are balanced, environments close in order, and every row has as many cells as its table has columns."""
    plain = re.sub(r"\\[\\{}$&#_%]", "", document)
    depth = 0
    for character in plain:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert plain.count("$") % 2 == 0
    opened: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", document):
        if what == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []
    for columns, rows in re.findall(r"\\begin\{tabular\}\{l(c+)\}(.*?)\\end\{tabular\}", document, re.DOTALL):
        cells = [row for row in rows.split("\n") if row.endswith(r"\\")]
        assert cells
        assert {len(re.findall(r"(?<!\\)&", row)) for row in cells} == {len(columns)}


def test_every_character_is_escaped() -> None:
    assert escaped("naïve ß 電\n\x00−") == r"naïve ß \texttt{U+96FB} $-$"
    assert escaped("^~|[--]") == r"\textasciicircum{}\textasciitilde{}\textbar{}{[}{-}{-}{]}"


def test_numbers_are_written_as_mathematics() -> None:
    assert measured("0.500") == "$0.500$"
    assert measured("−1,234.5%", "0.1%", bold=True) == r"$\mathbf{-1{,}234.5\%} \pm 0.1\%$"
    assert measured("0.0012%", "under 0.001%") == r"$0.0012\% \pm <0.001\%$"
    well_formed(document([table_of_rows("", "lc", ["Model", "A"], [["x", measured("1,000%", "1%", bold=True)]])]))


def test_a_table_is_the_same_whatever_options_pandas_has() -> None:
    rows = [["a", measured("0.5", "0.1")], [f"{RULE}b", "--"]]
    options = ["styler.format.escape", "latex", "styler.latex.environment", "longtable", "styler.render.max_rows", 1]
    with pd.option_context(*options):
        table = table_of_rows(r"A \textbf{caption}", "lc", ["Method", stacked(["A", "(50%)"])], rows)
    assert table == (
        "\\begin{table}\n"
        "\\centering\\setlength{\\belowcaptionskip}{6pt}\\scriptsize\\setlength{\\tabcolsep}{4pt}\n"
        "\\caption{A \\textbf{caption}}\n"
        "\\begin{tabular}{lc}\n"
        "\\toprule\n"
        "Method & \\shortstack{A \\\\ (50\\%)} \\\\\n"
        "\\midrule\n"
        "a & $0.5 \\pm 0.1$ \\\\\n"
        "\\midrule\n"
        "b & -- \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\end{table}\n"
    )
