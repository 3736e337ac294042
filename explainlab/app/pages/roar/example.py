"""Small grids that come with ExplainLab: what the page shows until a grid of the reader's own is there."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import get_study, read_result
from explainlab.analyses.roar.result import RoarData
from explainlab.app.pages.roar.controls import question
from explainlab.request import Request
from explainlab.settings import ASSETS

FOLDER = ASSETS / "examples"
"""Records of results, as ``explainlab study roar ... --json`` prints them."""


class Example(NamedTuple):
    """A grid in a ``file`` of :data:`FOLDER`: the ``label`` of its choice, and what it is ``about``."""

    file: str
    label: str
    about: str


EXAMPLES = {
    "measures": Example(
        "roar.json",
        "Three measures",
        "Reviews of meals, made of patterns: whether three measures find the words of praise and blame.",
    ),
    "leak": Example(
        "leak.json",
        "A leak",
        "The thought experiment of Madsen et al. 2022 (appendix A) as data. In these sentences “today” stands in 80% "
        "of the positive ones and in 40% of the negative ones; nothing else tells them apart. Input × gradient with "
        "its sign, asked about each text's own class, puts the word first where it speaks for that class. So at 10% it "
        "is masked in positive sentences only, and the next model reads the class from that: performance rises where "
        "it should fall, and the rise is flagged. The size of the gradient has no sign: it puts the word first in most "
        "sentences of both classes.",
    ),
}
_EMPTY = (
    "No grid has been trained for these settings. ROAR masks the words that a measure calls important, trains a model "
    "anew on what is left, and measures how much worse it gets: if random words do as much harm, the measure has not "
    "shown where the evidence is. Press **Train the grid** above; it can be stopped at any time, and models that are "
    "trained stay."
)


def draw_empty() -> AnalysisResult[RoarData] | None:
    """Say that there is no grid yet; the example to draw instead, with how to compute it again, if there is one."""
    st.info(_EMPTY, icon=":material/repeat:")
    there = {name: own.label for name, own in EXAMPLES.items() if (FOLDER / own.file).is_file()}
    if not there:
        return None
    st.header("An example", anchor=False)
    if question.now("example") not in there:
        question.set("example", next(iter(there)))
    question.choose("What it shows", "example", there)
    shown = EXAMPLES[question.now("example")]
    st.markdown(shown.about)
    st.caption("This grid was not trained here: it comes with ExplainLab.")
    result = example(FOLDER / shown.file)
    again = st.expander("The command that trains it again", icon=":material/terminal:", key="roar_example_command")
    again.code(command(result.request), language=None, wrap_lines=True)
    return result


@cache
def example(file: Path) -> AnalysisResult[RoarData]:
    """The result that ``file`` records."""
    return cast(AnalysisResult[RoarData], read_result(json.loads(file.read_text(encoding="utf-8"))))


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
