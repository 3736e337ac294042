"""A line for every method at the top of the Sanity page: random weights, attacks and axioms, for every reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, get_args

from explainlab.analyses.attack.maps import Method
from explainlab.analyses.attack.result import AttackData, AttackRow
from explainlab.analyses.attack.verdict import USUAL, sentence_row
from explainlab.analyses.axioms.analysis import passes
from explainlab.analyses.axioms.result import AxiomsData
from explainlab.analyses.layer_randomisation.result import MethodFacts, RandomisationData
from explainlab.analyses.records import Interval
from explainlab.analyses.substitution.result import SubstitutionData
from explainlab.analyses.wording import whole_percent
from explainlab.app.pages.sanity.view import SanityView
from explainlab.errors import ExplainLabError
from explainlab.request import Request

Find = Callable[[Request], Any]
"""The stored result of a request, or None; raises :class:`ExplainLabError` for one that is refused."""


def method_lines(view: SanityView, body: RandomisationData, find: Find) -> list[str]:
    """A line a method: what ``body`` says of it, and the answers to further questions of ``view`` that are there."""
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
    """Which further questions of ``view`` have no answer yet, as a sentence; empty if all have.

    ``has`` tells whether the result of a request is there, and raises as :data:`Find`.
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
    """Whether the attack of embeddings is one on this very map; integrated gradients have nodes of their own there."""
    return method.id in get_args(Method) and (method.method == method.id or method.id == "integrated_gradients")


def _found(find: Find, make: Callable[[], Request]) -> Any:
    """The body of the answer to what ``make`` asks, or None."""
    try:
        result = find(make())
    except ExplainLabError:  # told in its section
        return None
    return None if result is None else result.body


def _survival(body: RandomisationData, method: str) -> str:
    """What is left of the ranking of |scores| when all weights are random, and what maps without a model share."""
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
    """A rank correlation as a share: none of a ranking is left where it is turned around."""
    return whole_percent(max(0.0, rho or 0.0))
