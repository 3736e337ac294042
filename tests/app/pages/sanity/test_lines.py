"""The line of every method at the top of the Sanity page, before any other question."""

from __future__ import annotations

from typing import Any

from explainlab.analyses.records import Interval
from explainlab.app.pages.sanity.form import first_view
from explainlab.app.pages.sanity.overview import method_lines, open_questions
from explainlab.errors import RequestError
from explainlab.request import Request
from tests.analyses.bodies import randomisation_body


def refuse(_: Request) -> Any:
    raise RequestError("This cannot be asked.", "Ask something else.")


def test_a_line_tells_what_survives_beside_the_controls() -> None:
    body = randomisation_body()
    random, order = Interval(mean=0.0, low=-0.3, high=0.3), Interval(mean=-0.2, low=None, high=None)
    known = {("cascading", "embeddings"): 0.904, ("cascading", "head"): 1.0, ("independent", "head"): -0.5}
    rows = [
        row.model_copy(update={"mean": known.get((row.mode, row.unit), 0.25)}) if row.mean is not None else row
        for row in body.rows
    ]
    controls = [control.model_copy(update={"random": random, "order": order}) for control in body.controls]
    body = body.model_copy(update={"rows": rows, "controls": controls})
    beside = "(random maps: up to 30%; the mere order of the text: 0%)."
    for find in (lambda _: None, refuse):
        assert method_lines(first_view(), body, find) == [
            f"GRADIENT: 90% of its ranking survives random weights {beside}",
            f"LIME: 0% of its ranking survives one random unit, on average {beside}",
        ]
    for has in (lambda _: False, refuse):
        assert open_questions(first_view(), has).startswith(
            "Not answered yet: attacks, attacks by words, stability, ax"
        )
    assert open_questions(first_view(), lambda request: request.question != "axioms").startswith(
        "Not answered yet: axioms."
    )
    assert open_questions(first_view(), lambda _: True) == ""
    bare = [row.model_copy(update={"mean": None}) for row in rows]
    (first, _) = method_lines(first_view(), body.model_copy(update={"rows": bare}), refuse)
    assert first.startswith("GRADIENT: its rankings cannot be compared")
