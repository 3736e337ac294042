"""The words of a Plotly figure, which are written in a little HTML, as lines of plain text."""

from __future__ import annotations

import html
import re

SIZE = 12
CHARACTER = 6.7
"""About the width of a character of that size, in pixels."""


def lines_of(text: object) -> list[str]:
    """``text`` in plain lines."""
    pieces = re.split(r"<br\s*/?>", str(text or ""))
    return [html.unescape(re.sub(r"<[^>]*>", "", piece)) for piece in pieces]


def width_of(lines: list[str]) -> float:
    """About the width of the longest of ``lines``, in pixels."""
    return CHARACTER * max(map(len, lines), default=0)
