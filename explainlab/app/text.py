"""The only way from a user's or a model's words to Markdown."""

from __future__ import annotations

import re
import unicodedata

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_READ_AFTER_ESCAPES = re.compile(r"(?<=[:@])(?=[\w/+-])|(?<=www)(?=\.)|(?<=[-<>~])(?=[-=>])", re.IGNORECASE)


def plain(text: str) -> str:
    """Return ``text`` as Markdown that shows exactly these characters: no link, image, formula, icon or HTML.

    Streamlit looks for addresses, ``:icon:`` names and arrows when the escapes are gone; there an invisible word joiner
    keeps their characters apart.
    """
    visible = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)
    return _PUNCTUATION.sub(r"\\\1", _READ_AFTER_ESCAPES.sub("\u2060", visible))
