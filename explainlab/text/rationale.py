"""Rationales: the characters of a text that are marked as the evidence for its class, and the features with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from explainlab.request import Rationale, Spans
from explainlab.text.encoding import Encoding
from explainlab.text.units import Units

Absence = Literal["missing", "empty", "cut"]
"""Why a text has no marked feature: nobody has looked, nothing is marked, or the model reads nothing of it."""
ABSENCES: Mapping[Absence, str] = {
    "missing": "not annotated",
    "empty": "nothing marked",
    "cut": "the marked part cut by the model",
}
"""The same in words."""

NO_RATIONALE: Rationale = (None, None)


def marked_features(encoding: Encoding, units: Units, rationale: Rationale) -> np.ndarray | Absence:
    """bool [n_features]: the content features of ``units`` that have a marked character of their text, blanks apart.

    Or why there are none.
    """
    if rationale == NO_RATIONALE:
        return "missing"
    counts = [_counts(encoding.part_text(part), spans or ()) for part, spans in enumerate(rationale)]
    if not any(count[-1] for count in counts):
        return "empty"
    marked = np.zeros(len(units.features), dtype=bool)
    for i in units.content.tolist():
        feature = units.features[i]
        marked[i] = counts[feature.part][feature.end] > counts[feature.part][feature.start]
    if marked.any():
        return marked
    return "cut" if encoding.cut else "empty"


def _counts(text: str, spans: Spans) -> np.ndarray:
    """int64 [characters + 1]: the marked characters of ``text`` before each place, blanks apart."""
    marked = np.zeros(len(text) + 1, dtype=np.int64)
    for start, end in spans:
        marked[start + 1 : end + 1] = [not character.isspace() for character in text[start:end]]
    counts: np.ndarray = np.cumsum(marked)
    return counts
