"""Test texts as each measure masks them, with a slider over the ratios."""

from __future__ import annotations

from explainlab.analyses.roar.masked_texts import MaskedTexts
from explainlab.app.components import component
from explainlab.app.heatmap import payload

_masked_texts = component("roar_texts", ["tokens", "masked_texts"], ["step_morph", "steering", "masked_texts"])


def draw_masked_texts(texts: MaskedTexts, key: str) -> None:
    """Draw all ``texts`` behind a slider, filters and arrow keys that ask nobody."""
    _masked_texts(data=payload(texts), key=key)
