"""A line for every method at the top of the Sanity page: random weights, attacks and axioms, for every reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, get_args

import pandas as pd
import streamlit as st

from explainlab.analyses.attack.maps import Method
from explainlab.analyses.attack.result import AttackData, AttackRow
from explainlab.analyses.attack.verdict import USUAL, sentence_row
from explainlab.analyses.axioms.analysis import answer_words, passes
from explainlab.analyses.axioms.figures import answer_cells
from explainlab.analyses.axioms.result import AxiomsData
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.figures import heat_cells, heat_table
from explainlab.analyses.layer_randomisation.result import MethodFacts, RandomisationData
from explainlab.analyses.records import Interval
from explainlab.analyses.substitution.result import SubstitutionData
from explainlab.analyses.wording import whole_percent
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_cells, theme
from explainlab.app.components import is_narrow
from explainlab.app.pages.sanity.form import AXIOMS_SECTION, STABILITY_SECTION, SanityView, question
from explainlab.app.sections import charts, draw_asked
from explainlab.app.text import plain
from explainlab.attribution.registry import label_of
from explainlab.errors import ExplainLabError
from explainlab.figures.chart import Chart
from explainlab.request import Request
from explainlab.service.service import Service

Find = Callable[[Request], Any]
"""The stored result of a request, or None; raises :class:`ExplainLabError` for one that is refused."""


def method_lines(view: SanityView, body: RandomisationData, find: Find) -> list[str]:
    """Return a line a method: the finding of ``body``, and the answers to further questions of ``view``."""
    axioms = _found(find, view.axioms_request)
    lines = []
    for own in body.methods:
        attack = _found(find, view.model_copy(update={"attacked": own.id}).attack_request) if _plain(own) else None
        words = _found(find, partial(view.substitution_request, own.method))
        told = [
            _survival(body, own.method),
            "" if attack is None else _attacked(attack),
            "" if words is None else _reworded(words),
            "" if axioms is None else _axioms(axioms, own.method),
        ]
        lines.append(f"{own.label}: {'; '.join(filter(None, told))}.")
    return lines


def open_questions(view: SanityView, has: Callable[[Request], bool]) -> str:
    """Return the further questions of ``view`` without an answer as a sentence; empty if all have one.

    ``has`` returns True for a request with a stored result, and raises as :data:`Find`.
    """
    asked: Mapping[str, Callable[[], Request]] = {
        "attacks": view.attack_request,
        "attacks by words": view.substitution_request,
        "stability": view.stability_request,
        "axioms": view.axioms_request,
    }
    missing = []
    for name, make in asked.items():
        answered = False
        with suppress(ExplainLabError):  # told in its section
            answered = has(make())
        if not answered:
            missing.append(name)
    return f"Not answered yet: {', '.join(missing)}. Press their buttons below." if missing else ""


def _plain(method: MethodFacts) -> bool:
    """Return True if the attack of embeddings is one on this very map; integrated gradients have other nodes there."""
    return method.id in get_args(Method) and (method.method == method.id or method.id == "integrated_gradients")


def _found(find: Find, make: Callable[[], Request]) -> Any:
    """Return the body of the answer to the request of ``make``, or None."""
    try:
        result = find(make())
    except ExplainLabError:  # told in its section
        return None
    return None if result is None else result.body


def _survival(body: RandomisationData, method: str) -> str:
    """Return the part of the ranking of |scores| that survives random weights, beside maps without a model."""
    (control,) = [own for own in body.controls if own.method == method and own.absolute]
    rows = [row for row in body.rows if row.method == method and row.absolute and row.mean is not None]
    whole = [row.mean or 0.0 for row in rows if row.mode == "cascading" and row.unit == body.units[-1]]
    alone = [row.mean or 0.0 for row in rows if row.mode == "independent"]
    if not (whole or alone):
        return "its rankings cannot be compared, as all scores are equal"
    left = _kept(whole[0] if whole else sum(alone) / len(alone))
    when = "random weights" if whole else "one random unit, on average"
    random, order = _kept(control.random.high), _kept(control.order.mean)
    return f"{left} of its ranking survives {when} (random maps: up to {random}; the mere order of the text: {order})"


def _attacked(body: AttackData) -> str:
    row = sentence_row(body.rows)
    if not row.n:
        return "no text was long enough to be attacked"
    return f"an attack within {_radius(row)} moves {_moved(row.rank_change)} of its top words"


def _reworded(body: SubstitutionData) -> str:
    row = body.rows[-1]
    if not row.n:
        return ""
    replaced = f"near words in place of {_moved(row.replaced_share)} of the text"
    return f"{replaced} move {_moved(row.rank_change)} of its top words"


def _axioms(body: AxiomsData, method: str) -> str:
    return f"it {passes([row for row in body.rows if row.method == method])}"


def _radius(row: AttackRow) -> str:
    if row.epsilon == USUAL:
        return "a tenth of a standard deviation"
    number = row.epsilon.removesuffix("s")
    return f"{number} standard deviations" if row.epsilon.endswith("s") else number


def _moved(change: Interval) -> str:
    return whole_percent(change.mean or 0.0)


def _kept(rho: float | None) -> str:
    """Return a rank correlation as a share: 0% for a ranking that is turned around."""
    return whole_percent(max(0.0, rho or 0.0))


_AXIOMS_HELP = (
    "What a map must fulfil, on functions made of this very model so that the right answer is known: a word that the "
    "function does not read must score nothing, equal words must score the same. Press The numbers for the reasons."
)
_STABILITY_HELP = (
    "Every text is explained again: with its embeddings moved a little, with typos and near words. Infidelity asks "
    "whether sums of scores foretell what masking those words does."
)


def draw_stability(service: Service, view: SanityView) -> None:
    """Draw the stability of maps on texts that are nearly the same."""
    st.header("Stability", anchor=False, help=_STABILITY_HELP)
    result = draw_asked(service, STABILITY_SECTION, "Explain again", view.stability_request)
    if result is not None:
        cells = cached_for(result, heat_cells, result.body, "faithfulness", *view.stability_cell, theme() == "dark")
        table = cached_for(result, heat_table, result.body)
        _draw_cells(table, cells, "stability_cell", view.stability_cell, ("method", "metric"))


def draw_axioms(service: Service, view: SanityView) -> None:
    """Draw the axioms that the maps fulfil on this model."""
    st.header("Axioms", anchor=False, help=_AXIOMS_HELP)
    result = draw_asked(service, AXIOMS_SECTION, "Try the axioms", view.axioms_request)
    if result is not None and is_narrow():
        st.dataframe(pd.DataFrame(_answers(result.body)), hide_index=True, height="content")
    elif result is not None:
        cells = cached_for(result, _axiom_cells, result, *view.axioms_cell, theme() == "dark")
        (chart,) = cached_for(result, charts, result)
        _draw_cells(chart, cells, "axioms_cell", view.axioms_cell, ("method", "axiom"))


def _draw_cells(chart: Chart, cells: dict[str, Any], name: str, picked: tuple[str, str], keys: tuple[str, str]) -> None:
    """Draw a matrix of cells to press; below it the texts behind the pressed one."""

    def open_cell(cell: dict[str, Any]) -> None:
        question.set(name, tuple(cell[key] for key in keys))

    draw_cells(chart, cells, f"sanity_{name}", picked, open_cell, "Press a cell to read what is behind it.")
    rows = [row for row in next(iter(cells["datasets"].values())) if tuple(row[key] for key in keys) == picked]
    if rows:
        st.info(plain(rows[0]["hover"]), icon=":material/ads_click:")


def _axiom_cells(result: AnalysisResult[AxiomsData], method: str, axiom: str, dark: bool) -> dict[str, Any]:
    return answer_cells(result.body.rows, method, axiom, dark)


def _answers(body: AxiomsData) -> list[dict[str, str]]:
    """Return the answers in words, a row an axiom and a column a method: a phone has no room for six columns."""
    return [
        {
            "Axiom": axiom.replace("_", " "),
            **{label_of(row.method): answer_words(row) for row in body.rows if row.axiom == axiom},
        }
        for axiom in dict.fromkeys(row.axiom for row in body.rows)
    ]
