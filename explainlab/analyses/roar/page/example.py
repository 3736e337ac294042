"""A small grid that comes with ExplainLab: what the page shows until a grid of the reader's own is there."""

from __future__ import annotations

import json
import shlex
from functools import cache
from typing import Any, cast

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import get_study, read_result
from explainlab.analyses.roar.result import RoarData
from explainlab.request import Request
from explainlab.settings import ASSETS

EXAMPLE = ASSETS / "examples" / "roar.json"
"""The record of a result, as ``explainlab study roar ... --json`` prints it."""
_EMPTY = (
    "No grid has been trained for these settings. ROAR masks the words that a measure calls important, trains a model "
    "anew on what is left, and measures how much worse it gets: if random words do as much harm, the measure has not "
    "shown where the evidence is. Press **Train the grid** above; it can be stopped at any time, and models that are "
    "trained stay."
)


def draw_empty() -> AnalysisResult[RoarData] | None:
    """Say that there is no grid yet; the example to draw instead, with how to compute it again, if there is one."""
    st.info(_EMPTY, icon=":material/repeat:")
    result = example()
    if result is None:
        return None
    st.header("An example", anchor=False)
    st.caption("This grid was not trained here: it comes with ExplainLab.")
    again = st.expander("The command that trains it again", icon=":material/terminal:", key="roar_example_command")
    again.code(command(result.request), language=None, wrap_lines=True)
    return result


@cache
def example() -> AnalysisResult[RoarData] | None:
    """The example, or None where none is there."""
    if not EXAMPLE.is_file():
        return None
    return cast(AnalysisResult[RoarData], read_result(json.loads(EXAMPLE.read_text(encoding="utf-8"))))


def command(request: Request) -> str:
    """The command that answers ``request``, without what is as usual."""
    words = ["python", "-m", "explainlab", "study", request.question, "--model", request.model]
    words += ["--data", request.data or ""] + (["--seed", str(request.seed)] if request.seed else [])
    for option, named in (("--column", request.columns), ("--label", request.classes)):
        words += [word for role, name in named.items() for word in (option, f"{role}={name}")]
    fields = get_study(request.question).Parameters.model_fields
    for name, value in request.parameters.items():
        if value != fields[name].get_default(call_default_factory=True):
            words += ["--set", f"{name}={_written(value)}"]
    return shlex.join(words)


def _written(value: Any) -> str:
    """A parameter as the command line reads it."""
    if isinstance(value, dict):
        return ",".join(f"{name}={one}" for name, one in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
