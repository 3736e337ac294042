"""The one way for a user's or a model's words into Markdown."""

from __future__ import annotations

import re
import unicodedata

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def plain(text: str) -> str:
    """``text`` as Markdown that shows exactly these characters: no link, image, formula, icon or HTML comes of it."""
    visible = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)
    return _PUNCTUATION.sub(r"\\\1", visible)
