"""Damaged exports are imported or refused: nothing uncaught, quickly, and in little memory."""

from __future__ import annotations

import json
import time
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
from explainlab.guard import guarded_json
from explainlab.service.imports import MOST_VALUES
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


LARGE = {
    "lists": b"[" + b"[]," * 6_000_000 + b"1]",
    "objects": b"[" + b"{}," * 6_000_000 + b"1]",
    "fields": b"{" + b",".join(b'"%d":1' % number for number in range(1_500_000)) + b"}",
    "depth": b"[" * 10_000_000,
    "a number": b"1" * 10_000_000,
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_file_that_is_larger_inside_than_out_holds_nobody_up(kind: str) -> None:
    """A thread goes on meanwhile, as pages of other users do: the parser holds the lock of its own process."""
    own = time.process_time()
    with bounded(), pytest.raises(ExplainLabError, match=r"^The file (holds more than|takes more than|is n)") as told:
        SERVICE.import_runs(LARGE[kind], LOCAL)
    assert time.process_time() - own < 0.5
    assert "\n" not in str(told.value)


def test_the_largest_export_is_read_as_json_reads_it() -> None:
    body = {"attributions": [[number, str(number), {"a": None}] for number in range(150_000)], "é": "😀"}
    assert guarded_json(json.dumps(body).encode(), MOST_VALUES) == body
