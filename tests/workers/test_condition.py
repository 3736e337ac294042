"""The speed of a worker: texts a second in the last ten seconds, counted batch by batch."""

from __future__ import annotations

import pytest

from explainlab import load_model
from explainlab.attribution.explain import explain
from explainlab.models.context import Receivers, RunContext
from explainlab.workers import worker
from explainlab.workers.worker import Meter


def test_the_rate_is_of_the_last_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(worker.time, "monotonic", lambda: now)
    meter = Meter()
    assert meter.rate == 0
    meter.add(8)
    assert meter.rate == 8, "not more than in a second"
    now = 104.0
    meter.add(12)
    assert meter.rate == 20 / 4
    now = 112.0
    assert meter.rate == 12 / 8
    now = 114.5
    assert meter.rate == 0


def test_every_text_that_is_read_counts() -> None:
    meter = Meter()
    model = load_model("embedded:bert-mini-sst2", device="cpu")
    result = explain(model, "a fine film", "occlusion", context=RunContext(progress=Receivers(read=meter.add)))
    assert sum(texts for _, texts in meter._read) == result.cost.forward
