"""Damaged exports are imported or refused: nothing uncaught, quickly, and in little memory.

Here a few hundred of them; 10,000 by hand: EXPLAINLAB_FUZZ=10000 python -m pytest tests/service/test_imports.py
"""

from __future__ import annotations

import json
import os
import resource
import time
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from explainlab import explain, load_model, study
from explainlab.errors import ExplainLabError
from explainlab.figures.export import to_json
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL

EXAMPLES = int(os.environ.get("EXPLAINLAB_FUZZ", "400"))
SECONDS, BYTES = 10, 500 * 2**20
MODEL = load_model("embedded:bert-mini-sst2", device="cpu")
EXPORTED: list[Any] = [
    json.loads(to_json([explain(MODEL, "a stirring film", "integrated_gradients", steps=2, rule="right")], "Words.")),
    study(MODEL, "integration_error", "a stirring film", steps=[2, 4]).to_json(),
    study(MODEL, "predictions", data="embedded:sentiment", rows=3).to_json(),
    study(MODEL, "trust", "a stirring film", method="gradient").to_json(),
]
SERVICE = Service(Store("sqlite://"), "cpu")

odd: list[Any] = [0, -1, 2**31, 2**63, 2**64, 10**30, 1e308, -0.0, "", "x", "\0", "../x", "<b>", [], {}, [[]], [{}]]
values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(odd),
    st.text(max_size=8),
    st.recursive(st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3), max_leaves=6),
)
walks = st.lists(st.integers(0, 40), min_size=1, max_size=6)
steps = st.lists(st.tuples(walks, st.sampled_from(["set", "drop", "add"]), values), min_size=1, max_size=3)


def changed(body: Any, path: list[int], change: str, value: Any) -> None:
    """Change what a walk along ``path`` comes to: each number chooses an entry."""
    for step, place in enumerate(path):
        if not isinstance(body, dict | list) or not body:
            return
        key = list(body)[place % len(body)] if isinstance(body, dict) else place % len(body)
        inner = body[key]
        if step < len(path) - 1 and isinstance(inner, dict | list) and inner:
            body = inner
            continue
        if change == "set":
            body[key] = value
        elif change == "drop":
            del body[key]
        elif isinstance(body, dict):
            body[str(value)] = value
        else:
            body.append(value)
        return


@given(st.sampled_from(range(len(EXPORTED))), steps)
@hypothesis_settings(max_examples=EXAMPLES, derandomize=EXAMPLES < 1_000, deadline=None)
def test_damaged_exports_are_imported_or_refused(which: int, damage: list) -> None:
    body = deepcopy(EXPORTED[which])
    for path, change, value in damage:
        changed(body, path, change, value)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    try:
        runs = SERVICE.import_runs(json.dumps(body).encode(), LOCAL)
    except ExplainLabError:
        runs = []
    for run in runs:
        opened = SERVICE.open_run(run.id, LOCAL)
        assert opened.result is not None
        opened.result.to_json()
    assert time.monotonic() - start < SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < BYTES


def test_too_many_features_are_refused_before_they_are_read() -> None:
    body = deepcopy(EXPORTED[0])
    body["attributions"][0]["features"] *= 50_001 // len(body["attributions"][0]["features"]) + 1
    file = json.dumps(body, separators=(",", ":")).encode()
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    with pytest.raises(ExplainLabError, match="features; the limit is 50,000"):
        SERVICE.import_runs(file, LOCAL)
    assert time.monotonic() - start < SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < BYTES
