"""The data sets chosen on a page: as values of its controls, and back."""

from __future__ import annotations

from typing import Any

from explainlab.app.question import Question
from explainlab.app.view import ChosenData, ChosenSets, Reading
from explainlab.request import digest

_ALIKE = ("rows", "sample", "by", "on")
"""The fields that a control of the same name holds."""


def data_controls(choice: ChosenSets) -> dict[str, Any]:
    """The values of the controls for ``choice``."""
    values: dict[str, Any] = {name: getattr(choice, name) for name in _alike(type(choice))}
    values |= {"data": choice.source, "reading": _reading(choice.source, choice)}
    values |= {"models": list(choice.models), "sources": list(choice.sources)}
    readings = {source: choice.readings.get(source, Reading()) for source in choice.sources}
    return values | {f"{_further(source)}_reading": _reading(source, read) for source, read in readings.items()}


def data_choice(question: Question, record: type[ChosenSets] = ChosenData) -> dict[str, Any]:
    """The data sets chosen now, as the fields of a ``record``."""
    readings = {source: further(question, source).reading() for source in question.now("sources")}
    return {
        **{name: question.now(name) for name in _alike(record)},
        **question.reading(),
        "models": tuple(question.now("models")),
        "sources": tuple(question.now("sources")),
        "readings": {
            source: {"columns": read["columns"], "classes": read["classes"]}
            for source, read in readings.items()
            if read["columns"] or read["classes"]
        },
    }


def further(question: Question, source: str) -> Question:
    """The controls of a further data set, which say how it is read."""
    own = Question(question.key(_further(source)))
    own.seed({"data": source, "reading": _reading(source, Reading())})
    return own


def _alike(record: type[ChosenSets]) -> list[str]:
    return [name for name in _ALIKE if name in record.model_fields]


def _further(source: str) -> str:
    return f"further_{digest([source])[:8]}"


def _reading(source: str, read: Reading) -> dict[str, Any]:
    return {"source": source, "columns": read.columns, "classes": read.classes}
