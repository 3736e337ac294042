"""Damaged exports are imported or refused: nothing uncaught, quickly, and in little memory."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explainlab import explain, load_model, study
from explainlab.errors import ExplainLabError
from explainlab.figures.export import to_json
from explainlab.service.service import Service
from explainlab.service.store.runs import Run
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL
from tests.fuzz import bounded, changed, inputs, steps

SERVICE = Service(Store("sqlite://"), "cpu")
EXPORTS = 4


@cache
def exported() -> list[Any]:
    """Return an attribution and a study of each kind, as JSON."""
    model = load_model("embedded:bert-mini-sst2", device="cpu")
    explained = explain(model, "a stirring film", "integrated_gradients", steps=2, rule="right")
    return [
        json.loads(to_json([explained], "Words.")),
        study(model, "integration_error", "a stirring film", steps=[2, 4]).to_json(),
        study(model, "predictions", data="embedded:sentiment", rows=3).to_json(),
        study(model, "trust", "a stirring film", method="gradient").to_json(),
    ]


@given(st.integers(0, EXPORTS - 1), steps)
@inputs(200)
def test_damaged_exports_are_imported_or_refused(which: int, damage: list) -> None:
    body = deepcopy(exported()[which])
    for path, change, value in damage:
        changed(body, path, change, value)
    runs: list[Run] = []
    with bounded():
        with suppress(ExplainLabError):
            runs = SERVICE.import_runs(json.dumps(body).encode(), LOCAL)
        for run in runs:
            opened = SERVICE.open_run(run.id, LOCAL)
            assert opened.result is not None
            opened.result.to_json()


def test_too_many_features_are_refused_before_they_are_read() -> None:
    body = deepcopy(exported()[0])
    body["attributions"][0]["features"] *= 50_001 // len(body["attributions"][0]["features"]) + 1
    file = json.dumps(body, separators=(",", ":")).encode()
    with bounded(), pytest.raises(ExplainLabError, match="features; the limit is 50,000"):
        SERVICE.import_runs(file, LOCAL)
