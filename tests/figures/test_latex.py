"""Words and numbers in LaTeX: no character of a name is read as a command."""

from __future__ import annotations

import re

from explainlab.figures.latex import document, escaped, measured, table_of_rows


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
